#include "compiler/loops/evaluate_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/expr/scalar_math.h"
#include "compiler/loops/evaluate_parts.h"

namespace tvmvm::tensor {
namespace {

using Lanes = std::vector<Scalar>;
using Mask = std::vector<bool>;  // lanes that are really executed

// What a work-item has of its own.
struct WorkItem {
  std::unordered_map<VariableId, Lanes> variables;
  std::vector<Storage> storage;  // by buffer; of private ones
};

class Evaluator {
 public:
  using Symbols = std::function<std::optional<int64_t>(const ir::SymbolId&)>;
  Evaluator(const LoopKernel& kernel, const Symbols& symbols, const EvaluateOptions& options)
      : kernel_(kernel), symbols_(symbols), options_(options), storage_(kernel.buffers.size()) {}

  Expected<int32_t> Run(std::span<const std::span<std::byte>> buffers) {
    if (buffers.size() != kernel_.argument_count)
      return MakeError(Code::kInvalidArgument,
                       fmt::format("kernel '{}' takes {} buffers, {} given", kernel_.name,
                                   kernel_.argument_count, buffers.size()));
    for (size_t i = 0; i < buffers.size(); ++i) {
      storage_[i].bytes = buffers[i];
      storage_[i].size = static_cast<int64_t>(buffers[i].size()) * 8 / DTypeBits(kernel_.buffers[i].dtype);
    }
    int64_t size[3];
    for (int axis = 0; axis < 3; ++axis) size[axis] = DimOf(kernel_.grid_size[axis]);
    scratch_.resize(static_cast<size_t>(DimOf(kernel_.scratch_bytes)));
    if (kernel_.GroupItems() > 1)
      items_.assign(static_cast<size_t>(kernel_.GroupItems()), {{}, std::vector<Storage>(storage_.size())});
    shared_.resize(storage_.size());
    for (int64_t z = 0; z < size[2]; ++z)
      for (int64_t y = 0; y < size[1]; ++y)
        for (int64_t x = 0; x < size[0] && !stopped(); ++x) Point(x, y, z);
    if (error_) return tl::unexpected<Error>(*error_);
    return code_;
  }

 private:
  bool stopped() const { return error_ || code_ != 0; }

  void Raise(Code code, const std::string& message) {
    if (!error_) error_ = Error{code, fmt::format("kernel '{}': {}", kernel_.name, message)};
  }

  int64_t DimOf(const ir::Dim& dim) {
    std::optional<int64_t> value = ir::Evaluate(dim, symbols_);
    if (!value) Raise(Code::kInvalidArgument, fmt::format("no value for {}", dim.ToString()));
    return value.value_or(0);
  }

  void Point(int64_t x, int64_t y, int64_t z) {
    variables_[kernel_.grid[2]] = {{.integer = z}};
    variables_[kernel_.grid[1]] = {{.integer = y}};
    variables_[kernel_.grid[0]] = {{.integer = x}};
    if (kernel_.range_end) variables_[*kernel_.range_end] = {{.integer = x + 1}};
    if (items_.empty()) return Statement(*kernel_.body);
    ForItems([&](int number) {
      const int* size = kernel_.group_size;
      for (auto [axis, coordinate] : {std::pair(0, x), {1, y}, {2, z}})
        variables_[kernel_.grid[axis]] = {{.integer = coordinate}};
      variables_[kernel_.thread[0]] = {{.integer = number % size[0]}};
      variables_[kernel_.thread[1]] = {{.integer = number / size[0] % size[1]}};
      variables_[kernel_.thread[2]] = {{.integer = number / size[0] / size[1]}};
    });
    ++barriers_;  // between groups
    GroupStatement(*kernel_.body);
  }

  // --- work-groups: statements without a barrier run item by item, the others in step ---

  void ForItems(const std::function<void(int)>& run) {
    for (size_t i = 0; i < items_.size() && !stopped(); ++i) {
      item_ = static_cast<int>(i);
      Exchange(items_[i]);
      run(item_);
      Exchange(items_[i]);
    }
  }

  void Exchange(WorkItem& item) {
    variables_.swap(item.variables);
    for (size_t b = kernel_.argument_count; b < storage_.size(); ++b)
      if (kernel_.buffers[b].memory != Memory::kShared) std::swap(storage_[b], item.storage[b]);
  }

