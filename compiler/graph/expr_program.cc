#include "compiler/graph/expr_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "compiler/graph/tensor_elements.h"

namespace tvmvm::ir {

using tensor::Expr;
using tensor::ExprNode;
using tensor::ExprOp;
using tensor::ReduceKind;
using tensor::Scalar;
using tensor::VariableId;

namespace {

// What a reduction of no elements gives.
Scalar IdentityOf(ReduceKind kind, DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  uint64_t ones = ~uint64_t{0};
  int bits = DTypeBits(dtype);
  auto largest = static_cast<int64_t>(IsSignedInteger(dtype) ? ones >> (65 - bits) : ones >> (64 - bits));
  switch (kind) {
    case ReduceKind::kProduct:
      return {1, 1};
    case ReduceKind::kMin:
      return {dtype == DType::kBool ? 1 : largest, kInfinity};
    case ReduceKind::kMax:
      return {IsSignedInteger(dtype) ? -largest - 1 : 0, -kInfinity};
    case ReduceKind::kAnd:
      return {dtype == DType::kBool ? 1 : tensor::WrapInteger(dtype, -1), 0};
    default:
      return {};
  }
}

ExprOp CombinerOf(ReduceKind kind) {
  static constexpr ExprOp kOps[] = {ExprOp::kAdd, ExprOp::kMul, ExprOp::kMin,
                                    ExprOp::kMax, ExprOp::kAnd, ExprOp::kOr};
  return kOps[static_cast<size_t>(kind)];
}

bool FindsPosition(ReduceKind kind) { return kind == ReduceKind::kArgMin || kind == ReduceKind::kArgMax; }

int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace

Expected<ExprProgram> ExprProgram::Create(const Expr& root, uint32_t rank,
                                          std::span<const TensorData* const> inputs,
                                          const SymbolValues& symbols) {
  ExprProgram program(inputs, symbols);
  program.root_ = root;
  program.rank_ = rank;
  program.blocks_.emplace_back();
  program.open_ = {0};
  for (VariableId id = 0; id < rank; ++id) program.variables_[id] = program.NewSlot();
  TVMVM_TRY(program.result_, program.Compile(root));
  return program;
}

uint32_t ExprProgram::NewSlot(Scalar value) {
  slots_.push_back(value);
  return static_cast<uint32_t>(slots_.size() - 1);
}

const std::vector<VariableId>& ExprProgram::AxesOf(const Expr& e) {
  auto found = axes_of_.find(e.get());
  if (found != axes_of_.end()) return found->second;
  std::vector<VariableId> axes;
  auto add = [&](const Expr& part) {
    const std::vector<VariableId>& own = AxesOf(part);
    axes.insert(axes.end(), own.begin(), own.end());
  };
  if (e.op() == ExprOp::kVariable && e->id >= rank_) axes.push_back(e->id);
  for (const Expr& operand : e->operands) add(operand);
  if (e.op() == ExprOp::kReduce) {
    for (const Expr& extent : e->reduction->extents) add(extent);
    std::erase_if(axes, [&e](VariableId id) {
      return std::find(e->reduction->axes.begin(), e->reduction->axes.end(), id) != e->reduction->axes.end();
    });
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes_of_.emplace(e.get(), std::move(axes)).first->second;
}

Expected<uint32_t> ExprProgram::Compile(const Expr& e) {
  if (auto found = slot_of_.find(e.get()); found != slot_of_.end()) return found->second;
  uint32_t slot = 0;
  if (e.op() == ExprOp::kConstant) {
    slot = NewSlot({e->integer, e->number});
  } else if (e.op() == ExprOp::kDim) {
    std::optional<int64_t> value = Evaluate(e->dim, *symbols_);
    if (!value)
      return MakeError(Code::kUnsupported, fmt::format("the dim {} has no value", e->dim.ToString()));
    slot = NewSlot({.integer = *value});
  } else if (e.op() == ExprOp::kVariable) {
    auto found = variables_.find(e->id);
    if (found == variables_.end())
      return MakeError(Code::kInternal, fmt::format("variable {} is not bound", e->id));
    return found->second;
  } else {
    // The deepest open block that the value depends on.
    size_t depth = 0;
    for (VariableId axis : AxesOf(e))
      for (size_t k = 0; k < open_.size(); ++k) {
        const auto& axes = blocks_[open_[k]].axes;
        if (std::find(axes.begin(), axes.end(), axis) != axes.end()) depth = std::max(depth, k);
      }
    size_t home = open_[depth];
    Step step;
    step.node = e.get();
    step.operand_dtype = e->operands.empty() ? e.dtype() : e->operands[0].dtype();
    if (e.op() == ExprOp::kReduce) {
      TVMVM_TRY(slot, CompileReduce(e, std::move(step), home));
    } else {
      if (e.op() == ExprOp::kElement) step.input = inputs_[e->id];
      for (const Expr& operand : e->operands) {
        TVMVM_TRY(uint32_t part, Compile(operand));
        step.operands.push_back(part);
      }
      slot = step.slot = NewSlot();
      blocks_[home].steps.push_back(std::move(step));
    }
  }
  slot_of_.emplace(e.get(), slot);
  return slot;
}

Expected<uint32_t> ExprProgram::CompileReduce(const Expr& e, Step step, size_t home) {
  for (const Expr& extent : e->reduction->extents) {
    TVMVM_TRY(uint32_t slot, Compile(extent));
    step.extents.push_back(slot);
  }
  for (VariableId axis : e->reduction->axes) {
    step.axes.push_back(NewSlot());
    variables_[axis] = step.axes.back();
  }
  step.body = static_cast<int>(blocks_.size());
  blocks_.emplace_back();
  blocks_.back().axes = e->reduction->axes;
  open_.push_back(blocks_.size() - 1);
  TVMVM_TRY(step.result, Compile(e->operands[0]));
  open_.pop_back();
  uint32_t slot = step.slot = NewSlot();
  blocks_[home].steps.push_back(std::move(step));
  return slot;
}

int64_t ExprProgram::StepsOf(size_t block) const {
  int64_t count = 0;
  for (const Step& step : blocks_[block].steps) {
    int64_t own = 1;
    if (step.body >= 0) {
      own = StepsOf(static_cast<size_t>(step.body)) + 1;
      for (uint32_t extent : step.extents)
        own = SaturatingMultiply(own, std::max<int64_t>(slots_[extent].integer, 1));
    }
    if (__builtin_add_overflow(count, own, &count)) return INT64_MAX;
  }
  return count;
}

int64_t ExprProgram::steps_per_element() const { return std::max<int64_t>(StepsOf(0), 1); }

Scalar ExprProgram::Run(std::span<const int64_t> index) {
  for (uint32_t i = 0; i < rank_; ++i) slots_[i].integer = index[i];
  RunBlock(0);
  return slots_[result_];
}

void ExprProgram::RunBlock(size_t block) {
  for (const Step& step : blocks_[block].steps) slots_[step.slot] = RunStep(step);
}

Scalar ExprProgram::RunStep(const Step& step) {
  const ExprNode& node = *step.node;
  auto operand = [&](size_t i) { return slots_[step.operands[i]]; };
  switch (node.op) {
    case ExprOp::kElement:
      return Read(step);
    case ExprOp::kReduce:
      return RunReduce(step);
    case ExprOp::kSelect:
      return operand(0).integer ? operand(1) : operand(2);
    case ExprOp::kFma:
      return EvaluateFma(node.dtype, operand(0), operand(1), operand(2));
    case ExprOp::kCast:
      return tensor::ConvertScalar(step.operand_dtype, node.dtype, operand(0), node.saturate);
    case ExprOp::kBitcast:
      return tensor::DecodeScalar(node.dtype, tensor::EncodeScalar(step.operand_dtype, operand(0)));
    default:
      break;
  }
  if (step.operands.size() == 1) return EvaluateUnary(node.op, step.operand_dtype, operand(0));
  return EvaluateBinary(node.op, step.operand_dtype, operand(0), operand(1));
}

// Rows clamp their coordinates; in a tensor without elements nothing is read.
Scalar ExprProgram::Read(const Step& step) const {
  const TensorData& data = *step.input;
  int64_t flat = 0;
  for (size_t axis = 0; axis < step.operands.size(); ++axis) {
    int64_t i = slots_[step.operands[axis]].integer;
    if (i < 0 || i >= data.dims[axis]) return {};
    flat = flat * data.dims[axis] + i;
  }
  return ReadElement(data, flat);
}

Scalar ExprProgram::RunReduce(const Step& step) {
  const tensor::Reduction& reduction = *step.node->reduction;
  int64_t count = 1;
  for (uint32_t extent : step.extents)
    count = SaturatingMultiply(count, std::max<int64_t>(slots_[extent].integer, 0));
  bool finds_position = FindsPosition(reduction.kind);
  Scalar result = finds_position ? Scalar{} : IdentityOf(reduction.kind, reduction.accumulator), best{};
  for (int64_t position = 0; position < count; ++position) {
    int64_t rest = position;
    for (size_t k = step.axes.size(); k-- > 0; rest /= slots_[step.extents[k]].integer)
      slots_[step.axes[k]].integer = rest % slots_[step.extents[k]].integer;
    RunBlock(static_cast<size_t>(step.body));
    Scalar value = slots_[step.result];
    if (!finds_position) {
      result = EvaluateBinary(CombinerOf(reduction.kind), reduction.accumulator, result, value);
      continue;
    }
    bool is_max = reduction.kind == ReduceKind::kArgMax;
    ExprOp compare = reduction.select_last ? ExprOp::kLessEqual : ExprOp::kLess;
    Scalar is_better =
        EvaluateBinary(compare, reduction.accumulator, is_max ? best : value, is_max ? value : best);
    if (position == 0 || is_better.integer) {
      best = value;
      result = {.integer = position};
    }
  }
  return finds_position ? result : tensor::ConvertScalar(reduction.accumulator, step.node->dtype, result);
}

}  // namespace tvmvm::ir
