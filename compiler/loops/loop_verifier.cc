#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "bytecode/kernel_abi.h"
#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_ir.h"

namespace tvmvm::tensor {
namespace {

constexpr int kMaxLanes = 1024;
constexpr int64_t kMaxStackBytes = int64_t{1} << 20;  // of all local buffers together

bool Computes(DType dtype) {  // has arithmetic, not only conversions and moves
  if (IsFloat(dtype)) return DTypeBits(dtype) >= 16;
  return IsInteger(dtype) || dtype == DType::kBool;
}

struct VariableType {
  DType dtype = DType::kI64;
  int lanes = 1;
};

class Verifier {
 public:
  explicit Verifier(const LoopKernel& kernel) : kernel_(kernel) {}

  Status Run() {
    if (!kernel_.body) return Defect("has no body");
    if (kernel_.argument_count > kernel_.buffers.size()) return Defect("counts more arguments than buffers");
    for (VariableId v : kernel_.grid) bound_[v] = {};
    if (kernel_.range_end) bound_[*kernel_.range_end] = {};
    if (kernel_.range_end && kernel_.GroupItems() != 1) return Defect("has ranges of work-groups");
    if (kernel_.GroupItems() != 1) {
      for (VariableId v : kernel_.thread) bound_[v] = {};
    }
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) TVMVM_CHECK_OK(CheckBuffer(static_cast<uint32_t>(i)));
    TVMVM_CHECK_OK(Statement(*kernel_.body));
    return VerifyWorkGroup(kernel_);
  }

 private:
  tl::unexpected<Error> Defect(const std::string& what) const {
    return MakeError(Code::kInternal, fmt::format("kernel '{}' {}", kernel_.name, what));
  }
  tl::unexpected<Error> DefectIn(const Expr& e, const std::string& what) const {
    std::string text = ToString(e);
    if (text.size() > 200) text = text.substr(0, 200) + "...";
    return Defect(fmt::format("{}: {}", what, text));
  }

  Status CheckBuffer(uint32_t id) {
    const BufferInfo& b = kernel_.buffers[id];
    if (b.is_argument != (id < kernel_.argument_count))
      return Defect(fmt::format("buffer {} is misplaced", id));
    if (DTypeBits(b.dtype) == 0) return Defect(fmt::format("buffer {} has dtype {}", id, DTypeName(b.dtype)));
    if (b.is_argument) {
      declared_.insert(id);
    } else if (b.memory == Memory::kScratch ? !b.scratch_offset.valid() : b.size <= 0) {
      return Defect(fmt::format("local buffer {} has no size or place", id));
    } else if (b.memory != Memory::kScratch) {
      if (b.size <= kMaxStackBytes) stack_bytes_ += DTypeBytes(b.dtype, b.size);
      if (b.size > kMaxStackBytes || stack_bytes_ > kMaxStackBytes)
        return Defect(fmt::format("needs more than {} bytes of stack for its local buffers", kMaxStackBytes));
    }
    return {};
  }

  // Scopes: a block ends the names that it bound.
  Status Statement(const Stmt& s) {
    switch (s.kind) {
      case StmtKind::kBlock: {
        auto bound = bound_;
        auto declared = declared_;
        for (const StmtPtr& child : s.body) {
          if (!child) return Defect("holds an empty statement");
          TVMVM_CHECK_OK(Statement(*child));
        }
        bound_ = std::move(bound);
        declared_ = std::move(declared);
        return {};
      }
      case StmtKind::kFor:
        return Loop(s);
      case StmtKind::kIf:
        return Condition(s);
      case StmtKind::kStore:
        return CheckStore(s);
      case StmtKind::kLet:
        TVMVM_CHECK_OK(Check(s.value));
        bound_[s.variable] = {s.value.dtype(), s.value.lanes()};
        return {};
      case StmtKind::kAllocate:
        if (s.buffer < kernel_.argument_count || s.buffer >= kernel_.buffers.size())
          return Defect(fmt::format("allocates buffer {}, which is not local", s.buffer));
        if (kernel_.buffers[s.buffer].memory == Memory::kScratch)
          TVMVM_CHECK_OK(Index(kernel_.buffers[s.buffer].scratch_offset));
        declared_.insert(s.buffer);
        return {};
      case StmtKind::kFail:
        if (s.code < 1 || static_cast<size_t>(s.code) > kernel_.error_messages.size())
          return Defect(fmt::format("fails with code {}, which has no message", s.code));
        if (s.code > kMostFailures) return Defect(fmt::format("fails with code {}", s.code));
        if (s.value.valid()) TVMVM_CHECK_OK(Index(s.value));
        return {};
      case StmtKind::kBarrier:
        return {};
      case StmtKind::kGroupReduce:
        return GroupReduce(s);
      case StmtKind::kTranspose:
        return Transpose(s);
      case StmtKind::kMatrix:
        return Matrix(s);
    }
    return Defect("holds an unknown statement");
  }

