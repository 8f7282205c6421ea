#include "compiler/loops/outline.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/loops/inline_kernel.h"
#include "compiler/loops/simplify_loops.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;

// Values of one step up to these sizes lie on the stack, where each is known to overlap nothing else.
constexpr int64_t kMostStackBytes = 16 << 10;  // of one value
constexpr int64_t kMostStackInAll = 128 << 10;

constexpr int64_t kStepsDone = 0, kGoOn = 1, kFirstSymbol = 2;  // in the state

class Outliner {
 public:
  explicit Outliner(const LoopBody& body) : body_(body) {}

  Expected<LoopKernel> Run() {
    kernel_.name = body_.name;
    for (VariableId& g : kernel_.grid) g = kernel_.NewVariable("g");
    std::vector<StmtPtr> statements;
    TVMVM_CHECK_OK(DeclareBuffers(&statements));
    VariableId step = kernel_.NewVariable("step");
    symbols_[body_.index] = Variable(step);
    StmtPtr once = Step(Variable(step));
    if (!defect_.empty()) return MakeError(Code::kInternal, fmt::format("'{}': {}", body_.name, defect_));
    if (!body_.go_on.IsConstant(1)) once = If(Binary(ExprOp::kNotEqual, State(kGoOn), IntConstant(0)), once);
    statements.push_back(
        For(step, DimValue(Dim::Symbol(body_.begin)), DimValue(Dim::Symbol(body_.end)), std::move(once)));
    kernel_.body = SimplifyLoops(Block(std::move(statements)));
    if (!kernel_.body) kernel_.body = Block({});
    kernel_.scratch_bytes = value_bytes_ + call_bytes_;
    return std::move(kernel_);
  }

 private:
  // --- buffers ---
  Status DeclareBuffers(std::vector<StmtPtr>* statements) {
    for (const BodyBuffer& buffer : body_.buffers) {
      if (!buffer.is_argument) continue;
      if (buffers_.size() != kernel_.argument_count)
        return MakeError(Code::kInternal, fmt::format("'{}': arguments come first", body_.name));
      buffers_.push_back(kernel_.AddArgument(buffer.name, buffer.dtype, buffer.access));
    }
    if (body_.has_state()) state_ = kernel_.AddArgument("state", DType::kI64, Access::kReadWrite);
    for (const BodyBuffer& buffer : body_.buffers) {
      if (buffer.is_argument) continue;
      buffers_.push_back(AddValue(buffer));
      statements->push_back(Allocate(buffers_.back()));
    }
    return {};
  }

  uint32_t AddValue(const BodyBuffer& buffer) {
    int64_t bits = DTypeBits(buffer.dtype);
    if (auto count = buffer.elements.constant(); count && *count <= kMostStackBytes * 8 / bits) {
      int64_t bytes = DTypeBytes(buffer.dtype, std::max<int64_t>(*count, 1));
      if (stack_bytes_ + bytes <= kMostStackInAll) {
        stack_bytes_ += bytes;
        return kernel_.AddLocal(buffer.name, buffer.dtype, Memory::kLocal, std::max<int64_t>(*count, 1));
      }
    }
    uint32_t local = kernel_.AddLocal(buffer.name, buffer.dtype, Memory::kScratch, 0, DimValue(value_bytes_));
    value_bytes_ = value_bytes_ + CeilDiv(buffer.elements * Dim(bits), 512) * Dim(64);
    return local;
  }

  BufferAt At(const BufferPart& part) {
    if (part.buffer >= buffers_.size()) {
      defect_ = fmt::format("there is no buffer {}", part.buffer);
      return {0, IntConstant(0)};
    }
    return {buffers_[part.buffer], ValueOfDim(part.offset, symbols_)};
  }

  DType TypeOf(const BufferPart& part) const { return body_.buffers[part.buffer].dtype; }

  Expr State(int64_t place) const { return Load(state_, DType::kI64, IntConstant(place)); }

  // --- steps ---
  StmtPtr Step(const Expr& number) {
    std::vector<StmtPtr> list;
    for (size_t k = 0; k < body_.symbols.size(); ++k)
      symbols_[body_.symbols[k]] =
          Bind(&list, body_.symbols[k].name(), State(kFirstSymbol + static_cast<int64_t>(k)));
    Steps(body_.steps, &list);
    if (!body_.has_state()) return Block(std::move(list));
    std::vector<Expr> next;  // all of them before the first is stored
    for (const Dim& dim : body_.next) next.push_back(Bind(&list, "next", ValueOfDim(dim, symbols_)));
    for (size_t k = 0; k < next.size(); ++k)
      list.push_back(Store(state_, IntConstant(kFirstSymbol + static_cast<int64_t>(k)), next[k]));
    if (!body_.go_on.IsConstant(1))
      list.push_back(Store(state_, IntConstant(kGoOn), ValueOfDim(body_.go_on, symbols_)));
    list.push_back(Store(state_, IntConstant(kStepsDone), number + IntConstant(1)));
    return Block(std::move(list));
  }

  void Steps(const std::vector<BodyStep>& steps, std::vector<StmtPtr>* list) {
    for (const BodyStep& step : steps) {
      if (!defect_.empty()) return;
      switch (step.kind) {
        case BodyStepKind::kCall:
          list->push_back(Call(step));
          break;
        case BodyStepKind::kCopy:
          list->push_back(Copy(step));
          break;
        case BodyStepKind::kDefine:
          Define(step, list);
          break;
        case BodyStepKind::kStore:
          StoreValues(step, list);
          break;
        case BodyStepKind::kRequire:
          list->push_back(Require(step));
          break;
        case BodyStepKind::kIf:
          Branch(step, list);
          break;
      }
    }
  }

