// Running sums and products along an axis, which may be known only at run time.
//
//   scan(x) {axis (dim), kind "sum" or "product", exclusive, reverse}
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/procedural/scan_loops.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Lanes;
using tensor::Variable;

Expected<std::vector<Type>> InferScan(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  const std::string& kind = context.node.String("kind");
  if (kind != "sum" && kind != "product")
    return MakeError(Code::kUnsupported, fmt::format("scan of kind '{}' is unknown", kind));
  if (!IsFloat(type.dtype) && !IsInteger(type.dtype))
    return MakeError(Code::kUnsupported, fmt::format("scan is not defined for {}", DTypeName(type.dtype)));
  Dim axis = ScanAxis(context.node);
  if (axis.is_constant() && (axis.value() < 0 || axis.value() >= type.rank()))
    return BadAxis(axis.value(), type.rank());
  return One(type.dtype, type.dims);
}

// Rows that are too few to keep threads busy are cut into blocks where they are so long.
constexpr int64_t kLongRow = 1 << 15;
constexpr int64_t kFewRows = 16;
constexpr int64_t kBlocks = 128;  // of a row
constexpr int64_t kStreams = 4;   // blocks that one grid point sums side by side
constexpr int64_t kColumns = 64;  // of a grid point, where steps run across rows

class ScanLoops {
 public:
  explicit ScanLoops(LoopContext& context)
      : context_(context),
        type_(context.input_type(0)),
        plan_(context.node(), type_),
        access_(context, plan_.split),
        combine_(access_.combine),
        is_exclusive_(access_.is_exclusive),
        is_gpu_(IsGpu(context.target())),
        size_(DimValue(plan_.split.size)),
        width_(LanesOf(context.target(), type_.dtype)),
        block_size_(CeilDiv(plan_.split.size, Dim(kBlocks))) {
    if (is_gpu_) plan_.ChooseGroups(type_);
  }

  // Work of groups is a GPU's, that of blocks a CPU's; the last two kernels are those of either.
  tensor::StmtPtr Build() {
    auto add = [&](const Dim& when, auto&& build) {
      context_.LaunchWhere(when);
      return when.IsConstant(0) ? tensor::Block({}) : build();
    };
    context_.EndKernel(add(plan_.is_across, [&] { return Across(); }));
    context_.EndKernel(add(plan_.is_whole, [&] { return Whole(); }));
    context_.EndKernel(add(plan_.by_groups, [&] { return ScanRowByGroup(context_, plan_); }));
    const Dim is_cut = is_gpu_ ? plan_.is_cut_groups : plan_.is_cut;
    if (is_cut.IsConstant(0)) {
      context_.EndKernel(add(0, [] { return tensor::Block({}); }));
      return add(0, [] { return tensor::Block({}); });
    }
    const Dim blocks = is_gpu_ ? plan_.split.inner * plan_.blocks : Dim(kBlocks);
    totals_ = context_.AddWorkspace(type_.dtype, is_cut * plan_.split.outer * blocks);
    context_.EndKernel(
        add(is_cut, [&] { return is_gpu_ ? ScanTotalsByGroup(context_, plan_, totals_) : Totals(); }));
    return add(is_cut, [&] { return is_gpu_ ? ScanBlocksByGroup(context_, plan_, totals_) : Blocks(); });
  }

 private:
  std::vector<Expr> At(const Expr& outer, const Expr& step, const Expr& column) const {
    return access_.At(outer, step, column);
  }
  Expr Identity() const { return access_.Identity(); }
  Expr Start() const { return access_.Start(); }

  // Step by step along the axis, vectors across what lies inside of it; a work-item takes a column.
  tensor::StmtPtr Across() {
    tensor::Nest nest(&context_.kernel());
    if (is_gpu_ && !IsSubByte(type_.dtype)) {
      Expr column = Variable(nest.Grid(0, "column", plan_.split.inner));
      Row(nest, Variable(nest.Grid(1, "outer", plan_.split.outer)), column);
      return nest.Finish();
    }
    const Dim columns = IsSubByte(type_.dtype) ? Max(plan_.split.inner, 1) : Dim(kColumns);
    const tensor::Range part = BlocksOf(nest, "columns", plan_.split.inner, columns);
    Expr outer = Variable(nest.Grid(1, "outer", plan_.split.outer));
    if (is_gpu_)  // there the loops are not worth a second form
      Steps(nest, outer, part);
    else
      WholeOrPart(nest, part, plan_.split.inner, [&](const tensor::Range& all) { Steps(nest, outer, all); });
    return nest.Finish();
  }