  Status Transpose(const Stmt& s) {
    if (s.rows < 1 || s.columns < 1 || s.buffer == s.from) return Defect("transposes no tile, or in place");
    for (uint32_t buffer : {s.buffer, s.from}) {
      if (!declared_.count(buffer) || kernel_.buffers[buffer].is_argument)
        return Defect(fmt::format("transposes buffer {}, which is not declared", buffer));
      const BufferInfo& b = kernel_.buffers[buffer];
      if (b.memory != Memory::kRegisters || b.size != int64_t{s.rows} * s.columns || IsSubByte(b.dtype) ||
          b.dtype != kernel_.buffers[s.from].dtype)
        return Defect(fmt::format("transposes '{}', which is no such tile", b.name));
    }
    return {};
  }

  Status GroupReduce(const Stmt& s) {
    static constexpr ExprOp kCombine[] = {ExprOp::kAdd, ExprOp::kMul, ExprOp::kMin,
                                          ExprOp::kMax, ExprOp::kAnd, ExprOp::kOr};
    TVMVM_CHECK_OK(Check(s.value));
    if (!Computes(s.value.dtype()) || s.value.lanes() != 1) return DefectIn(s.value, "reduces in a group");
    if (std::find(std::begin(kCombine), std::end(kCombine), s.combine) == std::end(kCombine))
      return DefectIn(s.value, "combines in no way that there is");
    bound_[s.variable] = {s.value.dtype(), 1};
    return {};
  }

  // A buffer of matrices, or one that they are loaded from or stored to.
  Status MatrixPlace(uint32_t buffer, const Expr& index, Memory memory, DType dtype) {
    if (!declared_.count(buffer) || kernel_.buffers[buffer].is_argument)
      return Defect(fmt::format("has matrices in buffer {}, which is not declared", buffer));
    const BufferInfo& b = kernel_.buffers[buffer];
    if (b.memory != memory || b.dtype != dtype)
      return Defect(fmt::format("uses '{}' of {} for matrices of another kind", b.name, DTypeName(b.dtype)));
    return Index(index);
  }

  Status Matrix(const Stmt& s) {
    constexpr DType kF16 = DType::kF16, kF32 = DType::kF32;
    switch (s.matrix) {
      case MatrixStep::kZero:
        return MatrixPlace(s.buffer, s.index, Memory::kMatrixSum, kF32);
      case MatrixStep::kLoad: {
        bool is_left =
            s.buffer < kernel_.buffers.size() && kernel_.buffers[s.buffer].memory == Memory::kMatrixLeft;
        TVMVM_CHECK_OK(
            MatrixPlace(s.buffer, s.index, is_left ? Memory::kMatrixLeft : Memory::kMatrixRight, kF16));
        TVMVM_CHECK_OK(MatrixPlace(s.from, s.value, Memory::kShared, kF16));
        break;
      }
      case MatrixStep::kMultiply:
        TVMVM_CHECK_OK(MatrixPlace(s.buffer, s.index, Memory::kMatrixSum, kF32));
        TVMVM_CHECK_OK(MatrixPlace(s.from, s.value, Memory::kMatrixLeft, kF16));
        return MatrixPlace(s.right, s.mask, Memory::kMatrixRight, kF16);
      case MatrixStep::kStore:
        TVMVM_CHECK_OK(MatrixPlace(s.buffer, s.index, Memory::kShared, kF32));
        TVMVM_CHECK_OK(MatrixPlace(s.from, s.value, Memory::kMatrixSum, kF32));
        break;
    }
    return s.stride >= kMatrixSide ? Status() : Defect("has matrices whose rows overlap");
  }

