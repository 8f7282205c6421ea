// Depthwise convolutions of channels_first data: vectors run along a row of output pixels. A grid point is a
// block of rows of one channel. It brings what its windows touch into scratch, padding as zeros, one copy of
// a row for each residue of the last stride, so that all taps are plain neighbouring loads; then a few rows
// of results are summed in registers, where rows of data that several of them need are read once.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "compiler/schedules/convolution_shape.h"
#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/product_group.h"

namespace tvmvm::tensor {
namespace {

constexpr int64_t kLanes = kPanelColumns;
constexpr int64_t kBlockRows = 16;      // of one grid point
constexpr int64_t kBlockColumns = 512;  // likewise
constexpr int kTileRows = 4;            // summed together, two vectors wide
constexpr int kRowVectors = 4;          // where there is only one row
// Taps along the rows that are unrolled so that the rows of a tile share what they read.
constexpr int64_t kMaxUnrolledTaps = 11;

// Axes of one position say nothing.
bool IsUnitAxis(const ConvolutionShape& shape, size_t axis) {
  return shape.kernel[axis].IsConstant(1) && shape.input[axis].IsConstant(1) &&
         shape.output[axis].IsConstant(1) && shape.low[axis].IsConstant(0);
}

// Without those, but with one axis at least.
ConvolutionShape WithoutUnitAxes(ConvolutionShape shape) {
  for (size_t i = shape.axes(); i-- > 0 && shape.axes() > 1;) {
    if (!IsUnitAxis(shape, i)) continue;
    shape.RemoveAxis(i);
  }
  return shape;
}

class PlanarDepthwiseKernel {
 public:
  PlanarDepthwiseKernel(const GroupView& group, ir::NodeId anchor, const std::set<int>& wanted,
                        LoopKernel* kernel)
      : group_(group),
        anchor_(anchor),
        node_(group.function().node(anchor)),
        shape_(ShapeOf(group, node_)),
        runs_(WithoutUnitAxes(shape_)),
        kernel_(kernel),
        nest_(kernel),
        reader_(group, wanted, kernel) {
    accumulator_ = ProductAccumulator(group.type(node_.inputs[0]).dtype, group.type(node_.inputs[1]).dtype,
                                      group.type(node_.outputs[0]).dtype);
    if (!IsFloat(accumulator_)) accumulator_ = DType::kF32;  // sums of bytes that it holds exactly
    last_ = runs_.axes() - 1;
    has_rows_ = runs_.axes() > 1;
    outer_axes_ = has_rows_ ? last_ - 1 : 0;
    for (size_t i = 0; i < outer_axes_; ++i) {
      outer_.push_back(runs_.output[i]);
      outer_taps_.push_back(runs_.kernel[i]);
    }
  }

  Expected<std::set<int>> Build(std::vector<KernelArgument>* arguments) {
    kernel_->name = "depthwise_conv";
    std::vector<KernelArgument> list = reader_.arguments();
    outputs_ = AddOutputs(group_, kernel_, &list);
    if (arguments) *arguments = std::move(list);
    results_ = ProductResults::Find(group_, anchor_);
    if (!results_) return MakeError(Code::kInternal, "a convolution whose results cannot be placed");
    OpenGrid();
    Fill();
    TVMVM_CHECK_OK(Tiles());
    kernel_->flops =
        shape_.batch * ir::Product(shape_.output) * shape_.groups * shape_.outputs * shape_.taps() * 2;
    kernel_->body = nest_.Finish();
    return reader_.touched();
  }

 private:
  ir::Dim output_rows() const { return has_rows_ ? runs_.output[last_ - 1] : ir::Dim(1); }
  int64_t stride(size_t axis) const { return runs_.strides[axis]; }
  int64_t dilation(size_t axis) const { return runs_.dilations[axis]; }
  int64_t row_stride() const { return has_rows_ ? stride(last_ - 1) : 1; }
  int64_t row_dilation() const { return has_rows_ ? dilation(last_ - 1) : 1; }
  int64_t row_taps() const { return has_rows_ ? runs_.kernel[last_ - 1].value() : 1; }
  int64_t taps() const { return runs_.kernel[last_].value(); }
  int tile_rows() const { return has_rows_ ? kTileRows : 1; }
  int64_t wide() const { return has_rows_ ? 2 : kRowVectors; }  // vectors of a tile's row