  void Steps(tensor::Nest& nest, const Expr& outer, const tensor::Range& columns) {
    auto store = [&](const Expr& step, const Expr& j, const Lanes& lanes, bool is_first) {
      Expr before = step - IntConstant(1), value = Identity();
      if (is_first && !is_exclusive_) value = context_.Load(0, At(outer, step, j));
      if (!is_first)
        value = Binary(combine_, context_.LoadOutput(0, At(outer, before, j)),
                       context_.Load(0, At(outer, is_exclusive_ ? before : step, j)));
      ForLanes(nest, lanes, [&] { nest.Add(context_.Store(0, At(outer, step, j), nest.Place(value))); });
    };
    auto row = [&](const Expr& step, bool is_first) {
      tensor::ForVectors(nest, "j", columns.begin, columns.end, width_, 1,
                         [&](const Expr& j, const Lanes& lanes) { store(step, j, lanes, is_first); });
    };
    nest.OpenIf(Less(IntConstant(0), size_));
    row(IntConstant(0), true);
    nest.Close();
    row(Variable(nest.Open("step", IntConstant(1), size_)), false);
  }

  Expr Sum(int64_t stream) const { return tensor::Load(sums_, type_.dtype, IntConstant(stream)); }
  void SetSum(tensor::Nest& nest, int64_t stream, Expr value) const {
    nest.Add(tensor::Store(sums_, IntConstant(stream), std::move(value)));
  }
  // One step with the sum so far in a register.
  void Advance(tensor::Nest& nest, int64_t stream, const Expr& outer, const Expr& step,
               const Expr& column = IntConstant(0)) {
    std::vector<Expr> at = At(outer, step, column);
    if (is_exclusive_) nest.Add(context_.Store(0, at, Sum(stream)));
    SetSum(nest, stream, Binary(combine_, Sum(stream), context_.Load(0, at)));
    if (!is_exclusive_) nest.Add(context_.Store(0, at, Sum(stream)));
  }

  // A row at a grid point.
  tensor::StmtPtr Whole() {
    tensor::Nest nest(&context_.kernel());
    Row(nest, Variable(nest.Grid(0, "outer", plan_.split.outer)), IntConstant(0));
    return nest.Finish();
  }

  void Row(tensor::Nest& nest, const Expr& outer, const Expr& column) {
    sums_ = nest.Local("sums", type_.dtype, tensor::Memory::kRegisters, 1);
    SetSum(nest, 0, Start());
    Expr step = Variable(nest.Open("step", IntConstant(0), size_));
    Advance(nest, 0, outer, step, column);
    nest.Close();
  }

  // What each block of a row comes to.
  tensor::StmtPtr Totals() {
    tensor::Nest nest(&context_.kernel());
    Expr outer = Variable(nest.Grid(0, "outer", plan_.split.outer));
    Expr block = Variable(nest.Grid(1, "block", Dim(kBlocks)));
    Expr first = nest.Let("first", Min(block * DimValue(block_size_), size_));
    Expr count = nest.Let("count", Min(first + DimValue(block_size_), size_) - first);
    tensor::Reduction reduction;
    reduction.kind = combine_ == ExprOp::kMul ? tensor::ReduceKind::kProduct : tensor::ReduceKind::kSum;
    reduction.accumulator = type_.dtype;
    reduction.axes = {nest.kernel()->NewVariable("k")};
    reduction.extents = {count};
    Expr element = context_.Load(0, At(outer, first + Variable(reduction.axes[0]), IntConstant(0)));
    Expr total = tensor::Reduce(reduction, element, type_.dtype);
    Expr lowered = tensor::ReductionLowering(&nest, width_).Lower(total, Lanes());
    nest.Add(context_.StoreWorkspace(totals_, outer * IntConstant(kBlocks) + block, nest.Place(lowered)));
    return nest.Finish();
  }