  // A value that every work-item must see alike.
  int64_t InStep(const Expr& e) {
    std::optional<int64_t> common;
    ForItems([&](int) {
      int64_t value = Integer(e);
      if (common && *common != value) Raise(Code::kInternal, "work-items part before a barrier");
      common = value;
    });
    return common.value_or(0);
  }

  void GroupStatement(const Stmt& s) {
    if (stopped()) return;
    if (s.kind == StmtKind::kAllocate && kernel_.buffers[s.buffer].memory == Memory::kShared)
      return Allocate(s.buffer);
    if (!IsForGroup(s)) return ForItems([&](int) { Statement(s); });
    switch (s.kind) {
      case StmtKind::kBlock:
        for (const StmtPtr& child : s.body) GroupStatement(*child);
        break;
      case StmtKind::kFor: {
        int64_t end = InStep(s.end);
        for (int64_t i = InStep(s.begin); i < end && !stopped(); i += s.step->integer) {
          ForItems([&](int) { variables_[s.variable] = {{.integer = i}}; });
          GroupStatement(*s.body[0]);
        }
        break;
      }
      case StmtKind::kIf:
        if (InStep(s.value)) {
          GroupStatement(*s.body[0]);
        } else if (s.body.size() > 1) {
          GroupStatement(*s.body[1]);
        }
        break;
      default:
        ++barriers_;
    }
  }

  // Whether it holds a barrier, or declares memory of the whole group.
  bool IsForGroup(const Stmt& s) {
    if (s.kind == StmtKind::kBarrier) return true;
    if (s.kind == StmtKind::kAllocate) return kernel_.buffers[s.buffer].memory == Memory::kShared;
    return std::any_of(s.body.begin(), s.body.end(),
                       [&](const StmtPtr& child) { return IsForGroup(*child); });
  }

  // False: another work-item touches the element without a barrier in between.
  bool Share(uint32_t buffer, int64_t index, bool writes) {
    if (items_.empty() || kernel_.buffers[buffer].is_argument ||
        kernel_.buffers[buffer].memory != Memory::kShared)
      return true;
    const bool races = shared_[buffer][static_cast<size_t>(index)].Races(item_, barriers_, writes);
    if (races)
      Raise(Code::kInternal,
            fmt::format("work-items race for '{}' at {}", kernel_.buffers[buffer].name, index));
    return !races;
  }

  void Statement(const Stmt& s) {
    if (stopped()) return;
    if (++steps_ > options_.max_steps) return Raise(Code::kInternal, "too many steps");
    switch (s.kind) {
      case StmtKind::kBlock:
        for (const StmtPtr& child : s.body) Statement(*child);
        break;
      case StmtKind::kFor: {
        int64_t end = Integer(s.end);
        for (int64_t i = Integer(s.begin); i < end && !stopped(); i += s.step->integer) {
          variables_[s.variable] = {{.integer = i}};
          Statement(*s.body[0]);
        }
        break;
      }
      case StmtKind::kIf:
        if (Integer(s.value)) {
          Statement(*s.body[0]);
        } else if (s.body.size() > 1) {
          Statement(*s.body[1]);
        }
        break;
      case StmtKind::kStore:
        Store(s);
        break;
      case StmtKind::kLet:
        variables_[s.variable] = Root(s.value);
        break;
      case StmtKind::kAllocate:
        Allocate(s.buffer);
        break;
      case StmtKind::kFail:
        code_ = static_cast<int32_t>(Integer(FailureValue(s)));
        break;
      case StmtKind::kBarrier:      // of a group of one
      case StmtKind::kGroupReduce:  // there is none left
        break;
      case StmtKind::kTranspose:
        for (int64_t r = 0; r < s.rows; ++r)
          for (int64_t c = 0; c < s.columns; ++c)
            Write(s.buffer, c * s.rows + r, Read(s.from, r * s.columns + c));
        break;
      case StmtKind::kMatrix:  // the first of the work-items that hold a matrix does it for all
        if (item_ % kMatrixItems == 0) Matrix(s);
        break;
    }
  }

  // Visits (row, column) of a matrix.
  template <class Visit>
  void ForMatrix(const Visit& visit) {
    for (int64_t r = 0; r < kMatrixSide && !stopped(); ++r)
      for (int64_t c = 0; c < kMatrixSide && !stopped(); ++c) visit(r, c);
  }