  void OpenGrid() {
    const ir::Dim planes = shape_.batch * shape_.groups * shape_.outputs,
                  row_blocks = CeilDiv(output_rows(), kBlockRows),
                  column_blocks = CeilDiv(runs_.output[last_], kBlockColumns);
    plane_ = Variable(nest_.Grid(0, "plane", planes));
    Expr outer_block = Variable(nest_.Grid(1, "row_block", row_blocks * ir::Product(outer_)));
    Expr column_block = Variable(nest_.Grid(2, "column_block", column_blocks));
    Expr channels = IntConstant(shape_.groups) * DimValue(shape_.outputs);
    batch_ = nest_.Let("n", FloorDiv(plane_, channels));
    channel_ = nest_.Let("channel", FloorMod(plane_, channels));
    Expr group = nest_.Let("group", FloorDiv(channel_, DimValue(shape_.outputs)));
    input_plane_ = nest_.Let("input_plane", batch_ * IntConstant(shape_.groups) + group);
    position_ = Unflatten(FloorDiv(outer_block, DimValue(row_blocks)), outer_);
    for (Expr& at : position_) at = nest_.Let("o", at);
    first_row_ =
        nest_.Let("first_row", FloorMod(outer_block, DimValue(row_blocks)) * IntConstant(kBlockRows));
    rows_ = nest_.Let("rows", Min(IntConstant(kBlockRows), DimValue(output_rows()) - first_row_));
    first_column_ = nest_.Let("first_column", column_block * IntConstant(kBlockColumns));
    columns_ =
        nest_.Let("columns", Min(IntConstant(kBlockColumns), DimValue(runs_.output[last_]) - first_column_));
  }

  // Scratch is [outer taps][input rows][residues][pitch].
  void Fill() {
    const int64_t window_rows = (row_taps() - 1) * row_dilation() + 1;
    const ir::Dim block_rows = has_rows_ ? RoundUp(Min(output_rows(), kBlockRows), kTileRows) : ir::Dim(1);
    input_rows_ = (block_rows - 1) * row_stride() + window_rows;
    pitch_ = RoundUp(Min(runs_.output[last_], kBlockColumns), wide() * kLanes) +
             ((taps() - 1) * dilation(last_) / stride(last_) / kLanes + 2) * kLanes;
    ir::Dim elements = ir::Product(outer_taps_) * input_rows_ * stride(last_) * pitch_;
    scratch_ = kernel_->AddLocal("rows", accumulator_, Memory::kScratch, 0, IntConstant(0));
    kernel_->scratch_bytes = RoundUp(elements * (DTypeBits(accumulator_) / 8), 64);
    nest_.Add(Allocate(scratch_));

    const int64_t tile = tile_rows();
    Expr whole_rows = FloorDiv(rows_ + IntConstant(tile - 1), IntConstant(tile)) * IntConstant(tile);
    Expr used_rows = (whole_rows - IntConstant(1)) * IntConstant(row_stride()) + IntConstant(window_rows);
    Expr tap = Variable(nest_.Open("outer_tap", IntConstant(0), DimValue(ir::Product(outer_taps_))));
    std::vector<Expr> at = Unflatten(tap, outer_taps_);
    Expr inside = BoolConstant(true);
    for (size_t i = 0; i < at.size(); ++i) {
      at[i] = nest_.Let("at", position_[i] * IntConstant(stride(i)) - DimValue(runs_.low[i]) +
                                  at[i] * IntConstant(dilation(i)));
      inside = And(inside, Within(at[i], i));
    }
    Window window = WindowOf(inside, used_rows);
    Expr residue = Variable(nest_.Open("residue", IntConstant(0), IntConstant(stride(last_))));
    FillColumns(at, residue, window,
                tap * DimValue(input_rows_ * stride(last_) * pitch_) + residue * DimValue(pitch_));
    nest_.Close();
    nest_.Close();
  }

  // The rows that the block's windows touch; [begin, end) of them exist.
  struct Window {
    Expr corner, begin, end, rows;
  };