  Status Loop(const Stmt& s) {
    TVMVM_CHECK_OK(Index(s.begin));
    TVMVM_CHECK_OK(Index(s.end));
    if (!IsConstant(s.step) || s.step.dtype() != DType::kI64 || s.step->integer <= 0)
      return Defect("has a loop whose step is not a positive constant");
    const bool is_counted = s.loop == LoopKind::kUnrolled || s.loop == LoopKind::kVectorized;
    if (is_counted && !ConstantExtent(s))
      return DefectIn(s.end, "unrolls or vectorises a loop without a constant extent, to");
    if (s.body.size() != 1 || !s.body[0]) return Defect("has a loop without a body");
    auto saved = bound_;
    auto declared = declared_;
    bound_[s.variable] = {};
    TVMVM_CHECK_OK(Statement(*s.body[0]));
    bound_ = std::move(saved);
    declared_ = std::move(declared);
    return {};
  }

  Status Condition(const Stmt& s) {
    TVMVM_CHECK_OK(Check(s.value));
    if (s.value.dtype() != DType::kBool || s.value.lanes() != 1)
      return DefectIn(s.value, "branches on a non-bool");
    if (s.body.empty() || s.body.size() > 2) return Defect("has an if without branches");
    for (const StmtPtr& branch : s.body) {
      if (!branch) return Defect("has an if with an empty branch");
      auto saved = bound_;
      auto declared = declared_;
      TVMVM_CHECK_OK(Statement(*branch));
      bound_ = std::move(saved);
      declared_ = std::move(declared);
    }
    return {};
  }

  Status CheckStore(const Stmt& s) {
    if (!declared_.count(s.buffer))
      return Defect(fmt::format("stores to buffer {} before it is declared", s.buffer));
    const BufferInfo& b = kernel_.buffers[s.buffer];
    if (b.is_argument && !IsWritten(b.access)) return Defect(fmt::format("stores to input '{}'", b.name));
    TVMVM_CHECK_OK(Check(s.index));
    TVMVM_CHECK_OK(Check(s.value));
    if (s.index.dtype() != DType::kI64) return DefectIn(s.index, "stores at an index that is not i64");
    if (s.value.dtype() != b.dtype)
      return DefectIn(s.value, fmt::format("stores {} to '{}' of {}", DTypeName(s.value.dtype()), b.name,
                                           DTypeName(b.dtype)));
    if (s.index.lanes() != 1 && s.index.lanes() != s.value.lanes())
      return DefectIn(s.value,
                      fmt::format("stores {} lanes at {} indices", s.value.lanes(), s.index.lanes()));
    if (!s.mask.valid()) return {};
    TVMVM_CHECK_OK(Check(s.mask));
    if (s.mask.dtype() != DType::kBool || (s.mask.lanes() != s.value.lanes() && s.mask.lanes() != 1))
      return DefectIn(s.mask, "stores under a mask of other lanes or type");
    return {};
  }

  Status Index(const Expr& e) {
    TVMVM_CHECK_OK(Check(e));
    if (e.dtype() != DType::kI64 || e.lanes() != 1) return DefectIn(e, "needs a scalar i64 here");
    return {};
  }

  Status Check(const Expr& root) {
    if (!root.valid()) return Defect("lacks an expression");
    std::optional<Status> defect;
    VisitOnce(root, [&](const Expr& e) {
      if (defect) return;
      if (Status status = Node(e); !status) defect = std::move(status);
    });
    return defect ? *defect : Status{};
  }