  // Some blocks of a row at a grid point, side by side: a sum waits for the sum before it.
  tensor::StmtPtr Blocks() {
    tensor::Nest nest(&context_.kernel());
    Expr outer = Variable(nest.Grid(0, "outer", plan_.split.outer));
    Expr block =
        nest.Let("block", Variable(nest.Grid(1, "blocks", Dim(kBlocks / kStreams))) * IntConstant(kStreams));
    sums_ = nest.Local("sums", type_.dtype, tensor::Memory::kRegisters, kStreams);
    auto total = [&](const Expr& of) {
      return context_.LoadWorkspace(totals_, outer * IntConstant(kBlocks) + of);
    };
    SetSum(nest, 0, Start());
    Expr earlier = Variable(nest.Open("earlier", IntConstant(0), block));
    SetSum(nest, 0, Binary(combine_, Sum(0), total(earlier)));
    nest.Close();
    for (int64_t k = 1; k < kStreams; ++k)
      SetSum(nest, k, Binary(combine_, Sum(k - 1), total(block + IntConstant(k - 1))));
    Expr length = DimValue(block_size_);
    Expr is_full = nest.Let("is_full", LessEqual((block + IntConstant(kStreams)) * length, size_));
    nest.OpenIf(is_full);
    Expr step = Variable(nest.Open("step", IntConstant(0), length));
    for (int64_t k = 0; k < kStreams; ++k) Advance(nest, k, outer, (block + IntConstant(k)) * length + step);
    nest.Close();
    nest.Close();
    nest.OpenIf(Unary(ExprOp::kNot, is_full));
    for (int64_t k = 0; k < kStreams; ++k) {
      Expr from = nest.Let("from", (block + IntConstant(k)) * length);
      Expr one = Variable(nest.Open("step", from, Min(from + length, size_)));
      Advance(nest, k, outer, one);
      nest.Close();
    }
    nest.Close();
    return nest.Finish();
  }

  LoopContext& context_;
  const Type& type_;
  ScanPlan plan_;
  ScanAccess access_;
  ExprOp combine_;
  bool is_exclusive_, is_gpu_;
  Expr size_;
  int width_;
  Dim block_size_;
  uint32_t sums_ = 0;
  int totals_ = 0;
};

Expected<tensor::StmtPtr> BuildScan(LoopContext& context) { return ScanLoops(context).Build(); }

// A sum that waits for the one before it is a step; side by side, a part of one. Blocks are read twice.
std::vector<Work> ScanWork(const WorkContext& context) {
  const Dim elements = ElementsOf(context.inputs[0]), bytes = BytesOnce(context);
  return {{elements, bytes},
          {elements * Dim(kScalarStep), bytes},
          {elements * 4, bytes},
          {elements, BytesOf(context.inputs[0])},
          {elements * Dim(kScalarStep / kStreams), bytes}};
}

constexpr CoreOp kRows[] = {
    {.name = "scan",
     .kind = OpKind::kProcedural,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferScan,
     .loops = BuildScan,
     .work = ScanWork,
     .meaning = "running sum or product along `axis`; exclusive leaves out the element itself, reverse runs "
                "from the end",
     .attributes = "axis kind exclusive reverse"},
};

}  // namespace

Dim ScanAxis(const Node& node) {
  const Attribute* attribute = node.Find("axis");
  const Dim* axis = attribute ? std::get_if<Dim>(attribute) : nullptr;
  return axis ? *axis : Dim(node.Int("axis"));
}

ScanPlan::ScanPlan(const Node& node, const Type& type) : split(SplitAt(type.dims, ScanAxis(node))) {
  // Sums of narrow floats are rounded in each step; elements that share a byte have one writer.
  const bool can_be_cut = IsInteger(type.dtype) || DTypeBits(type.dtype) >= 32;
  is_across = Not(Equal(split.inner, 1));
  is_cut = And(And(LessEqual(kLongRow, split.size), Less(split.outer, kFewRows)), Not(is_across));
  if (!can_be_cut || IsSubByte(type.dtype)) is_cut = 0;
  is_whole = And(Not(is_across), Not(is_cut));
}

ScanAccess::ScanAccess(LoopContext& context, const AxisSplit& split)
    : combine(context.node().String("kind") == "product" ? ExprOp::kMul : ExprOp::kAdd),
      is_exclusive(context.node().Int("exclusive") != 0),
      is_reverse(context.node().Int("reverse") != 0),
      type_(context.input_type(0)),
      size_(DimValue(split.size)),
      inner_(DimValue(split.inner)) {}

std::vector<Expr> ScanAccess::At(const Expr& outer, const Expr& step, const Expr& column) const {
  Expr place = is_reverse ? size_ - IntConstant(1) - step : step;
  return FlatPosition(type_, (outer * size_ + place) * inner_ + column);
}

Expr ScanAccess::Identity() const { return tensor::Constant(type_.dtype, combine == ExprOp::kMul ? 1 : 0); }

Expr ScanAccess::Neutral() const {
  const bool is_sum_of_floats = combine == ExprOp::kAdd && IsFloat(type_.dtype);
  return is_sum_of_floats ? tensor::Constant(type_.dtype, -0.0) : Identity();
}

Expr ScanAccess::Start() const { return is_exclusive ? Identity() : Neutral(); }

std::span<const CoreOp> ScanFamily() { return kRows; }

}  // namespace tvmvm::ir
