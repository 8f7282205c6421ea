// Depthwise convolutions of channels_first data: each channel is a plane whose windows slide along rows
// (planar_blocks.h), their taps multiplied by weights.
#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/schedules/convolution_shape.h"
#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/cpu/windows/planar_blocks.h"
#include "compiler/schedules/cpu/windows/turned_depthwise.h"
#include "compiler/schedules/product_group.h"
#include "compiler/schedules/schedule_overrides.h"

namespace tvmvm::tensor {
namespace {

// Taps along the rows that are unrolled so that the rows of a tile share what they read.
constexpr int64_t kMaxUnrolledTaps = 11;

DType ProductTypeOf(const GroupView& group, const ir::Node& node) {
  return ProductAccumulator(group.type(node.inputs[0]).dtype, group.type(node.inputs[1]).dtype,
                            group.type(node.outputs[0]).dtype);
}

// f32 holds the sums of bytes that are taken exactly.
DType AccumulatorOf(const GroupView& group, const ir::Node& node) {
  const DType type = ProductTypeOf(group, node);
  return IsFloat(type) ? type : DType::kF32;
}

// Windows that have so many rows in common take higher tiles: each row is read for more of them.
constexpr int64_t kSharedRows = 4, kHighTileRows = 8;

PlanarSchedule ChoosePlanar(const PlanarShape& shape, DType accumulator, const TargetInfo& target) {
  PlanarSchedule schedule;
  if (shape.axes() < 2 || accumulator != DType::kF32) return schedule;
  const size_t rows = shape.axes() - 2;
  const int64_t taps = shape.kernel[rows];
  if (target.vector_registers < 32) {
    schedule.tile_vectors = 1;  // sums leave registers for weights and data
    const bool share_rows = shape.strides[rows] == 1 || taps - shape.strides[rows] >= kSharedRows;
    if (!share_rows) schedule.lanes = target.vector_bits / 32;
    return schedule;
  }
  const bool is_low = shape.output[rows].constant().value_or(INT64_MAX) <= schedule.tile_rows;
  if (!is_low && taps <= kMaxUnrolledTaps && shape.dilations[rows] == 1 &&
      taps - shape.strides[rows] >= kSharedRows)
    schedule.tile_rows = kHighTileRows;
  return schedule;
}

// What it takes for a plane, in the same measure as CostOfTurnedDepthwise: for a vector of results, of which
// tiles have whole rows, and for what it brings into scratch; and for the plane.
ir::Dim CostOfPlane(const PlanarShape& shape) {
  constexpr int64_t kCostOfThreeTaps = 4, kCostOfResults = 2, kCostOfPlane = 70, kTileRows = 4;
  constexpr int64_t kCostOfRow = 3, kCostOfResidues = 9;  // that are brought in
  const size_t last = shape.axes() - 1;
  const bool has_rows = last > 0;
  const int64_t filled =
      (has_rows ? shape.strides[0] : 1) * (shape.strides[last] == 1 ? kCostOfRow : kCostOfResidues);
  const ir::Dim rows = has_rows ? RoundUp(shape.output[0], kTileRows) : ir::Dim(1);
  return rows * CeilDiv(shape.output[last], kPanelColumns) *
             (shape.taps() * kCostOfThreeTaps / 3 + kCostOfResults + filled) +
         kCostOfPlane;
}

class PlanarDepthwiseKernel {
 public:
  PlanarDepthwiseKernel(const GroupView& group, const PlanarSchedule& schedule, ir::NodeId anchor,
                        const std::set<int>& wanted, LoopKernel* kernel)
      : group_(group),
        anchor_(anchor),
        node_(group.function().node(anchor)),
        shape_(ShapeOf(group, node_)),
        planar_(PlanarShapeOf(shape_)),
        accumulator_(AccumulatorOf(group, node_)),
        lanes_(static_cast<int>(schedule.lanes)),
        kernel_(kernel),
        nest_(kernel),
        reader_(group, wanted, kernel),
        blocks_(planar_.WithoutUnitAxes(), {accumulator_, Constant(accumulator_, 0), schedule}, &nest_) {}