  void Matrix(const Stmt& s) {
    constexpr int64_t kElements = int64_t{kMatrixSide} * kMatrixSide;
    int64_t to = Integer(s.index), from = s.value.valid() ? Integer(s.value) : 0;
    int64_t right = s.mask.valid() ? Integer(s.mask) : 0;
    auto in = [&](int64_t matrix, int64_t r, int64_t c) { return matrix * kElements + r * kMatrixSide + c; };
    auto beside = [&](int64_t begin, int64_t r, int64_t c) {
      return begin + (s.by_columns ? c * s.stride + r : r * s.stride + c);
    };
    switch (s.matrix) {
      case MatrixStep::kZero:
        return ForMatrix([&](int64_t r, int64_t c) { Write(s.buffer, in(to, r, c), {}); });
      case MatrixStep::kLoad:
        return ForMatrix(
            [&](int64_t r, int64_t c) { Write(s.buffer, in(to, r, c), Read(s.from, beside(from, r, c))); });
      case MatrixStep::kMultiply:
        return ForMatrix([&](int64_t r, int64_t c) {
          Scalar sum = Read(s.buffer, in(to, r, c));
          for (int64_t k = 0; k < kMatrixSide; ++k)
            sum = EvaluateFma(DType::kF32, Read(s.from, in(from, r, k)), Read(s.right, in(right, k, c)), sum);
          Write(s.buffer, in(to, r, c), sum);
        });
      case MatrixStep::kStore:
        return ForMatrix(
            [&](int64_t r, int64_t c) { Write(s.buffer, beside(to, r, c), Read(s.from, in(from, r, c))); });
    }
  }

  void Allocate(uint32_t buffer) {
    const BufferInfo& info = kernel_.buffers[buffer];
    Storage& storage = storage_[buffer];
    if (info.memory == Memory::kScratch) {
      auto offset = static_cast<uint64_t>(Integer(info.scratch_offset));
      if (offset > scratch_.size())
        return Raise(Code::kInternal, fmt::format("'{}' starts beyond the scratch", info.name));
      storage.bytes = std::span(scratch_).subspan(offset);
      storage.size = static_cast<int64_t>(storage.bytes.size()) * 8 / DTypeBits(info.dtype);
      return;
    }
    storage.owned.assign(static_cast<size_t>(DTypeBytes(info.dtype, info.size)), std::byte{0});
    storage.written.assign(static_cast<size_t>(info.size), false);
    storage.bytes = storage.owned;
    storage.size = info.size;
    if (info.memory == Memory::kShared) shared_[buffer].assign(static_cast<size_t>(info.size), {});
  }

  bool InBounds(uint32_t buffer, int64_t index, const char* what) {
    const Storage& storage = storage_[buffer];
    if (index >= 0 && index < storage.size) return true;
    Raise(Code::kInternal, fmt::format("{} of '{}' at {}, it has {} elements", what,
                                       kernel_.buffers[buffer].name, index, storage.size));
    return false;
  }

  Scalar Read(uint32_t buffer, int64_t index) {
    if (!InBounds(buffer, index, "load") || !Share(buffer, index, false)) return {};
    const Storage& storage = storage_[buffer];
    if (!storage.written.empty() && !storage.written[static_cast<size_t>(index)]) {
      Raise(Code::kInternal,
            fmt::format("'{}' is read at {} before it is written", kernel_.buffers[buffer].name, index));
      return {};
    }
    return storage.Get(kernel_.buffers[buffer].dtype, index);
  }

  void Write(uint32_t buffer, int64_t index, Scalar value) {
    if (!InBounds(buffer, index, "store") || !Share(buffer, index, true)) return;
    storage_[buffer].Put(kernel_.buffers[buffer].dtype, index, value);
  }

  void Store(const Stmt& s) {
    auto lanes = static_cast<size_t>(s.value.lanes());
    Mask active(lanes, true);
    if (s.mask.valid()) {
      Lanes mask = Root(s.mask);
      for (size_t i = 0; i < lanes; ++i) active[i] = mask[mask.size() == 1 ? 0 : i].integer != 0;
      if (lanes == 1 && !active[0]) return;
    }
    Lanes index = Root(s.index), value = Root(s.value);
    for (size_t i = 0; i < lanes && !stopped(); ++i) {
      int64_t at = index.size() == 1 ? index[0].integer + static_cast<int64_t>(i) : index[i].integer;
      if (active[i]) Write(s.buffer, at, value[i]);
    }
  }