  Window WindowOf(const Expr& is_inside, const Expr& rows) {
    const Expr zero = IntConstant(0);
    Window window{zero, zero, IntConstant(1), nest_.Let("used_rows", rows)};
    if (has_rows_) {
      window.corner =
          nest_.Let("corner", first_row_ * IntConstant(row_stride()) - DimValue(runs_.low[last_ - 1]));
      window.begin = nest_.Let("row_begin", Min(Max(zero - window.corner, zero), window.rows));
      Expr end = Min(DimValue(runs_.input[last_ - 1]) - window.corner, window.rows);
      window.end = Max(end, window.begin);
    }
    if (!IsConstant(is_inside)) window.end = Select(is_inside, window.end, window.begin);
    window.end = nest_.Let("row_end", window.end);
    return window;
  }

  Expr Within(const Expr& at, size_t axis) const {
    return And(LessEqual(IntConstant(0), at), Less(at, DimValue(runs_.input[axis])));
  }

  // Elements `residue`, `residue` + stride, ... of all rows, from the block's first window on; a column of
  // vectors after the other, because what the edges mask is the same for all rows.
  void FillColumns(std::vector<Expr> at, const Expr& residue, const Window& window, const Expr& target) {
    const Expr zero = IntConstant(0), step = IntConstant(stride(last_)), lanes = IntConstant(kLanes);
    Expr corner = nest_.Let("corner", first_column_ * step - DimValue(runs_.low[last_]) + residue);
    auto first_from = [&](const Expr& x) { return FloorDiv(x - corner + step - IntConstant(1), step); };
    Expr begin = nest_.Let("begin", Max(first_from(zero), zero));
    Expr end = nest_.Let("end", first_from(DimValue(runs_.input[last_])));
    // What whole vectors of results read.
    Expr count = FloorDiv(columns_ + lanes - IntConstant(1), lanes) * lanes +
                 IntConstant((taps() - 1) * dilation(last_) / stride(last_));
    Expr chunk = Variable(nest_.Open("chunk", zero, nest_.Let("count", count), LoopKind::kSerial, kLanes));
    if (has_rows_) at.push_back(window.corner);
    at.push_back(corner);
    Expr from = input_plane_ * DimValue(ir::Product(runs_.input)) + FlatIndex(runs_.input, at);
    from = nest_.Let("from", from + chunk * step);
    Expr to = nest_.Let("to", target + chunk);
    int input = reader_.InputOf(node_.inputs[0]);
    DType dtype = group_.type(node_.inputs[0]).dtype;
    auto rows = [&](const Expr& first, const Expr& last, bool exist) {
      Expr row = Variable(nest_.Open("row", first, last));
      Expr source = nest_.Let("source", from + row * DimValue(runs_.input[last_]));
      Expr place = nest_.Let("place", to + row * (DimValue(pitch_) * step));
      Expr lane = Variable(nest_.Open("lane", zero, lanes, LoopKind::kVectorized));
      Expr element = Constant(accumulator_, 0), j = chunk + lane;
      if (exist)
        element = Select(And(LessEqual(begin, j), Less(j, end)),
                         Cast(accumulator_, reader_.AtFlat(input, dtype, source + lane * step)), element);
      nest_.Add(Store(scratch_, place + lane, std::move(element)));
      nest_.Close();
      nest_.Close();
    };
    rows(zero, window.begin, false);
    rows(window.begin, window.end, true);
    rows(window.end, window.rows, false);
    nest_.Close();
  }

  Status Tiles() {
    Expr row = IntConstant(0);
    if (has_rows_)
      row = Variable(nest_.Open("tile_row", IntConstant(0), rows_, LoopKind::kSerial, kTileRows));
    const Expr width = IntConstant(wide() * kLanes);
    Expr whole = nest_.Let("whole", FloorDiv(columns_, width) * width);
    for (int64_t vectors : {wide(), int64_t{1}}) {
      Expr begin = vectors == 1 ? whole : IntConstant(0), end = vectors == 1 ? columns_ : whole;
      Expr x = Variable(nest_.Open("x", begin, end, LoopKind::kSerial, vectors * kLanes));
      TVMVM_CHECK_OK(Tile(row, x, static_cast<int>(vectors)));
      nest_.Close();
    }
    if (has_rows_) nest_.Close();
    return {};
  }