  Expr Bind(std::vector<StmtPtr>* list, const std::string& name, Expr value) {
    if (IsConstant(value)) return value;
    VariableId variable = kernel_.NewVariable(name);
    list->push_back(Let(variable, std::move(value)));
    return Variable(variable);
  }

  StmtPtr Call(const BodyStep& step) {
    const LoopKernel& called = *step.kernel;
    if (step.parts.size() != called.argument_count) {
      defect_ = fmt::format("'{}' takes {} buffers, {} given", called.name, called.argument_count,
                            step.parts.size());
      return Block({});
    }
    std::vector<BufferAt> arguments;
    for (const BufferPart& part : step.parts) arguments.push_back(At(part));
    StmtPtr body = InlineKernel(called, arguments, symbols_, value_bytes_, &kernel_);
    call_bytes_ = Max(call_bytes_, called.scratch_bytes);
    kernel_.flops = kernel_.flops + called.flops;
    kernel_.bytes = kernel_.bytes + called.bytes;
    if (step.condition.IsConstant(1)) return Block({body});
    return If(ConditionOfDim(step.condition, symbols_), body);
  }

  // Whole vectors, then single elements.
  StmtPtr Copy(const BodyStep& step) {
    BufferAt from = At(step.parts[0]), to = At(step.parts[1]);
    DType dtype = TypeOf(step.parts[0]);
    kernel_.bytes = kernel_.bytes + CeilDiv(step.elements * Dim(2 * DTypeBits(dtype)), 8);
    int64_t lanes = IsSubByte(dtype) ? 1 : std::max(1, body_.vector_bits / std::max(DTypeBits(dtype), 32));
    Dim whole = FloorDiv(step.elements, Dim(lanes)) * Dim(lanes);
    auto move = [&](const Expr& i) {
      return Store(to.buffer, to.offset + i, Load(from.buffer, dtype, from.offset + i));
    };
    VariableId i = kernel_.NewVariable("i"), lane = kernel_.NewVariable("lane");
    StmtPtr vector = For(lane, IntConstant(0), IntConstant(lanes), move(Variable(i) + Variable(lane)),
                         LoopKind::kVectorized);
    StmtPtr vectors = For(i, IntConstant(0), ValueOfDim(whole, symbols_), vector, LoopKind::kSerial, lanes);
    VariableId rest = kernel_.NewVariable("i");
    return Block({vectors, For(rest, ValueOfDim(whole, symbols_), ValueOfDim(step.elements, symbols_),
                               move(Variable(rest)))});
  }

  void Define(const BodyStep& step, std::vector<StmtPtr>* list) {
    BufferAt at = At(step.parts[0]);
    for (size_t k = 0; k < step.symbols.size(); ++k) {
      Expr element = Load(at.buffer, TypeOf(step.parts[0]), at.offset + IntConstant(static_cast<int64_t>(k)));
      symbols_[step.symbols[k]] = Bind(list, step.symbols[k].name(), Cast(DType::kI64, element));
    }
  }

  void StoreValues(const BodyStep& step, std::vector<StmtPtr>* list) {
    BufferAt at = At(step.parts[0]);
    for (size_t k = 0; k < step.values.size(); ++k)
      list->push_back(Store(at.buffer, at.offset + IntConstant(static_cast<int64_t>(k)),
                            Cast(TypeOf(step.parts[0]), ValueOfDim(step.values[k], symbols_))));
  }

  StmtPtr Require(const BodyStep& step) {
    kernel_.error_messages.push_back(step.message);
    return If(Unary(ExprOp::kNot, ConditionOfDim(step.condition, symbols_)),
              Fail(static_cast<int32_t>(kernel_.error_messages.size())));
  }

  void Branch(const BodyStep& step, std::vector<StmtPtr>* list) {
    Expr condition = ConditionOfDim(step.condition, symbols_);
    std::vector<uint32_t> values;  // a place for each symbol
    for (const ir::SymbolId& symbol : step.symbols) {
      values.push_back(kernel_.AddLocal(symbol.name(), DType::kI64, Memory::kLocal, 1));
      list->push_back(Allocate(values.back()));
    }
    auto side = [&](const std::vector<BodyStep>& steps, const ir::Dims& dims) {
      SymbolValues outside = symbols_;
      std::vector<StmtPtr> inside;
      Steps(steps, &inside);
      for (size_t k = 0; k < values.size(); ++k)
        inside.push_back(Store(values[k], IntConstant(0), ValueOfDim(dims[k], symbols_)));
      symbols_ = std::move(outside);
      return Block(std::move(inside));
    };
    StmtPtr then = side(step.then, step.then_values), otherwise = side(step.otherwise, step.else_values);
    list->push_back(If(condition, then, otherwise));
    for (size_t k = 0; k < values.size(); ++k)
      symbols_[step.symbols[k]] =
          Bind(list, step.symbols[k].name(), Load(values[k], DType::kI64, IntConstant(0)));
  }

  const LoopBody& body_;
  LoopKernel kernel_;
  std::vector<uint32_t> buffers_;  // by buffer of the body
  uint32_t state_ = 0;
  SymbolValues symbols_;
  int64_t stack_bytes_ = 0;
  Dim value_bytes_ = 0, call_bytes_ = 0;  // of scratch
  std::string defect_;
};

}  // namespace

Expected<LoopKernel> OutlineLoop(const LoopBody& body) { return Outliner(body).Run(); }

}  // namespace tvmvm::tensor