  int64_t Integer(const Expr& e) {
    if (e.lanes() > 1) return Root(e)[0].integer;
    BeginRoot();
    return One(e).integer;
  }

  Lanes Root(const Expr& e) {
    BeginRoot();
    return Evaluate(e, Mask(static_cast<size_t>(e.lanes()), true));
  }

  void BeginRoot() {
    done_.clear();
    ++root_;
  }

  // The value of an expression of one lane.
  Scalar One(const Expr& e) {
    switch (e.op()) {
      case ExprOp::kConstant:
        return {.integer = e->integer, .number = e->number};
      case ExprOp::kVariable:
        return variables_[e->id][0];
      default:
        break;
    }
    Known& known = known_[e.get()];  // stays where it is
    if (known.root == root_) return known.value;
    known.value = OneNode(e);
    known.root = root_;
    return known.value;
  }

  Scalar OneNode(const Expr& e) {
    switch (e.op()) {
      case ExprOp::kDim:
        return {.integer = DimOf(e->dim)};
      case ExprOp::kLoad:
        if (e->operands.size() > 1 && One(e->operands[1]).integer == 0) return {};
        return Read(e->id, One(e->operands[0]).integer);
      case ExprOp::kSelect: {
        const bool holds = One(e->operands[0]).integer != 0;
        if (!options_.eager_select) return One(e->operands[holds ? 1 : 2]);
        const Scalar x = One(e->operands[1]), y = One(e->operands[2]);
        return holds ? x : y;
      }
      default:
        break;
    }
    const bool is_wide = std::any_of(e->operands.begin(), e->operands.end(),
                                     [](const Expr& operand) { return operand.lanes() > 1; });
    if (is_wide || e->operands.size() > 3 || e.op() == ExprOp::kRamp || e.op() == ExprOp::kBroadcast)
      return EvaluateNode(e, Mask(1, true))[0];
    Scalar operands[3];
    for (size_t i = 0; i < e->operands.size(); ++i) operands[i] = One(e->operands[i]);
    return Lane(e, e->operands[0].dtype(), std::span(operands, e->operands.size()), 0);
  }

  // Values of lanes outside `active` are arbitrary.
  Lanes Evaluate(const Expr& e, const Mask& active) {
    if (active.size() == 1) return {active[0] ? One(e) : Scalar{}};
    auto key = std::pair(e.get(), active);
    if (auto found = done_.find(key); found != done_.end()) return found->second;
    Lanes result = EvaluateNode(e, active);
    done_.emplace(std::move(key), result);
    return result;
  }

  static Mask Resized(const Mask& active, const Expr& operand) {
    auto lanes = static_cast<size_t>(operand.lanes());
    if (lanes == active.size()) return active;
    bool any = false;
    for (bool lane : active) any |= lane;
    return Mask(lanes, any);
  }

  Lanes EvaluateNode(const Expr& e, const Mask& active) {
    auto lanes = static_cast<size_t>(e.lanes());
    switch (e.op()) {
      case ExprOp::kConstant:
        return {{.integer = e->integer, .number = e->number}};
      case ExprOp::kDim:
        return {{.integer = DimOf(e->dim)}};
      case ExprOp::kVariable:
        return variables_[e->id];
      case ExprOp::kLoad:
        return EvaluateLoad(e, active);
      case ExprOp::kSelect:
        return EvaluateSelect(e, active);
      default:
        break;
    }
    std::vector<Lanes> operands;
    for (const Expr& operand : e->operands) operands.push_back(Evaluate(operand, Resized(active, operand)));
    DType dtype = e->operands[0].dtype();
    Lanes result(lanes);
    if (e.op() == ExprOp::kBroadcast) return Lanes(lanes, operands[0][0]);
    if (e.op() >= ExprOp::kReduceAdd && e.op() <= ExprOp::kReduceOr)
      return {EvaluateReduction(e.op(), dtype, std::move(operands[0]))};
    // Only a ramp's have fewer lanes, one.
    std::vector<Scalar> of_lane(operands.size());
    for (size_t i = 0; i < lanes; ++i) {
      if (!active[i]) continue;
      for (size_t k = 0; k < operands.size(); ++k) of_lane[k] = operands[k][operands[k].size() == 1 ? 0 : i];
      result[i] = Lane(e, dtype, of_lane, i);
    }
    return result;
  }