  Status Tile(const Expr& row, const Expr& x, int vectors) {
    const int rows = tile_rows();
    uint32_t sums = nest_.Local("sums", accumulator_, Memory::kRegisters, rows * vectors * kLanes);
    for (int i = 0; i < rows * vectors; ++i)
      nest_.Add(Store(sums, SumIndex(i), Broadcast(Constant(accumulator_, 0), kLanes)));
    Expr tap = Variable(nest_.Open("outer_tap", IntConstant(0), DimValue(ir::Product(outer_taps_))));
    Expr plane = nest_.Let("plane", (tap * DimValue(input_rows_) + row * IntConstant(row_stride())) *
                                            IntConstant(stride(last_)) * DimValue(pitch_) +
                                        x);
    Expr weights = nest_.Let(
        "weights", (channel_ * DimValue(ir::Product(outer_taps_)) + tap) * IntConstant(row_taps() * taps()));
    Expr k = Variable(nest_.Open("k", IntConstant(0), IntConstant(taps())));
    Expr distance = k * IntConstant(dilation(last_)), step = IntConstant(stride(last_));
    Expr from =
        nest_.Let("from", plane + FloorMod(distance, step) * DimValue(pitch_) + FloorDiv(distance, step));
    row_taps() <= kMaxUnrolledTaps ? SharedRows(from, weights + k, vectors, sums)
                                   : OwnRows(from, weights + k, vectors, sums);
    nest_.Close();
    nest_.Close();
    for (int r = 0; r < rows; ++r) {
      if (r > 0) nest_.OpenIf(Less(row + IntConstant(r), rows_));
      for (int v = 0; v < vectors; ++v)
        TVMVM_CHECK_OK(StoreVector(row + IntConstant(r), x + IntConstant(v * kLanes), sums, r * vectors + v,
                                   vectors == 1));
      if (r > 0) nest_.Close();
    }
    return {};
  }

  static Expr SumIndex(int vector) { return Ramp(IntConstant(vector * kLanes), IntConstant(1), kLanes); }

  Expr Weight(const Expr& at) {
    Expr load = reader_.AtFlat(reader_.InputOf(node_.inputs[1]), group_.type(node_.inputs[1]).dtype, at);
    return nest_.Let("w", Broadcast(Cast(accumulator_, std::move(load)), kLanes));
  }

  // The vector of scratch that lies `row` input rows and `vector` vectors behind `from`.
  Expr Data(const Expr& from, const Expr& row, int vector) {
    Expr at = from + row * (DimValue(pitch_) * IntConstant(stride(last_))) + IntConstant(vector * kLanes);
    return Load(scratch_, accumulator_, Ramp(std::move(at), IntConstant(1), kLanes));
  }

  void Accumulate(uint32_t sums, int number, const Expr& data, const Expr& weight) {
    nest_.Add(Store(sums, SumIndex(number), Fma(data, weight, Load(sums, accumulator_, SumIndex(number)))));
  }

  // Each input row is read once for all rows of the tile.
  void SharedRows(const Expr& from, const Expr& weights, int vectors, uint32_t sums) {
    std::vector<Expr> weight;
    for (int64_t t = 0; t < row_taps(); ++t) weight.push_back(Weight(weights + IntConstant(t * taps())));
    std::map<int64_t, std::vector<std::pair<int, int64_t>>> uses;  // input row -> (row of the tile, tap)
    for (int r = 0; r < tile_rows(); ++r)
      for (int64_t t = 0; t < row_taps(); ++t) uses[r * row_stride() + t * row_dilation()].emplace_back(r, t);
    for (const auto& [input_row, list] : uses) {
      for (int v = 0; v < vectors; ++v) {
        Expr data = nest_.Let("x", Data(from, IntConstant(input_row), v));
        for (const auto& [r, t] : list)
          Accumulate(sums, r * vectors + v, data, weight[static_cast<size_t>(t)]);
      }
    }
  }