  Expected<std::set<int>> Build(std::vector<KernelArgument>* arguments) {
    kernel_->name = "depthwise_conv";
    std::vector<KernelArgument> list = reader_.arguments();
    outputs_ = AddOutputs(group_, kernel_, &list);
    if (arguments) *arguments = std::move(list);
    results_ = ProductResults::Find(group_, anchor_);
    if (!results_) return MakeError(Code::kInternal, "a convolution whose results cannot be placed");
    blocks_.OpenGrid(shape_.batch * shape_.groups * shape_.outputs);
    Expr channels = IntConstant(shape_.groups) * DimValue(shape_.outputs);
    batch_ = nest_.Let("n", FloorDiv(blocks_.plane(), channels));
    channel_ = nest_.Let("channel", FloorMod(blocks_.plane(), channels));
    Expr group = nest_.Let("group", FloorDiv(channel_, DimValue(shape_.outputs)));
    const int input = reader_.InputOf(node_.inputs[0]);
    blocks_.Fill(nest_.Let("input_plane", batch_ * IntConstant(shape_.groups) + group), [&](const Expr& at) {
      return reader_.AtFlat(input, group_.type(node_.inputs[0]).dtype, at);
    });
    TVMVM_CHECK_OK(blocks_.ForTiles(
        {}, [&](const Expr& row, const Expr& x, int vectors) { return Tile(row, x, vectors); }));
    kernel_->flops =
        shape_.batch * ir::Product(shape_.output) * shape_.groups * shape_.outputs * shape_.taps() * 2;
    kernel_->body = nest_.Finish();
    return reader_.touched();
  }

 private:
  int64_t row_taps() const { return blocks_.row_taps(); }
  int64_t taps() const { return blocks_.taps(); }

  Status Tile(const Expr& row, const Expr& x, int vectors) {
    const int count = blocks_.tile_rows() * vectors;
    uint32_t sums = nest_.Local("sums", accumulator_, Memory::kRegisters, count * lanes_);
    for (int i = 0; i < count; ++i)
      nest_.Add(Store(sums, blocks_.Lanes(i), Broadcast(Constant(accumulator_, 0), lanes_)));
    const Expr outer_taps = DimValue(ir::Product(blocks_.outer_taps()));
    Expr tap = Variable(nest_.Open("outer_tap", IntConstant(0), outer_taps));
    Expr plane = nest_.Let("plane", blocks_.RowOffset(tap, row) + x);
    Expr weights = nest_.Let("weights", (channel_ * outer_taps + tap) * IntConstant(row_taps() * taps()));
    Expr k = Variable(nest_.Open("k", IntConstant(0), IntConstant(taps())));
    Expr from = nest_.Let("from", plane + blocks_.TapOffset(k));
    row_taps() <= kMaxUnrolledTaps ? SharedRows(from, weights + k, vectors, sums)
                                   : OwnRows(from, weights + k, vectors, sums);
    nest_.Close();
    nest_.Close();
    auto sum = [&](int, int number, const Expr& lane, const Expr&) {
      return Load(sums, accumulator_, IntConstant(number * lanes_) + lane);
    };
    auto store = [&](const std::vector<Expr>& at, const Expr& flat, const Expr& element) {
      const ProductResults::Position position{
          shape_.OutputCoordinates(batch_, planar_.WithUnitAxes(at), channel_), flat};
      const DType result = group_.type(node_.outputs[0]).dtype;
      return results_->Store(nest_, position, SumAs(result, shape_, element), reader_, outputs_,
                             IsInteger(result) ? element : Expr());
    };
    return blocks_.StoreTile(row, x, vectors, sum, store);
  }

  Expr Weight(const Expr& at) {
    Expr load = reader_.AtFlat(reader_.InputOf(node_.inputs[1]), group_.type(node_.inputs[1]).dtype, at);
    return nest_.Let("w", Broadcast(Cast(accumulator_, std::move(load)), lanes_));
  }

  void Accumulate(uint32_t sums, int number, const Expr& data, const Expr& weight) {
    const Expr at = blocks_.Lanes(number);
    nest_.Add(Store(sums, at, Fma(data, weight, Load(sums, accumulator_, at))));
  }

  // Each input row is read once for all rows of the tile.
  void SharedRows(const Expr& from, const Expr& weights, int vectors, uint32_t sums) {
    std::vector<Expr> weight;
    for (int64_t t = 0; t < row_taps(); ++t) weight.push_back(Weight(weights + IntConstant(t * taps())));
    for (const auto& [input_row, list] : blocks_.RowUses()) {
      for (int v = 0; v < vectors; ++v) {
        Expr data = nest_.Let("x", blocks_.Data(from, IntConstant(input_row), v));
        for (const auto& [r, t] : list)
          Accumulate(sums, r * vectors + v, data, weight[static_cast<size_t>(t)]);
      }
    }
  }