  // `operands`: those of lane i.
  Scalar Lane(const Expr& e, DType dtype, std::span<const Scalar> operands, size_t i) {
    switch (e.op()) {
      case ExprOp::kCast:
        return ConvertScalar(dtype, e.dtype(), operands[0], e->saturate);
      case ExprOp::kBitcast:
        return DecodeScalar(e.dtype(), EncodeScalar(dtype, operands[0]));
      case ExprOp::kFma:
        return EvaluateFma(dtype, operands[0], operands[1], operands[2]);
      case ExprOp::kDotBytes: {
        Scalar sum = operands.back();
        for (size_t k = 0; k + 1 < operands.size(); k += 2)
          sum = EvaluateDotBytes(operands[k], operands[k + 1], sum);
        return sum;
      }
      case ExprOp::kScale:
        return EvaluateScale(dtype, operands[0], operands[1]);
      case ExprOp::kRamp: {
        Scalar offset =
            EvaluateBinary(ExprOp::kMul, dtype, operands[1], {.integer = static_cast<int64_t>(i)});
        return EvaluateBinary(ExprOp::kAdd, dtype, operands[0], offset);
      }
      default:
        break;
    }
    if (operands.size() == 1) return EvaluateUnary(e.op(), dtype, operands[0]);
    bool divides = e.op() == ExprOp::kDiv || e.op() == ExprOp::kFloorDiv || e.op() == ExprOp::kFloorMod ||
                   e.op() == ExprOp::kRemainder;
    if (divides && !IsFloat(dtype) && operands[1].integer == 0 && !options_.eager_select)
      Raise(Code::kInternal, fmt::format("division by 0 in {}", ToString(e).substr(0, 200)));
    return EvaluateBinary(e.op(), dtype, operands[0], operands[1]);
  }

  Lanes EvaluateLoad(const Expr& e, const Mask& active) {
    Lanes index = Evaluate(e->operands[0], active), mask;
    if (e->operands.size() > 1) mask = Evaluate(e->operands[1], active);
    Lanes result(index.size());
    for (size_t i = 0; i < index.size(); ++i)
      if (active[i] && (mask.empty() || mask[i].integer)) result[i] = Read(e->id, index[i].integer);
    return result;
  }

  Lanes EvaluateSelect(const Expr& e, const Mask& active) {
    Lanes condition = Evaluate(e->operands[0], active);
    Mask then = active, otherwise = active;
    if (!options_.eager_select) {
      for (size_t i = 0; i < active.size(); ++i) {
        then[i] = active[i] && condition[i].integer;
        otherwise[i] = active[i] && !condition[i].integer;
      }
    }
    Lanes x = Evaluate(e->operands[1], then), y = Evaluate(e->operands[2], otherwise);
    for (size_t i = 0; i < active.size(); ++i)
      if (!condition[i].integer) x[i] = y[i];
    return x;
  }

  const LoopKernel& kernel_;
  const Symbols& symbols_;
  EvaluateOptions options_;
  std::vector<Storage> storage_;
  std::vector<std::byte> scratch_;
  std::unordered_map<VariableId, Lanes> variables_;
  std::vector<WorkItem> items_;  // of the group at hand; empty: groups of one
  std::vector<std::vector<SharedUse>> shared_;
  int item_ = 0;
  int64_t barriers_ = 0;                                    // so far
  std::map<std::pair<const ExprNode*, Mask>, Lanes> done_;  // wide ones, of the current root
  // The same of one lane.
  struct Known {
    int64_t root = 0;
    Scalar value;
  };
  std::unordered_map<const ExprNode*, Known> known_;
  int64_t root_ = 0;
  std::optional<Error> error_;
  int32_t code_ = 0;
  int64_t steps_ = 0;
};

}  // namespace

Expected<int32_t> EvaluateLoops(const LoopKernel& kernel, std::span<const std::span<std::byte>> buffers,
                                const std::function<std::optional<int64_t>(const ir::SymbolId&)>& symbols,
                                const EvaluateOptions& options) {
  TVMVM_CHECK_OK(VerifyLoops(kernel));
  const LoopKernel lowered = LowerGroupReduce(kernel);
  return Evaluator(lowered, symbols, options).Run(buffers);
}

}  // namespace tvmvm::tensor