  // Too many taps to unroll.
  void OwnRows(const Expr& from, const Expr& weights, int vectors, uint32_t sums) {
    Expr t = Variable(nest_.Open("row_tap", IntConstant(0), IntConstant(row_taps())));
    Expr weight = Weight(weights + t * IntConstant(taps()));
    for (int r = 0; r < tile_rows(); ++r) {
      Expr row = t * IntConstant(row_dilation()) + IntConstant(r * row_stride());
      for (int v = 0; v < vectors; ++v)
        Accumulate(sums, r * vectors + v, nest_.Let("x", Data(from, row, v)), weight);
    }
    nest_.Close();
  }

  Status StoreVector(const Expr& row, const Expr& x, uint32_t sums, int number, bool may_end) {
    Expr lane = Variable(nest_.Open("lane", IntConstant(0), IntConstant(kLanes), LoopKind::kVectorized));
    if (may_end) nest_.OpenIf(Less(x + lane, columns_));
    std::vector<Expr> at = position_;
    if (has_rows_) at.push_back(first_row_ + row);
    at.push_back(first_column_ + x + lane);
    ProductResults::Position position;
    position.flat = plane_ * DimValue(ir::Product(runs_.output)) + FlatIndex(runs_.output, at);
    position.coordinates = shape_.OutputCoordinates(batch_, WithUnitAxes(at), channel_);
    Expr sum = Load(sums, accumulator_, IntConstant(number * kLanes) + lane);
    TVMVM_CHECK_OK(results_->Store(nest_, position, sum, reader_, outputs_));
    if (may_end) nest_.Close();
    nest_.Close();
    return {};
  }

  // Positions along all axes of the result.
  std::vector<Expr> WithUnitAxes(const std::vector<Expr>& at) const {
    std::vector<Expr> all;
    size_t left_out = shape_.axes() - at.size();
    for (size_t i = shape_.axes(); i-- > 0;) {
      bool is_left_out = left_out > 0 && IsUnitAxis(shape_, i);
      if (is_left_out) --left_out;
      all.push_back(is_left_out ? IntConstant(0) : at[i - left_out]);
    }
    std::reverse(all.begin(), all.end());
    return all;
  }

  const GroupView& group_;
  ir::NodeId anchor_;
  const ir::Node& node_;
  ConvolutionShape shape_;
  ConvolutionShape runs_;  // the same with as few axes as possible
  LoopKernel* kernel_;
  Nest nest_;
  InputReader reader_;
  std::optional<ProductResults> results_;
  DType accumulator_ = DType::kInvalid;
  std::vector<uint32_t> outputs_;
  size_t last_ = 0, outer_axes_ = 0;
  bool has_rows_ = false;
  ir::Dims outer_, outer_taps_;  // of the axes before the rows
  ir::Dim input_rows_, pitch_;   // of scratch
  uint32_t scratch_ = 0;
  Expr plane_, input_plane_, batch_, channel_, first_row_, rows_, first_column_, columns_;
  std::vector<Expr> position_;  // along the outer axes
};

}  // namespace

bool TakesPlanarDepthwise(const GroupView& group, ir::NodeId anchor) {
  const ir::Node& node = group.function().node(anchor);
  ConvolutionShape shape = ShapeOf(group, node);
  if (shape.channels_last || !shape.channels.IsConstant(1) || shape.groups == 1) return false;
  if (InputOf(group, node.inputs[1]) < 0) return false;
  DType accumulator = ProductAccumulator(group.type(node.inputs[0]).dtype, group.type(node.inputs[1]).dtype,
                                         group.type(node.outputs[0]).dtype);
  const bool is_exact =
      SumsOfBytesAreExact(shape, group.type(node.inputs[0]).dtype, group.type(node.inputs[1]).dtype);
  return (IsFloat(accumulator) || is_exact) &&
         std::all_of(shape.kernel.begin(), shape.kernel.end(),
                     [](const ir::Dim& taps) { return taps.is_constant(); });
}

Expected<GroupProgram> SchedulePlanarDepthwise(const GroupView& group, ir::NodeId anchor) {
  GroupProgram program;
  auto build = [&](const std::set<int>& wanted, LoopKernel* kernel, std::vector<KernelArgument>* arguments) {
    return PlanarDepthwiseKernel(group, anchor, wanted, kernel).Build(arguments);
  };
  TVMVM_CHECK_OK(AddCall(1, build, &program));
  return program;
}

}  // namespace tvmvm::tensor