  // Too many taps to unroll.
  void OwnRows(const Expr& from, const Expr& weights, int vectors, uint32_t sums) {
    Expr t = Variable(nest_.Open("row_tap", IntConstant(0), IntConstant(row_taps())));
    Expr weight = Weight(weights + t * IntConstant(taps()));
    for (int r = 0; r < blocks_.tile_rows(); ++r) {
      Expr row = t * IntConstant(blocks_.row_dilation()) + IntConstant(r * blocks_.row_stride());
      for (int v = 0; v < vectors; ++v)
        Accumulate(sums, r * vectors + v, nest_.Let("x", blocks_.Data(from, row, v)), weight);
    }
    nest_.Close();
  }

  const GroupView& group_;
  ir::NodeId anchor_;
  const ir::Node& node_;
  ConvolutionShape shape_;
  PlanarShape planar_;
  DType accumulator_;
  int lanes_;
  LoopKernel* kernel_;
  Nest nest_;
  InputReader reader_;
  PlanarBlocks blocks_;
  std::optional<ProductResults> results_;
  std::vector<uint32_t> outputs_;
  Expr batch_, channel_;
};

}  // namespace

PlanarShape PlanarShapeOf(const ConvolutionShape& shape) {
  PlanarShape planar{shape.input, shape.output, {}, shape.strides, shape.dilations, shape.low};
  for (const ir::Dim& taps : shape.kernel) planar.kernel.push_back(taps.value());
  return planar;
}

bool TakesPlanarDepthwise(const GroupView& group, ir::NodeId anchor) {
  const ir::Node& node = group.function().node(anchor);
  ConvolutionShape shape = ShapeOf(group, node);
  if (shape.channels_last || !shape.channels.IsConstant(1) || shape.groups == 1) return false;
  if (InputOf(group, node.inputs[1]) < 0) return false;
  const bool is_exact =
      SumsOfBytesAreExact(shape, group.type(node.inputs[0]).dtype, group.type(node.inputs[1]).dtype);
  return (IsFloat(ProductTypeOf(group, node)) || is_exact) &&
         std::all_of(shape.kernel.begin(), shape.kernel.end(),
                     [](const ir::Dim& taps) { return taps.is_constant(); });
}

Expected<GroupProgram> SchedulePlanarDepthwise(const GroupView& group, const TargetInfo& target,
                                               ir::NodeId anchor) {
  GroupProgram program;
  const ir::Node& node = group.function().node(anchor);
  const ConvolutionShape shape = ShapeOf(group, node);
  const PlanarShape planar = PlanarShapeOf(shape).WithoutUnitAxes();
  ir::Dim is_turned = 0;
  if (TakesTurnedDepthwise(group, anchor)) {
    TurnedSchedule turned;
    KernelSchedule made = Decide(group, target, WordsOf(group) + " " + WordsOf(shape), &turned);
    const int64_t panels = (shape.groups + kPanelColumns - 1) / kPanelColumns;
    is_turned = LessEqual(CostOfTurnedDepthwise(planar) * panels * 100,
                          CostOfPlane(planar) * shape.groups * turned.percent);
    if (!is_turned.IsConstant(0)) {
      TVMVM_CHECK_OK(AddTurnedDepthwise(group, target, turned, anchor, is_turned, &program));
      program.calls.back().schedules.push_back(std::move(made));
    }
  }
  if (is_turned.IsConstant(1)) return program;
  PlanarSchedule schedule = ChoosePlanar(planar, AccumulatorOf(group, node), target);
  KernelSchedule made = DecidePlanar(group, target, WordsOf(shape), &schedule);
  auto build = [&](const std::set<int>& wanted, LoopKernel* kernel, std::vector<KernelArgument>* arguments) {
    return PlanarDepthwiseKernel(group, schedule, anchor, wanted, kernel).Build(arguments);
  };
  TVMVM_CHECK_OK(AddCall(Not(is_turned), build, &program));
  program.calls.back().schedules.push_back(std::move(made));
  return program;
}

}  // namespace tvmvm::tensor
