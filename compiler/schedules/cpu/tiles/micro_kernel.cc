#include "compiler/schedules/cpu/tiles/micro_kernel.h"

#include <algorithm>
#include <utility>

#include "compiler/schedules/packing.h"

namespace tvmvm::tensor {
namespace {

constexpr int kMostUnrolledRows = 4;

class TileEmitter {
 public:
  TileEmitter(LoopKernel* kernel, const MicroKernelOperands& operands, RegisterTile shape, int lanes,
              uint32_t sums)
      : kernel_(kernel), operands_(operands), shape_(shape), lanes_(lanes), sums_(sums) {
    vectors_ = shape.panels * static_cast<int>(kPanelColumns) / lanes;
  }

  StmtPtr Emit() {
    std::vector<StmtPtr> body;
    for (int i = 0; i < shape_.rows * vectors_; ++i)
      body.push_back(Store(sums_, SumIndex(i), Broadcast(Constant(operands_.accumulator, 0), lanes_)));
    int unroll = std::clamp(operands_.round_updates / (shape_.rows * vectors_), 1, operands_.round_steps);
    // Elements of several steps would all be read where the row's place is at hand, and not fit in registers.
    if (!operands_.has_near_rows && shape_.rows > kMostUnrolledRows) unroll = 1;
    Expr whole = DimValue(FloorDiv(operands_.depth, unroll) * unroll), end = DimValue(operands_.depth);
    if (operands_.range) {
      end = operands_.range->end - operands_.range->begin;
      whole = Bind("whole", FloorDiv(end, IntConstant(unroll)) * IntConstant(unroll), &body);
    }
    AddParts(whole, end, unroll, &body);
    return Block(std::move(body));
  }

 private:
  Expr SumIndex(int vector) const {
    return Ramp(IntConstant(static_cast<int64_t>(vector) * lanes_), IntConstant(1), lanes_);
  }

  void AddParts(const Expr& whole, const Expr& end, int64_t unroll, std::vector<StmtPtr>* body) {
    first_ = IntConstant(0);
    std::vector<StmtPtr> part;
    const bool is_one = !operands_.range || !operands_.range->parts.valid();
    VariableId number = 0;
    if (!is_one) {
      number = kernel_->NewVariable("part");
      first_ = Bind("part_first", Variable(number) * operands_.range->part_steps, &part);
    }
    AddDepthLoop(IntConstant(0), whole, unroll, &part);
    AddDepthLoop(whole, end, 1, &part);
    if (is_one) return std::ranges::move(part, std::back_inserter(*body)), void();
    body->push_back(
        For(number, IntConstant(0), operands_.range->parts, Block(std::move(part)), LoopKind::kSerial));
  }

  void AddDepthLoop(Expr begin, Expr end, int64_t step, std::vector<StmtPtr>* body) {
    if (Same(begin, end)) return;
    VariableId k = kernel_->NewVariable("k");
    std::vector<StmtPtr> steps;
    // Offsets of this round, so that what is left are constants.
    Expr b;
    const Expr at_step = first_ + Variable(k);
    if (!operands_.b_offsets) b = Bind("b_at", operands_.b_base + at_step * operands_.b_step, &steps);
    std::vector<Expr> rows;
    for (const Expr& row : operands_.a_rows)
      rows.push_back(Bind("a_at", row + at_step * operands_.a_step, &steps));
    for (int64_t i = 0; i < step; ++i) {
      Expr at;
      if (operands_.b_offsets) {
        Expr number = at_step + IntConstant(i);
        if (operands_.range) number = operands_.range->begin + number;
        Expr offset = Load(*operands_.b_offsets, DType::kI64, std::move(number));
        at = Bind("b_at", operands_.b_base + offset, &steps);
      } else {
        at = b + IntConstant(i) * operands_.b_step;
      }
      AddStep(IntConstant(i), rows, at, &steps);
    }
    body->push_back(
        For(k, std::move(begin), std::move(end), Block(std::move(steps)), LoopKind::kSerial, step));
  }

