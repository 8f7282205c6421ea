#include "compiler/loops/lower_reductions.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"
#include "compiler/loops/loop_blocks.h"

namespace tvmvm::tensor {
namespace {

// Sums of floats add up blocks of this many elements (for each accumulator) before they go into a wider
// total: rounding errors grow with the block, not with the tensor.
constexpr int64_t kSumBlock = 512;
constexpr int kPartialSums =
    4;  // vectors that accumulate independently: as many as hide the latency of an addition

constexpr int64_t kManyTaps = 16;

// How often the reduction combines, where that is a small number; else INT64_MAX.
int64_t StepsOf(const Reduction& reduction) {
  constexpr int64_t kSmall = 1 << 20;
  int64_t count = 1;
  for (const Expr& extent : reduction.extents) {
    if (!IsConstant(extent) || extent->integer < 1 || extent->integer > kSmall || count > kSmall)
      return INT64_MAX;
    count *= extent->integer;
  }
  return count;
}

Expr Lowest(DType dtype) {
  if (IsFloat(dtype)) return FloatConstant(-std::numeric_limits<double>::infinity(), dtype);
  if (dtype == DType::kBool) return BoolConstant(false);
  int64_t low = IsSignedInteger(dtype) ? std::numeric_limits<int64_t>::min() >> (64 - DTypeBits(dtype)) : 0;
  return IntConstant(low, dtype);
}

Expr Highest(DType dtype) {
  if (IsFloat(dtype)) return FloatConstant(std::numeric_limits<double>::infinity(), dtype);
  if (dtype == DType::kBool) return BoolConstant(true);
  uint64_t ones = std::numeric_limits<uint64_t>::max() >> (64 - DTypeBits(dtype));
  return IntConstant(static_cast<int64_t>(IsSignedInteger(dtype) ? ones >> 1 : ones), dtype);
}

}  // namespace

Expr ReductionIdentity(ReduceKind kind, DType dtype) {
  switch (kind) {
    case ReduceKind::kSum:
      return Constant(dtype, 0);
    case ReduceKind::kProduct:
      return Constant(dtype, 1);
    case ReduceKind::kMin:
    case ReduceKind::kArgMin:
      return Highest(dtype);
    case ReduceKind::kMax:
    case ReduceKind::kArgMax:
      return Lowest(dtype);
    case ReduceKind::kAnd:
      return dtype == DType::kBool ? BoolConstant(true) : IntConstant(-1, dtype);
    case ReduceKind::kOr:
      return Constant(dtype, 0);
  }
  return {};
}

namespace {

struct Operators {
  ExprOp combine, across_lanes;
};

Operators OperatorsOf(ReduceKind kind, DType dtype) {
  bool is_bool = dtype == DType::kBool;
  switch (kind) {
    case ReduceKind::kSum:
      return {is_bool ? ExprOp::kOr : ExprOp::kAdd, is_bool ? ExprOp::kReduceOr : ExprOp::kReduceAdd};
    case ReduceKind::kProduct:
      return {is_bool ? ExprOp::kAnd : ExprOp::kMul, is_bool ? ExprOp::kReduceAnd : ExprOp::kReduceMul};
    case ReduceKind::kMin:
    case ReduceKind::kArgMin:
      return {is_bool ? ExprOp::kAnd : ExprOp::kMin, is_bool ? ExprOp::kReduceAnd : ExprOp::kReduceMin};
    case ReduceKind::kMax:
    case ReduceKind::kArgMax:
      return {is_bool ? ExprOp::kOr : ExprOp::kMax, is_bool ? ExprOp::kReduceOr : ExprOp::kReduceMax};
    case ReduceKind::kAnd:
      return {ExprOp::kAnd, ExprOp::kReduceAnd};
    case ReduceKind::kOr:
      return {ExprOp::kOr, ExprOp::kReduceOr};
  }
  return {};
}

}  // namespace

ExprOp CombineOf(ReduceKind kind, DType dtype) { return OperatorsOf(kind, dtype).combine; }

Expr CombineReduced(ReduceKind kind, const Expr& accumulator, const Expr& value) {
  if (kind == ReduceKind::kSum && IsFloat(value.dtype()) && value.op() == ExprOp::kMul) {
    return Fma(value->operands[0], value->operands[1], accumulator);
  }
  return Binary(CombineOf(kind, value.dtype()), accumulator, value);
}

bool IsShort(const Reduction& reduction) {
  constexpr int64_t kSteps = 64;
  return StepsOf(reduction) <= kSteps;
}

DType AccumulatorOf(const Expr& reduce) {
  DType dtype = reduce->reduction->accumulator;
  return dtype == DType::kInvalid ? reduce.dtype() : dtype;
}

namespace {

// A sum of f32 that may be long keeps its total in f64.
bool WantsTotal(const Expr& reduce) {
  const Reduction& reduction = *reduce->reduction;
  if (reduction.kind != ReduceKind::kSum || AccumulatorOf(reduce) != DType::kF32) return false;
  int64_t count = 1;
  for (const Expr& extent : reduction.extents) {
    if (!IsConstant(extent) || extent->integer > kSumBlock) return true;
    count *= std::max<int64_t>(extent->integer, 1);
    if (count > kSumBlock) return true;
  }
  return false;
}

bool IsArg(const Expr& reduce) {
  return reduce->reduction->kind == ReduceKind::kArgMin || reduce->reduction->kind == ReduceKind::kArgMax;
}

Expr Zero() { return IntConstant(0); }

}  // namespace

size_t InnermostAxis(const Expr& reduce) {
  const Reduction& reduction = *reduce->reduction;
  size_t best = reduction.axes.size() - 1;
  int fewest = std::numeric_limits<int>::max();
  for (size_t i = reduction.axes.size(); i-- > 0;) {
    if (IsIntConstant(reduction.extents[i], 1)) continue;
    int gathered = GatheredLoads(reduce->operands[0], reduction.axes[i]);
    if (gathered < fewest) {
      fewest = gathered;
      best = i;
    }
  }
  return best;
}

Expr ReductionLowering::Lower(const Expr& a, const Lanes& lanes) {
  bool any = false;
  VisitOnce(a, [&](const Expr& e) { any |= e.op() == ExprOp::kReduce; });
  if (!any) return a;
  // Outermost reductions first: their bodies are lowered inside of their own loops.
  std::unordered_map<const ExprNode*, Expr> done;
  std::function<Expr(const Expr&)> visit = [&](const Expr& e) -> Expr {
    if (auto found = done.find(e.get()); found != done.end()) return found->second;
    Expr result;
    if (e.op() == ExprOp::kReduce) {
      result = LowerOne(e, lanes);
    } else {
      std::vector<Expr> operands;
      for (const Expr& operand : e->operands) operands.push_back(visit(operand));
      result = WithOperands(e, std::move(operands));
    }
    done.emplace(e.get(), result);
    return result;
  };
  return visit(a);
}

Expr ReductionLowering::LowerOne(const Expr& reduce, const Lanes& lanes) {
  if (reduce->reduction->axes.empty()) return Lower(reduce->operands[0], lanes);
  if (lanes.In(reduce)) return Emit(reduce, lanes);
  Expr result = nest_.Remembered(reduce);
  if (result.valid()) return result;
  // What keeps elements is where their memory is, even if they are the same for all turns of the loops around
  // it.
  const int scope = kept_.index.valid() ? nest_.depth() : nest_.ScopeOf(reduce);
  nest_.At(scope, [&] {
    Expr value = Emit(reduce, Lanes{});
    result = nest_.Let("reduced", value);
    nest_.Remember(reduce, result);
  });
  return result;
}

Expr ReductionLowering::Emit(const Expr& reduce, const Lanes& lanes) {
  if (IsArg(reduce)) return EmitArg(reduce, lanes);
  if (lanes.count() > 1) return EmitAlongLanes(reduce, lanes);
  return EmitAlongAxis(reduce);
}

// Opens loops over all axes but the innermost; gives their number.
int ReductionLowering::OpenOuterAxes(const Reduction& reduction, LoopKind loops,
                                     std::vector<std::pair<VariableId, Expr>>* axes) {
  // The variable of each loop is new: one expression may be lowered several times.
  for (size_t i = 0; i + 1 < reduction.axes.size(); ++i) {
    VariableId variable = nest_.Open(nest_.kernel()->variable_names[reduction.axes[i]], Zero(),
                                     nest_.Place(reduction.extents[i]), loops);
    axes->emplace_back(reduction.axes[i], Variable(variable));
  }
  return static_cast<int>(reduction.axes.size()) - 1;
}

namespace {

// The same reduction with the axis that the innermost loop should run along at the end.
Expr WithInnermostLast(const Expr& reduce) {
  size_t axis = InnermostAxis(reduce);
  Reduction reduction = *reduce->reduction;
  if (axis + 1 == reduction.axes.size()) return reduce;
  std::swap(reduction.axes[axis], reduction.axes.back());
  std::swap(reduction.extents[axis], reduction.extents.back());
  return Reduce(std::move(reduction), reduce->operands[0], reduce.dtype());
}

}  // namespace

Expr ReductionLowering::Combined(ReduceKind kind, const Expr& so_far, const Expr& value) const {
  const bool is_max = kind == ReduceKind::kMax, is_extremum = is_max || kind == ReduceKind::kMin;
  if (!passes_over_nan_ || !is_extremum) return CombineReduced(kind, so_far, value);
  return Select(is_max ? Less(so_far, value) : Less(value, so_far), value, so_far);
}

void ReductionLowering::Accumulate(const Expr& reduce, uint32_t buffer, const Expr& offset,
                                   const Lanes& lanes, std::span<const std::pair<VariableId, Expr>> axes) {
  DType dtype = AccumulatorOf(reduce);
  Expr body = Lower(Guarded(Substitute(reduce->operands[0], axes), lanes), lanes);
  ForLanes(nest_, lanes, [&] {
    if (kept_.index.valid()) {
      body = nest_.Let("element", nest_.Place(body));
      nest_.Add(Store(kept_.buffer, nest_.Place(Substitute(kept_.index, axes)), body, lanes.guard));
    }
    body = Cast(dtype, body);
    Expr so_far = Load(buffer, dtype, offset + lanes.Number());
    Expr sum = Combined(reduce->reduction->kind, so_far, body);
    if (guards_accumulation_ && lanes.guard.valid()) sum = Select(lanes.guard, sum, so_far);
    nest_.Add(Store(buffer, offset + lanes.Number(), nest_.Place(sum)));
  });
}

Expr ReductionLowering::EmitAlongLanes(const Expr& unordered, const Lanes& lanes) {
  Expr reduce = WithInnermostLast(unordered);
  const Reduction& reduction = *reduce->reduction;
  DType dtype = AccumulatorOf(reduce);
  bool has_total = WantsTotal(reduce);
  // One vector of many taps would wait for each addition: taps take turns between a few sums.
  const bool is_short = IsShort(reduction) && LoadsWide(reduce->operands[0], lanes.lane_variable),
             takes_turns = is_short && lanes.unroll == 1 && StepsOf(reduction) >= kManyTaps;
  const int64_t turns = takes_turns ? std::min<int64_t>(kPartialSums, reduction.extents.back()->integer) : 1;
  const Expr count = IntConstant(lanes.count());
  uint32_t sums = nest_.Local("sums", dtype, Memory::kRegisters, turns * lanes.count());
  uint32_t totals = has_total ? nest_.Local("totals", DType::kF64, Memory::kRegisters, lanes.count()) : 0;
  auto fill = [&](uint32_t buffer, const Expr& value) {
    for (int64_t turn = 0; turn < (buffer == sums ? turns : 1); ++turn)
      ForLanes(nest_, lanes,
               [&] { nest_.Add(Store(buffer, IntConstant(turn) * count + lanes.Number(), value)); });
  };
  if (has_total) fill(totals, FloatConstant(0, DType::kF64));
  if (!has_total) fill(sums, ReductionIdentity(reduction.kind, dtype));
  std::vector<std::pair<VariableId, Expr>> axes;
  const LoopKind loops = is_short ? LoopKind::kUnrolled : LoopKind::kSerial;
  int open = OpenOuterAxes(reduction, loops, &axes);
  Expr begin = Zero(), end = nest_.Place(reduction.extents.back());
  if (has_total) {
    VariableId block = nest_.Open("block", Zero(), end, LoopKind::kSerial, kSumBlock);
    fill(sums, ReductionIdentity(reduction.kind, dtype));
    begin = Variable(block);
    end = nest_.Let("block_end", Min(begin + IntConstant(kSumBlock), end));
  }
  VariableId k = nest_.Open(nest_.kernel()->variable_names[reduction.axes.back()], begin, end, loops);
  axes.emplace_back(reduction.axes.back(), Variable(k));
  Accumulate(reduce, sums, FloorMod(Variable(k), IntConstant(turns)) * count, lanes, axes);
  nest_.Close();
  if (has_total) {
    ForLanes(nest_, lanes, [&] {
      Expr total =
          Load(totals, DType::kF64, lanes.Number()) + Cast(DType::kF64, Load(sums, dtype, lanes.Number()));
      nest_.Add(Store(totals, lanes.Number(), total));
    });
    nest_.Close();
  }
  for (int i = 0; i < open; ++i) nest_.Close();
  if (has_total) return Cast(reduce.dtype(), Load(totals, DType::kF64, lanes.Number()));
  Expr sum = Load(sums, dtype, lanes.Number());
  for (int64_t turn = 1; turn < turns; ++turn)
    sum = Binary(CombineOf(reduction.kind, dtype), sum,
                 Load(sums, dtype, IntConstant(turn) * count + lanes.Number()));
  return Cast(reduce.dtype(), sum);
}

// Elements [begin, end) of the innermost axis: whole groups of vectors, whole vectors, then single elements
// into `rest`.
void ReductionLowering::AccumulateAlongAxis(const Expr& reduce, const Expr& begin, const Expr& end,
                                            uint32_t partial, uint32_t rest, int unroll) {
  const Reduction& reduction = *reduce->reduction;
  std::string name = nest_.kernel()->variable_names[reduction.axes.back()];
  auto loop = [&](const Expr& from, const Expr& to, int width, int parts, uint32_t buffer) {
    if (Same(from, to)) return;
    VariableId k = nest_.Open(name, from, to, LoopKind::kSerial, width * parts);
    Lanes lanes = Lanes::Make(nest_.kernel(), width, parts);
    std::pair<VariableId, Expr> axis(reduction.axes.back(), Variable(k) + lanes.Number());
    Accumulate(reduce, buffer, Zero(), lanes, std::span(&axis, 1));
    nest_.Close();
  };
  Expr from = begin;
  if (width_ > 1 && unroll > 1) {
    Expr to = WholeSteps(nest_, {from, end}, width_ * unroll);
    const int woven = std::gcd(unroll, VectorsToWeave(std::span(&reduce->operands[0], 1), width_));
    loop(from, to, width_ * woven, unroll / woven, partial);
    from = to;
  }
  if (width_ > 1) {
    Expr to = WholeSteps(nest_, {from, end}, width_);
    loop(from, to, width_, 1, partial);
    from = to;
  }
  if (width_ == 1 || !SuitsMasks(std::span(&reduce->operands[0], 1), reduction.axes.back()))
    return loop(from, end, 1, 1, rest);
  if (Same(from, end)) return;
  nest_.OpenIf(Less(from, end));
  Lanes lanes = Lanes::Make(nest_.kernel(), width_, 1);
  Expr position = from + lanes.Number();
  lanes.guard = Less(position, end);
  std::pair<VariableId, Expr> axis(reduction.axes.back(), position);
  guards_accumulation_ = true;
  Accumulate(reduce, partial, Zero(), lanes, std::span(&axis, 1));
  guards_accumulation_ = false;
  nest_.Close();
}

Expr ReductionLowering::EmitAlongAxis(const Expr& unordered) {
  Expr reduce = WithInnermostLast(unordered);
  const Reduction& reduction = *reduce->reduction;
  ReduceKind kind = reduction.kind;
  DType dtype = AccumulatorOf(reduce);
  bool has_total = WantsTotal(reduce);
  const Expr& extent = reduction.extents.back();
  bool is_short = IsConstant(extent) && extent->integer < width_;
  bool is_gathered = GatheredLoads(reduce->operands[0], reduction.axes.back()) > 0;
  bool is_vector = width_ > 1 && !is_short && (gathers_ || !is_gathered) && DTypeBits(dtype) >= 8;
  int unroll = is_gathered ? 1
               : IsConstant(extent)
                   ? static_cast<int>(std::clamp<int64_t>(extent->integer / width_, 1, kPartialSums))
                   : kPartialSums;
  int saved_width = width_;
  if (!is_vector) width_ = unroll = 1;

  uint32_t total = has_total ? nest_.Local("total", DType::kF64, Memory::kRegisters, 1) : 0;
  uint32_t partial = is_vector ? nest_.Local("partial", dtype, Memory::kRegisters, width_ * unroll) : 0;
  uint32_t rest = nest_.Local("rest", dtype, Memory::kRegisters, 1);
  Lanes parts = Lanes::Make(nest_.kernel(), width_, unroll);
  auto clear = [&] {
    if (is_vector) {
      ForLanes(nest_, parts,
               [&] { nest_.Add(Store(partial, parts.Number(), ReductionIdentity(kind, dtype))); });
    }
    nest_.Add(Store(rest, Zero(), ReductionIdentity(kind, dtype)));
  };
  auto gather = [&] {
    Expr sum = Load(rest, dtype, Zero());
    if (!is_vector) return sum;
    Operators operators = OperatorsOf(kind, dtype);
    Expr vectors;
    for (int i = 0; i < unroll; ++i) {
      Expr part = Load(partial, dtype, Ramp(IntConstant(i * width_), IntConstant(1), width_));
      vectors = vectors.valid() ? Binary(operators.combine, vectors, part) : part;
    }
    return Binary(operators.combine, Unary(operators.across_lanes, vectors), sum);
  };

  if (has_total) nest_.Add(Store(total, Zero(), FloatConstant(0, DType::kF64)));
  if (!has_total) clear();
  std::vector<std::pair<VariableId, Expr>> axes;
  int open = OpenOuterAxes(reduction, LoopKind::kSerial, &axes);
  Expr inner = Reduce(reduction, Substitute(reduce->operands[0], axes), reduce.dtype());
  const Kept kept = kept_;
  if (kept.index.valid()) kept_.index = Substitute(kept.index, axes);
  Expr begin = Zero(), end = nest_.Place(extent);
  int64_t block_size = kSumBlock * width_ * unroll;
  if (has_total) {
    VariableId block = nest_.Open("block", Zero(), end, LoopKind::kSerial, block_size);
    clear();
    begin = Variable(block);
    end = nest_.Let("block_end", Min(begin + IntConstant(block_size), end));
  }
  AccumulateAlongAxis(inner, begin, end, partial, rest, unroll);
  if (has_total) {
    nest_.Add(Store(total, Zero(), Load(total, DType::kF64, Zero()) + Cast(DType::kF64, gather())));
    nest_.Close();
  }
  for (int i = 0; i < open; ++i) nest_.Close();
  Expr result = has_total ? Load(total, DType::kF64, Zero()) : gather();
  kept_ = kept;
  width_ = saved_width;
  return Cast(reduce.dtype(), result);
}

// The extremum in vectors, then the first (or last) position that has it. NaN is none.
Expr ReductionLowering::EmitArgAlongAxis(const Expr& reduce) {
  const Reduction& reduction = *reduce->reduction;
  const DType dtype = reduce->operands[0].dtype();
  const bool is_max = reduction.kind == ReduceKind::kArgMax, is_last = reduction.select_last;
  auto over = [&](ReduceKind kind, const std::function<Expr(const Expr& value, const Expr& k)>& body) {
    const VariableId k = nest_.kernel()->NewVariable("k");
    const std::pair<VariableId, Expr> axis(reduction.axes[0], Variable(k));
    Expr value = Substitute(reduce->operands[0], std::span(&axis, 1));
    Expr element = body(value, Variable(k));
    Reduction single{.kind = kind, .accumulator = element.dtype(), .axes = {k}, .extents = reduction.extents};
    const DType type = element.dtype();
    return nest_.LetVariable("reduced",
                             nest_.Place(EmitAlongAxis(Reduce(std::move(single), std::move(element), type))));
  };
  const Expr best = over(is_max ? ReduceKind::kMax : ReduceKind::kMin, [&](const Expr& value, const Expr&) {
    return IsFloat(dtype)
               ? Select(Unary(ExprOp::kIsNan, value), ReductionIdentity(reduction.kind, dtype), value)
               : value;
  });
  const Expr none = IntConstant(is_last ? -1 : std::numeric_limits<int64_t>::max());
  const Expr place =
      over(is_last ? ReduceKind::kMax : ReduceKind::kMin,
           [&](const Expr& value, const Expr& k) { return Select(Equal(value, best), k, none); });
  return Cast(reduce.dtype(), Select(Equal(place, none), Zero(), place));
}

Expr ReductionLowering::EmitArg(const Expr& reduce, const Lanes& lanes) {
  const Reduction& reduction = *reduce->reduction;
  DType dtype = reduce->operands[0].dtype();
  const Expr& extent = reduction.extents[0];
  const bool is_short = IsConstant(extent) && extent->integer < 2 * width_;
  if (lanes.count() == 1 && width_ > 1 && !is_short && DTypeBits(dtype) >= 8 && dtype != DType::kBool &&
      GatheredLoads(reduce->operands[0], reduction.axes[0]) == 0)
    return EmitArgAlongAxis(reduce);
  uint32_t best = nest_.Local("best", dtype, Memory::kRegisters, lanes.count());
  uint32_t where = nest_.Local("where", DType::kI64, Memory::kRegisters, lanes.count());
  ForLanes(nest_, lanes, [&] {
    nest_.Add(Store(best, lanes.Number(), ReductionIdentity(reduction.kind, dtype)));
    nest_.Add(Store(where, lanes.Number(), Zero()));
  });
  VariableId k = nest_.Open(nest_.kernel()->variable_names[reduction.axes[0]], Zero(),
                            nest_.Place(reduction.extents[0]));
  std::pair<VariableId, Expr> axis(reduction.axes[0], Variable(k));
  Expr value = Lower(Substitute(reduce->operands[0], std::span(&axis, 1)), lanes);
  ForLanes(nest_, lanes, [&] {
    Expr so_far = Load(best, dtype, lanes.Number());
    bool is_max = reduction.kind == ReduceKind::kArgMax;
    ExprOp order = reduction.select_last ? ExprOp::kLessEqual : ExprOp::kLess;
    Expr better = is_max ? Binary(order, so_far, value) : Binary(order, value, so_far);
    Expr roots[] = {Select(better, value, so_far),
                    Select(better, Variable(k), Load(where, DType::kI64, lanes.Number()))};
    std::vector<Expr> placed = nest_.Place(roots);
    nest_.Add(Store(best, lanes.Number(), placed[0]));
    nest_.Add(Store(where, lanes.Number(), placed[1]));
  });
  nest_.Close();
  return Cast(reduce.dtype(), Load(where, DType::kI64, lanes.Number()));
}

}  // namespace tvmvm::tensor