  Status Node(const Expr& e) {
    if (e.lanes() < 1 || e.lanes() > kMaxLanes) return DefectIn(e, fmt::format("uses {} lanes", e.lanes()));
    for (const Expr& operand : e->operands)
      if (!operand.valid()) return Defect("holds an expression with a missing operand");
    switch (e.op()) {
      case ExprOp::kElement:
      case ExprOp::kReduce:
        return DefectIn(e, "holds a tensor expression");
      case ExprOp::kConstant:
      case ExprOp::kDim:
        return {};
      case ExprOp::kVariable: {
        auto found = bound_.find(e->id);
        if (found == bound_.end()) return DefectIn(e, "uses an unbound variable");
        if (found->second.dtype != e.dtype() || found->second.lanes != e.lanes())
          return DefectIn(e, fmt::format("uses a variable as {} x {}, bound as {} x {}", DTypeName(e.dtype()),
                                         e.lanes(), DTypeName(found->second.dtype), found->second.lanes));
        return {};
      }
      case ExprOp::kLoad:
        return CheckLoad(e);
      case ExprOp::kBroadcast:
        return e->operands[0].lanes() == 1 ? Status{} : DefectIn(e, "broadcasts a vector");
      case ExprOp::kRamp:
        return e->operands[0].lanes() == 1 && e->operands[1].lanes() == 1 ? Status{}
                                                                          : DefectIn(e, "ramps a vector");
      case ExprOp::kCast:
        return Lanes(e);
      case ExprOp::kBitcast:
        if (DTypeBits(e.dtype()) != DTypeBits(e->operands[0].dtype()))
          return DefectIn(e, "changes size in a bitcast");
        return Lanes(e);
      case ExprOp::kSelect:
        if (e->operands[0].dtype() != DType::kBool || e->operands[1].dtype() != e.dtype() ||
            e->operands[2].dtype() != e.dtype())
          return DefectIn(e, "selects between different types");
        return Lanes(e);
      case ExprOp::kDotBytes:
        for (const Expr& operand : e->operands)
          if (operand.dtype() != (&operand == &e->operands.back() ? DType::kI32 : DType::kU32))
            return DefectIn(e, "multiplies bytes of other types than u32, summed in i32");
        return Lanes(e);
      case ExprOp::kScale:
        if (e.dtype() != DType::kF32 && e.dtype() != DType::kF64)
          return DefectIn(e, "scales another type than f32 and f64");
        return Arithmetic(e);
      default:
        return Arithmetic(e);
    }
  }

  Status CheckLoad(const Expr& e) {
    if (!declared_.count(e->id)) return DefectIn(e, "loads from a buffer that is not declared");
    const BufferInfo& b = kernel_.buffers[e->id];
    if (b.dtype != e.dtype())
      return DefectIn(
          e, fmt::format("loads {} from '{}' of {}", DTypeName(e.dtype()), b.name, DTypeName(b.dtype)));
    if (e->operands[0].dtype() != DType::kI64) return DefectIn(e, "loads at an index that is not i64");
    if (e->operands.size() > 1 && e->operands[1].dtype() != DType::kBool)
      return DefectIn(e, "loads under a mask that is not bool");
    return Lanes(e);
  }

  Status Arithmetic(const Expr& e) {
    DType dtype = e->operands[0].dtype();
    if (!Computes(dtype)) return DefectIn(e, fmt::format("computes in {}", DTypeName(dtype)));
    for (const Expr& operand : e->operands)
      if (operand.dtype() != dtype) return DefectIn(e, "mixes types");
    bool reduces_lanes = e.op() >= ExprOp::kReduceAdd && e.op() <= ExprOp::kReduceOr;
    return reduces_lanes ? Status{} : Lanes(e);
  }

  Status Lanes(const Expr& e) {
    for (const Expr& operand : e->operands)
      if (operand.lanes() != e.lanes()) return DefectIn(e, "mixes lanes");
    return {};
  }

  const LoopKernel& kernel_;
  int64_t stack_bytes_ = 0;
  std::unordered_map<VariableId, VariableType> bound_;
  std::unordered_set<uint32_t> declared_;
};

}  // namespace

Status VerifyLoops(const LoopKernel& kernel) { return Verifier(kernel).Run(); }

}  // namespace tvmvm::tensor