  // One rank-1 update of the tile, `i` steps of the depth beyond the rows' offsets, with the row of B at `b`.
  void AddStep(const Expr& i, const std::vector<Expr>& rows, const Expr& b, std::vector<StmtPtr>* steps) {
    DType dtype = operands_.accumulator;
    std::vector<Expr> columns;
    for (int v = 0; v < vectors_; ++v) {
      int64_t column = static_cast<int64_t>(v) * lanes_, panel = column / kPanelColumns;
      Expr offset = operands_.b_panel_step * IntConstant(panel) + IntConstant(column % kPanelColumns);
      Expr load = Load(operands_.b_buffer, operands_.b_dtype, Ramp(b + offset, IntConstant(1), lanes_));
      columns.push_back(Bind("b", Element(std::move(load)), steps));
    }
    for (int r = 0; r < shape_.rows; ++r) {
      Expr load = Load(operands_.a_buffer, operands_.a_dtype, rows[r] + i * operands_.a_step);
      Expr row = Bind("a", Broadcast(Element(std::move(load)), lanes_), steps);
      for (int v = 0; v < vectors_; ++v) {
        Expr index = SumIndex(r * vectors_ + v);
        steps->push_back(Store(sums_, index, Sum(row, columns[v], Load(sums_, dtype, index))));
      }
    }
  }

  bool HoldsBytes() const { return operands_.a_dtype == DType::kU32 && operands_.b_dtype == DType::kU32; }

  // An operand's element as it is multiplied.
  Expr Element(Expr load) const { return HoldsBytes() ? load : Cast(operands_.accumulator, std::move(load)); }

  Expr Sum(const Expr& a, const Expr& b, const Expr& sum) const {
    if (HoldsBytes()) return DotBytes(a, b, sum);
    return IsFloat(operands_.accumulator) ? Fma(a, b, sum) : sum + a * b;
  }

  Expr Bind(const char* name, Expr value, std::vector<StmtPtr>* steps) {
    VariableId variable = kernel_->NewVariable(name);
    Expr bound = Variable(variable, value.dtype(), value.lanes());
    steps->push_back(Let(variable, std::move(value)));
    return bound;
  }

  LoopKernel* kernel_;
  const MicroKernelOperands& operands_;
  RegisterTile shape_;
  int lanes_;
  int vectors_ = 0;
  const uint32_t sums_;
  Expr first_;  // step of the part at hand
};

}  // namespace

int VectorLanes(const TargetInfo& target, DType accumulator) {
  int lanes = target.vector_bits / DTypeBits(accumulator);
  return std::clamp(lanes, 1, static_cast<int>(kPanelColumns));
}

TilePlan PlanTiles(const TargetInfo& target, const TileProblem& problem) {
  const int panel_vectors = static_cast<int>(kPanelColumns) / VectorLanes(target, problem.accumulator);
  // Registers for sums: the rest holds a few vectors of B and one broadcast element of A.
  const bool has_many = target.vector_registers >= 32;
  int budget = has_many ? 24 : 12;
  // Elements of bytes are broadcast by instructions of their own; without VNNI sums take several.
  if (problem.dots && has_many)
    budget = target.has_vnni ? 16 : 20;
  else if (problem.dots && !target.has_vnni)
    budget = 8;
  const int few_budget = has_many ? 24 : 8;
  auto fits = [&](int panels) { return problem.block_panels % panels == 0; };
  auto width = [&](int panels) { return panels * panel_vectors; };
  TilePlan plan;
  // Two vectors a row balance loads of A and B, as do four, which need fewer rows; a narrower block is taken
  // whole, as is one of three panels.
  plan.panels = problem.block_panels == 3 && width(3) <= 3 ? 3 : 1;
  if (fits(2) && width(2) <= 2) plan.panels = 2;
  for (int panels : {2, 4})
    if (has_many && !problem.dots && problem.may_be_wide && fits(panels) && width(panels) <= 4)
      plan.panels = panels;
  plan.rows = std::clamp(budget / width(plan.panels), 1, problem.most_rows);
  for (int panels : {4, 3, 2, 1}) {
    if (!fits(panels) || panels < std::min(plan.panels + 1, 4)) continue;
    int rows = std::min(few_budget / width(panels), plan.rows);
    if (rows > plan.few_rows()) plan.few.push_back({rows, panels});
  }
  return plan;
}

StmtPtr MicroKernel(LoopKernel* kernel, const MicroKernelOperands& operands, RegisterTile shape, int lanes,
                    uint32_t sums) {
  return TileEmitter(kernel, operands, shape, lanes, sums).Emit();
}

}  // namespace tvmvm::tensor
