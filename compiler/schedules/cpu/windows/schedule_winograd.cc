// Convolutions of 3 x 3 taps with fewer multiplications, after Winograd: F(m, 3). A tile of m x m results is
// made of (m + 2) x (m + 2) numbers of each channel, which are turned into as many others; of these, products
// with weights that were turned alike are summed over the channels, and the sums are turned back.
//
// A call turns the picture into [place of the tile][tile][channel], a place being one of (m + 2)^2. Another
// takes blocks of tiles and of columns: for each place a matrix product into scratch, then what is turned
// back is handed to the epilogue, or to a third call that writes channels_first results. With m = 2 turning
// only adds and subtracts, but for halves of weights: the error is near that of adding the products up.
//
// Where taps lie d pixels apart, so do the numbers and the results of a tile: tiles of d neighbouring first
// results stand between one another.
//
// Of 3-D data the planes are turned, padding ones as well; the products of the taps along the first axis,
// each with the tiles of another plane, are added up.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>

#include "compiler/schedules/convolution_shape.h"
#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/cpu/tiles/micro_kernel.h"
#include "compiler/schedules/product_group.h"

namespace tvmvm::tensor {
namespace {

constexpr int64_t kTaps = 3;
constexpr size_t kMostPlaces = 6;  // along an axis
// Tiles of one block: what their places hold in the second level of cache.
constexpr int64_t kBlockTiles = 48;
constexpr int64_t kPad = 16;

// How numbers, weights and results are turned along one axis.
struct Transform {
  int results = 0;                                               // m
  std::vector<std::vector<double>> numbers;                      // [m + 2][m + 2]
  std::array<std::array<double, kTaps>, kMostPlaces> weights{};  // [m + 2][3]
  std::vector<std::vector<double>> from_sums;                    // [m][m + 2]
};

const Transform& TransformOf(int64_t results) {
  static const Transform kTwo{2,
                              {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                              {{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}},
                              {{1, 1, 1, 0}, {0, 1, -1, -1}}};
  static const Transform kFour{
      4,
      {{4, 0, -5, 0, 1, 0},
       {0, -4, -4, 1, 1, 0},
       {0, 4, -4, -1, 1, 0},
       {0, -2, -1, 2, 1, 0},
       {0, 2, -1, -2, 1, 0},
       {0, 4, 0, -5, 0, 1}},
      {{{1.0 / 4, 0, 0},
        {-1.0 / 6, -1.0 / 6, -1.0 / 6},
        {-1.0 / 6, 1.0 / 6, -1.0 / 6},
        {1.0 / 24, 1.0 / 12, 1.0 / 6},
        {1.0 / 24, -1.0 / 12, 1.0 / 6},
        {0, 0, 1}}},
      {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
  return results == 2 ? kTwo : kFour;
}

// G w G^T of 3 x 3 weights in fp32, row by row.
std::array<float, kMostPlaces * kMostPlaces> Turned(const std::byte* weights, const Transform& by) {
  std::array<float, kTaps * kTaps> taps{};
  std::memcpy(taps.data(), weights, sizeof(taps));
  const auto& g = by.weights;
  const size_t places = by.numbers.size();
  std::array<float, kMostPlaces * kMostPlaces> turned{};
  for (size_t p = 0; p < places; ++p) {
    std::array<double, kTaps> row{};
    for (size_t i = 0; i < kTaps; ++i)
      for (size_t j = 0; j < kTaps; ++j) row[j] += g[p][i] * double(taps[i * kTaps + j]);
    for (size_t q = 0; q < places; ++q)
      turned[p * places + q] = static_cast<float>(row[0] * g[q][0] + row[1] * g[q][1] + row[2] * g[q][2]);
  }
  return turned;
}

// fp32 weights [outputs, channels, planes, 3, 3] as [places, outputs, channels, planes].
ir::TensorData TurnWeights(const ir::TensorData& data, const Transform& by) {
  constexpr size_t kTogether = 16;  // values of one place: what is written in turns lies far apart
  const size_t places = by.numbers.size() * by.numbers.size();
  const int64_t planes = data.dims.size() > 4 ? data.dims[2] : 1;
  const auto pairs = static_cast<size_t>(data.dims[0] * data.dims[1] * planes);
  std::vector<float> turned(places * pairs);
  std::array<std::array<float, kTogether>, kMostPlaces * kMostPlaces> some{};
  for (size_t first = 0; first < pairs; first += kTogether) {
    const size_t count = std::min(kTogether, pairs - first);
    for (size_t k = 0; k < count; ++k) {
      const auto values = Turned(data.bytes.data() + (first + k) * kTaps * kTaps * sizeof(float), by);
      for (size_t place = 0; place < places; ++place) some[place][k] = values[place];
    }
    for (size_t place = 0; place < places; ++place)
      std::copy_n(some[place].begin(), count, turned.begin() + static_cast<ptrdiff_t>(place * pairs + first));
  }
  return ir::TensorData::FromVector(
      DType::kF32, {static_cast<int64_t>(places), data.dims[0], data.dims[1], planes}, std::move(turned));
}

class WinogradKernels {
 public:
  WinogradKernels(const GroupView& group, const TargetInfo& target, ir::NodeId anchor)
      : group_(group),
        target_(target),
        anchor_(anchor),
        node_(group.function().node(anchor)),
        shape_(ShapeOf(group, node_)),
        by_(TransformOf(node_.Int("tile", 2))),
        tile_(by_.results),
        side_(tile_ + kTaps - 1),
        places_(side_ * side_),
        lanes_(VectorLanes(target, DType::kF32)),
        y_(shape_.axes() - 2),
        x_(shape_.axes() - 1) {
    tile_rows_ = TilesAlong(y_);
    tile_columns_ = TilesAlong(x_);
    if (has_planes()) {
      plane_taps_ = shape_.kernel[0].value();
      planes_ = shape_.output[0];
      turned_planes_ = planes_ + (plane_taps_ - 1) * shape_.dilations[0];
    }
    tiles_ = shape_.batch * planes_ * tile_rows_ * tile_columns_;
    width_ = BlockPanels(shape_.outputs) * kPanelColumns;
  }

  Expected<GroupProgram> Schedule() {
    GroupProgram program;
    program.packed.push_back(
        {[number = group_.ConstantOf(node_.inputs[1])->number, &by = by_,
          panels = PackedPanels(shape_.outputs).value()](const GroupConstants& constants) {
          return PackPanels(TurnWeights(*constants[number], by), {{0, 3}, {2}, {1}}, panels);
        }});
    if (!shape_.channels_last) {
      TVMVM_TRY(arranged_, AddArrangedPicture(group_, target_, anchor_, 1, &program));
    }
    turned_ = static_cast<uint32_t>(program.workspaces.size());
    program.workspaces.push_back({DType::kF32, PlaceStep() * places_});
    TVMVM_CHECK_OK(AddCall(1, std::bind_front(&WinogradKernels::BuildTurning, this), &program));
    if (CanPlaceResults(group_, anchor_)) {
      made_ = static_cast<uint32_t>(program.workspaces.size());
      program.workspaces.push_back({DType::kF32, shape_.batch * ir::Product(shape_.output) * shape_.outputs});
    }
    TVMVM_CHECK_OK(AddCall(1, std::bind_front(&WinogradKernels::BuildProducts, this), &program));
    if (made_) TVMVM_CHECK_OK(AddPlacedResults(group_, target_, anchor_, *made_, &program));
    return program;
  }

 private:
  ir::Dim TilesAlong(size_t axis) const {
    const int64_t apart = shape_.dilations[axis];
    return CeilDiv(CeilDiv(shape_.output[axis], apart), tile_) * apart;
  }
  // The first result of a tile along an axis; the others lie a dilation apart.
  Expr FirstOf(const Expr& tile, size_t axis) const {
    const int64_t apart = shape_.dilations[axis];
    if (apart == 1) return tile * IntConstant(tile_);
    return FloorDiv(tile, IntConstant(apart)) * IntConstant(tile_ * apart) +
           FloorMod(tile, IntConstant(apart));
  }

  bool has_planes() const { return shape_.axes() > 2; }
  ir::Dim plane_tiles() const { return tile_rows_ * tile_columns_; }

  // From one place of the turned picture, and of the sums, to the next. The pad keeps places from falling
  // together in a cache.
  ir::Dim PlaceStep() const { return shape_.batch * turned_planes_ * plane_tiles() * shape_.channels + kPad; }
  int64_t SumStep() const { return kBlockTiles * width_ + kPad; }

  // [i][j] = the sum of by[i][k] * numbers[k][j], then the same along the other axis.
  std::vector<Expr> Turned(Nest& nest, const std::vector<std::vector<double>>& by,
                           const std::vector<Expr>& numbers) const {
    const size_t from = by[0].size(), to = by.size();
    std::vector<Expr> half(to * from), whole(to * to);
    for (size_t i = 0; i < to; ++i)
      for (size_t j = 0; j < from; ++j)
        half[i * from + j] = Sum(nest, by[i], [&](size_t k) { return numbers[k * from + j]; });
    for (size_t i = 0; i < to; ++i)
      for (size_t j = 0; j < to; ++j)
        whole[i * to + j] = Sum(nest, by[j], [&](size_t k) { return half[i * from + k]; });
    return whole;
  }

  Expr Sum(Nest& nest, const std::vector<double>& factors, const std::function<Expr(size_t)>& number) const {
    Expr sum;
    // What is added first: a sum that begins with a difference costs one operation more.
    for (bool is_positive : {true, false}) {
      for (size_t k = 0; k < factors.size(); ++k) {
        const double factor = factors[k];
        if (factor == 0 || (factor > 0) != is_positive) continue;
        const Expr wide = Broadcast(FloatConstant(factor), lanes_);
        if (!sum.valid()) {
          sum = factor == 1 ? number(k) : number(k) * wide;
        } else if (factor == 1 || factor == -1) {
          sum = factor == 1 ? sum + number(k) : sum - number(k);
        } else {
          sum = Fma(number(k), wide, sum);
        }
      }
    }
    return nest.LetVariable("turned", sum);
  }

  Expected<std::set<int>> BuildTurning(const std::set<int>& wanted, LoopKernel* kernel,
                                       std::vector<KernelArgument>* arguments) {
    kernel->name = "turn_picture";
    InputReader reader(group_, wanted, kernel);
    uint32_t picture = 0;
    const int input = reader.InputOf(node_.inputs[0]);
    if (!arranged_) picture = reader.Buffer(input);
    std::vector<KernelArgument> list = reader.arguments();
    if (arranged_) {
      picture = kernel->AddArgument("arranged", DType::kF32, Access::kRead);
      list.push_back({ArgumentKind::kWorkspace, *arranged_});
    }
    const uint32_t target = kernel->AddArgument("turned", DType::kF32, Access::kWrite);
    list.push_back({ArgumentKind::kWorkspace, turned_});
    if (arguments != nullptr) *arguments = std::move(list);

    Nest nest(kernel);
    Expr tile_row = Variable(nest.Grid(0, "tile_row", shape_.batch * turned_planes_ * tile_rows_));
    nest.Grid(1, "unused", 1);
    nest.Grid(2, "none", 1);
    Expr n = nest.Let("n", FloorDiv(tile_row, DimValue(tile_rows_))), has_plane = BoolConstant(true);
    if (has_planes()) {
      Expr plane = nest.Let("plane", FloorMod(n, DimValue(turned_planes_)) - DimValue(shape_.low[0]));
      has_plane = And(LessEqual(IntConstant(0), plane), Less(plane, DimValue(shape_.input[0])));
      n = FloorDiv(n, DimValue(turned_planes_)) * DimValue(shape_.input[0]) + plane;
      n = nest.Let("picture", Select(has_plane, n, IntConstant(0)));
    }
    const int64_t apart_y = shape_.dilations[y_], apart_x = shape_.dilations[x_];
    const int64_t reach_y = (side_ - 1) * apart_y + 1, reach_x = (side_ - 1) * apart_x + 1;
    Expr y = nest.Let("y", FirstOf(FloorMod(tile_row, DimValue(tile_rows_)), y_) - DimValue(shape_.low[y_]));
    Expr height = DimValue(shape_.input[y_]), width = DimValue(shape_.input[x_]), zero = IntConstant(0);
    Expr channels = DimValue(shape_.channels), place_step = DimValue(PlaceStep());
    // A load that is masked as a whole is slow where no memory lies: it gets a place in the picture.
    auto clamped = [&](const Expr& at, const Expr& size) {
      return Min(Max(at, zero), size - IntConstant(1));
    };
    std::vector<Expr> has_row, rows;
    for (int64_t i = 0; i < side_; ++i) {
      Expr at = y + IntConstant(i * apart_y);
      has_row.push_back(nest.Let("has_row", And(has_plane, And(LessEqual(zero, at), Less(at, height)))));
      rows.push_back(nest.Let("row_at", (n * height + clamped(at, height)) * width * channels));
    }
    Expr all_rows = nest.Let(
        "all_rows", And(has_plane, And(LessEqual(zero, y), LessEqual(y + IntConstant(reach_y), height))));
    Expr column = Variable(nest.Open("column", zero, DimValue(tile_columns_)));
    Expr x = nest.Let("x", FirstOf(column, x_) - DimValue(shape_.low[x_]));
    Expr to = nest.Let("to", (tile_row * DimValue(tile_columns_) + column) * channels);
    Expr is_whole = nest.Let(
        "is_whole", And(all_rows, And(LessEqual(zero, x), LessEqual(x + IntConstant(reach_x), width))));
    for (bool whole : {true, false}) {
      nest.OpenIf(whole ? is_whole : Unary(ExprOp::kNot, is_whole));
      std::vector<Expr> inside, columns;
      for (int64_t j = 0; j < side_; ++j) {
        const Expr at = x + IntConstant(j * apart_x);
        columns.push_back(nest.Let("column_at", (whole ? at : clamped(at, width)) * channels));
        if (!whole) inside.push_back(nest.Let("inside", And(LessEqual(zero, at), Less(at, width))));
      }
      // What does not change along the channels.
      std::vector<Expr> masks(static_cast<size_t>(places_)), targets;
      for (size_t place = 0; place < masks.size(); ++place) {
        const size_t i = place / static_cast<size_t>(side_), j = place % static_cast<size_t>(side_);
        if (!whole) masks[place] = nest.LetVariable("mask", Broadcast(And(has_row[i], inside[j]), lanes_));
        targets.push_back(nest.Let("target", to + IntConstant(static_cast<int64_t>(place)) * place_step));
      }
      Expr c = Variable(nest.Open("c", zero, channels, LoopKind::kSerial, lanes_));
      std::vector<Expr> numbers;
      for (int64_t place = 0; place < places_; ++place) {
        Expr at = rows[static_cast<size_t>(place / side_)] + columns[static_cast<size_t>(place % side_)] + c;
        Expr load =
            Load(picture, DType::kF32, Ramp(at, IntConstant(1), lanes_), masks[static_cast<size_t>(place)]);
        numbers.push_back(nest.LetVariable("number", load));
      }
      const std::vector<Expr> turned = Turned(nest, by_.numbers, numbers);
      for (size_t place = 0; place < turned.size(); ++place) {
        Expr at = targets[place] + c;
        nest.Add(Store(target, Ramp(at, IntConstant(1), lanes_), turned[place]));
      }
      nest.Close();
      nest.Close();
    }
    nest.Close();
    const ir::Dim turned_tiles = shape_.batch * turned_planes_ * plane_tiles();
    kernel->flops = turned_tiles * shape_.channels * (4 * places_);
    kernel->bytes = turned_tiles * shape_.channels * (4 * places_ + 4 * tile_ * tile_);
    kernel->body = nest.Finish();
    return reader.touched();
  }

  Expected<std::set<int>> BuildProducts(const std::set<int>& wanted, LoopKernel* kernel,
                                        std::vector<KernelArgument>* arguments) {
    kernel->name = "conv";
    InputReader reader(group_, wanted, kernel);
    std::vector<KernelArgument> list = reader.arguments();
    const uint32_t panels = kernel->AddArgument("panels", DType::kF32, Access::kRead);
    list.push_back({ArgumentKind::kPacked, 0});
    const uint32_t turned = kernel->AddArgument("turned", DType::kF32, Access::kRead);
    list.push_back({ArgumentKind::kWorkspace, turned_});
    std::vector<uint32_t> outputs;
    if (made_) {
      outputs.push_back(kernel->AddArgument("made", DType::kF32, Access::kWrite));
      list.push_back({ArgumentKind::kWorkspace, *made_});
    } else {
      outputs = AddOutputs(group_, kernel, &list);
    }
    if (arguments != nullptr) *arguments = std::move(list);
    auto results = ProductResults::Find(group_, anchor_);
    if (!results) return MakeError(Code::kInternal, "a convolution whose results cannot be placed");

    Nest nest(kernel);
    const ir::Dim blocks = CeilDiv(tiles_, kBlockTiles);
    const int rows_axis = IsSmallRight(shape_.channels * shape_.outputs * places_ * plane_taps_);
    Expr block = Variable(nest.Grid(rows_axis, "block", blocks));
    Expr column_block = Variable(nest.Grid(1 - rows_axis, "column_block", CeilDiv(shape_.outputs, width_)));
    nest.Grid(2, "unused", 1);
    Expr first = nest.Let("first", FloorDiv(block * DimValue(tiles_), DimValue(Max(blocks, 1))));
    Expr end = FloorDiv((block + IntConstant(1)) * DimValue(tiles_), DimValue(Max(blocks, 1)));
    Expr rows = nest.Let("rows", end - first);
    Expr first_column = nest.Let("first_column", column_block * IntConstant(width_));
    const uint32_t sums =
        kernel->AddLocal("place_sums", DType::kF32, Memory::kScratch, 0, DimValue(kernel->scratch_bytes));
    kernel->scratch_bytes = kernel->scratch_bytes + places_ * SumStep() * 4;
    nest.Add(Allocate(sums));

    MatrixProduct product;
    product.rows = tiles_;
    product.columns = width_;
    product.depth = shape_.channels;
    product.accumulator = DType::kF32;
    Expr place = Variable(nest.Open("place", IntConstant(0), IntConstant(places_)));
    Expr tap = has_planes() ? Variable(nest.Open("plane_tap", IntConstant(0), IntConstant(plane_taps_)))
                            : IntConstant(0);
    product.left.buffer = turned;
    product.left.dtype = DType::kF32;
    product.left.step = IntConstant(1);
    product.left.pitch = shape_.channels;
    product.left.is_linear = !has_planes();
    product.left.offset = [&](Nest&, const Expr& row) {
      return place * DimValue(PlaceStep()) + TurnedTile(row, tap) * DimValue(shape_.channels);
    };
    product.right.form = RightForm::kPanels;
    product.right.buffer = panels;
    product.right.dtype = DType::kF32;
    product.right.base = [&](Nest&) {
      return (place * IntConstant(plane_taps_) + tap) *
                 DimValue(PackedPanels(shape_.outputs) * shape_.channels * kPanelColumns) +
             first_column * DimValue(shape_.channels);
    };
    product.store = [&](Nest& inner, const Expr& row, const Expr& column, const Expr& sum) -> Status {
      Expr at = place * IntConstant(SumStep()) + (row - first) * IntConstant(width_) + column;
      std::vector<Expr> placed = inner.Place(std::vector<Expr>{at, sum});
      if (has_planes()) {
        const Expr before = Load(sums, DType::kF32, placed[0]);
        placed[1] = placed[1] + Select(Less(IntConstant(0), tap), before, FloatConstant(0));
      }
      inner.Add(Store(sums, placed[0], placed[1]));
      return {};
    };
    product.has_simple_store = !has_planes();
    product.schedule = ChooseProduct(product, target_);
    product.schedule.block_rows = kBlockTiles;
    ProductBlock part{.first_row = first, .rows = rows};
    part.most_rows = kBlockTiles;
    part.is_padded = false;
    part.is_any = true;
    TVMVM_CHECK_OK(AddMatrixProduct(product, part, target_, nest));
    for (int i = 0; i < (has_planes() ? 2 : 1); ++i) nest.Close();
    TVMVM_CHECK_OK(Results(nest, sums, first, rows, first_column, *results, reader, outputs));
    kernel->flops = tiles_ * shape_.outputs * shape_.channels * (2 * places_ * plane_taps_);
    kernel->body = nest.Finish();
    return reader.touched();
  }

  // The tile that tap `tap` along the planes reads for a tile of results.
  Expr TurnedTile(const Expr& tile, const Expr& tap) const {
    if (!has_planes()) return tile;
    const Expr batch = FloorDiv(tile, DimValue(planes_ * plane_tiles()));
    const int64_t apart = shape_.dilations[0];
    const Expr ahead = batch * IntConstant((plane_taps_ - 1) * apart) + tap * IntConstant(apart);
    return tile + ahead * DimValue(plane_tiles());
  }

  // Turns the sums of the block's tiles back and stores the results that exist.
  Status Results(Nest& nest, uint32_t sums, const Expr& first, const Expr& rows, const Expr& first_column,
                 const ProductResults& results, InputReader& reader, const std::vector<uint32_t>& outputs) {
    const uint32_t made =
        nest.Local("made", DType::kF32, Memory::kLocal, static_cast<int64_t>(tile_) * tile_ * kPanelColumns);
    Expr r = Variable(nest.Open("r", IntConstant(0), rows));
    Expr tile = nest.Let("tile", first + r);
    Expr column = nest.Let("column", FirstOf(FloorMod(tile, DimValue(tile_columns_)), x_));
    Expr rest = nest.Let("rest", FloorDiv(tile, DimValue(tile_columns_)));
    Expr row = nest.Let("row", FirstOf(FloorMod(rest, DimValue(tile_rows_)), y_));
    Expr n = nest.Let("n", FloorDiv(rest, DimValue(tile_rows_)));
    Expr panel = Variable(nest.Open("panel", IntConstant(0), IntConstant(width_ / kPanelColumns)));
    Expr distance = nest.Let("distance", panel * IntConstant(kPanelColumns));
    Expr channel = nest.Let("channel", first_column + distance);
    const bool all_exist = FloorMod(shape_.outputs, width_).IsConstant(0);
    if (!all_exist) nest.OpenIf(Less(channel, DimValue(shape_.outputs)));
    Expr from = nest.Let("from", r * IntConstant(width_) + distance);
    for (int64_t lane = 0; lane < kPanelColumns; lane += lanes_) {
      std::vector<Expr> numbers;
      for (int64_t place = 0; place < places_; ++place) {
        Expr at = from + IntConstant(place * SumStep() + lane);
        numbers.push_back(
            nest.LetVariable("number", Load(sums, DType::kF32, Ramp(at, IntConstant(1), lanes_))));
      }
      const std::vector<Expr> turned = Turned(nest, by_.from_sums, numbers);
      for (size_t i = 0; i < turned.size(); ++i)
        nest.Add(Store(
            made, Ramp(IntConstant(static_cast<int64_t>(i) * kPanelColumns + lane), IntConstant(1), lanes_),
            turned[i]));
    }
    for (int64_t i = 0; i < tile_; ++i) {
      for (int64_t j = 0; j < tile_; ++j) {
        Expr y = row + IntConstant(i * shape_.dilations[y_]),
             x = column + IntConstant(j * shape_.dilations[x_]);
        nest.OpenIf(And(Less(y, DimValue(shape_.output[y_])), Less(x, DimValue(shape_.output[x_]))));
        Expr lane =
            Variable(nest.Open("j", IntConstant(0), IntConstant(kPanelColumns), LoopKind::kVectorized));
        const Expr sum = Load(made, DType::kF32, IntConstant((i * tile_ + j) * kPanelColumns) + lane);
        if (made_) {
          const Expr pixel = (n * DimValue(shape_.output[y_]) + y) * DimValue(shape_.output[x_]) + x;
          nest.Add(Store(outputs[0], pixel * DimValue(shape_.outputs) + channel + lane, sum));
        } else {
          ProductResults::Position position;
          std::vector<Expr> at{y, x};
          if (has_planes()) at.insert(at.begin(), FloorMod(n, DimValue(planes_)));
          const Expr batch = has_planes() ? FloorDiv(n, DimValue(planes_)) : n;
          position.coordinates = shape_.OutputCoordinates(batch, at, channel + lane);
          position.flat = FlatIndex(group_.type(node_.outputs[0]).dims, position.coordinates);
          TVMVM_CHECK_OK(results.Store(nest, position, sum, reader, outputs));
        }
        nest.Close();
        nest.Close();
      }
    }
    if (!all_exist) nest.Close();
    nest.Close();
    nest.Close();
    return {};
  }

  const GroupView& group_;
  const TargetInfo& target_;
  ir::NodeId anchor_;
  const ir::Node& node_;
  const ConvolutionShape shape_;
  const Transform& by_;
  int64_t tile_, side_, places_;  // results along an axis, numbers along an axis, numbers
  int lanes_ = 1;
  size_t y_, x_;       // the axes of a plane
  int64_t width_ = 0;  // of a block of columns
  int64_t plane_taps_ = 1;
  ir::Dim planes_ = 1, turned_planes_ = 1;  // of results and of the turned picture, padding among them
  ir::Dim tile_rows_, tile_columns_, tiles_;
  std::optional<uint32_t> arranged_, made_;  // the picture and the results as channels_last data
  uint32_t turned_ = 0;
};

}  // namespace

bool TakesWinograd(const GroupView& group, ir::NodeId anchor) {
  const ir::Node& node = group.function().node(anchor);
  return node.Int("tile", 0) != 0 && group.ConstantOf(node.inputs[1]) && InputOf(group, node.inputs[0]) >= 0;
}

ir::Dim FillsWinogradTiles(const GroupView& group, ir::NodeId anchor) {
  const ir::Node& node = group.function().node(anchor);
  const ConvolutionShape shape = ShapeOf(group, node);
  if (std::ranges::all_of(shape.dilations, [](int64_t apart) { return apart == 1; })) return 1;
  ir::Dim made = 1;
  for (size_t axis = 0; axis < shape.axes(); ++axis)
    made = made * RoundUp(shape.output[axis], node.Int("tile", 2) * shape.dilations[axis]);
  return LessEqual(made * 100, ir::Product(shape.output) * kMostMadeByWinograd);
}

Expected<GroupProgram> ScheduleWinograd(const GroupView& group, const TargetInfo& target, ir::NodeId anchor) {
  return WinogradKernels(group, target, anchor).Schedule();
}

}  // namespace tvmvm::tensor
