// Pools over regions of images that data tells: x [N, C, H, W]. A block of channels of one region a grid
// point: where the samples lie is the same for all channels.
//
//   roi_align(x, rois [R, 4], batch [R]) {mode "avg" or "max", height, width, samples, scale, half_pixel}
//   roi_pool(x, rois [R, 5]) {height, width, scale}: the first of the five is the image's number
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/procedural/loop_access.h"
#include "compiler/graph/requirements.h"
#include "compiler/loops/lanes.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Store;
using tensor::Variable;

constexpr const char* kFields = "the number of fields of a region";

Expected<std::vector<Type>> InferRois(const InferContext& context, int64_t fields) {
  TVMVM_TRY(Type x, RankedTensor(context, 0));
  TVMVM_TRY(Type rois, RankedTensor(context, 1));
  bool fits = x.rank() == 4 && rois.rank() == 2 && IsFloat(x.dtype) && rois.dtype == x.dtype;
  if (!fits)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("x is {} and the regions are {}, wanted [N, C, H, W] and [R, {}] "
                                 "of one type of float",
                                 x.ToString(), rois.ToString(), fields));
  if (rois.dims[1].constant().value_or(fields) != fields)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("{} is {}, want {}", kFields, rois.dims[1].ToString(), fields));
  int64_t height = context.node.Int("height"), width = context.node.Int("width");
  if (height < 1 || width < 1)
    return MakeError(Code::kInvalidArgument, fmt::format("pools of {} by {}", height, width));
  return One(x.dtype, {rois.dims[0], x.dims[1], Dim(height), Dim(width)});
}

Expected<std::vector<Type>> InferRoiAlign(const InferContext& context) {
  TVMVM_TRY(Type batch, RankedTensor(context, 2));
  if (batch.rank() != 1 || !IsInteger(batch.dtype))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("numbers of images are {}, wanted a list of integers", batch.ToString()));
  return InferRois(context, 4);
}

Expected<std::vector<Type>> InferRoiPool(const InferContext& context) { return InferRois(context, 5); }

// What both pools share: the grid, the loops over the places of the result, the value that collects.
class RoiLoops {
 public:
  explicit RoiLoops(LoopContext& context)
      : context_(context),
        node_(context.node()),
        nest_(&context.kernel()),
        x_(context.input_type(0)),
        wide_(x_.dtype == DType::kF64 ? DType::kF64 : DType::kF32),
        block_(IsGpu(context.target()) ? 1 : kChannels),
        width_(LanesOf(context.target(), wide_)) {
    Expr first = Variable(nest_.Grid(0, "channels", CeilDiv(x_.dims[1], Dim(block_)))) * IntConstant(block_);
    roi_ = Variable(nest_.Grid(1, "roi", context.output_type(0).dims[0]));
    first_channel_ = nest_.Let("first", first);
    channels_ = nest_.Let("count", Min(IntConstant(block_), DimValue(x_.dims[1]) - first_channel_));
  }

  tensor::StmtPtr BuildAlign() {
    Expr number[] = {roi_};
    image_ = nest_.Let("image", WrapIndex(context_.Load(2, number), x_.dims[0]));
    AlignedSide vertical = ReadAligned("height", 1, x_.dims[2]);
    AlignedSide horizontal = ReadAligned("width", 0, x_.dims[3]);
    bool is_max = node_.String("mode") == "max";
    OpenPlaces(is_max ? -std::numeric_limits<double>::infinity() : 0);
    Span rows = NearImage("row", vertical, row_), columns = NearImage("column", horizontal, column_);
    nest_.OpenIf(Less(IntConstant(0), DimValue(Product(x_.dims))));
    Expr i = Variable(nest_.Open("i", rows.first, rows.last));
    Tap y = TapAt(vertical, row_, i);
    Expr j = Variable(nest_.Open("j", columns.first, columns.last));
    Tap x = TapAt(horizontal, column_, j);
    ForChannels([&] {
      Expr value = nest_.Let("value", nest_.Place(Interpolated(y, x, is_max)));
      Collect(is_max ? Max(Collected(), value) : Collected() + value);
    });
    nest_.Close();
    nest_.Close();
    nest_.Close();
    return ClosePlaces([&](const Expr& collected) {
      if (!is_max) return collected / Max(Wide(vertical.samples) * Wide(horizontal.samples), K(1));
      // Points that were left out are 0.
      Expr most = Select(And(rows.has_all, columns.has_all), collected, Max(collected, K(0)));
      Expr is_empty = Or(Equal(vertical.samples, IntConstant(0)), Equal(horizontal.samples, IntConstant(0)));
      return Select(is_empty, K(0), most);
    });
  }

  tensor::StmtPtr BuildPool() {
    image_ = nest_.Let("image", WrapIndex(tensor::Cast(DType::kI64, Field(0)), x_.dims[0]));
    PooledSide vertical = ReadPooled("height", 2);
    PooledSide horizontal = ReadPooled("width", 1);
    OpenPlaces(-std::numeric_limits<double>::infinity());
    nest_.OpenIf(Less(IntConstant(0), DimValue(x_.dims[0])));
    Expr top = nest_.Let("top", EdgeOf(vertical, row_, x_.dims[2], ExprOp::kFloor));
    Expr bottom = nest_.Let("bottom", EdgeOf(vertical, row_ + IntConstant(1), x_.dims[2], ExprOp::kCeil));
    Expr left = nest_.Let("left", EdgeOf(horizontal, column_, x_.dims[3], ExprOp::kFloor));
    Expr right = nest_.Let("right", EdgeOf(horizontal, column_ + IntConstant(1), x_.dims[3], ExprOp::kCeil));
    Expr i = Variable(nest_.Open("i", top, bottom));
    Expr j = Variable(nest_.Open("j", left, right));
    ForChannels([&] { Collect(nest_.Place(Max(Collected(), At(i, j)))); });
    nest_.Close();
    nest_.Close();
    // An empty part gives 0.
    nest_.OpenIf(Or(LessEqual(bottom, top), LessEqual(right, left)));
    ForChannels([&] { Collect(K(0)); });
    nest_.Close();
    nest_.Close();
    return ClosePlaces([](const Expr& collected) { return collected; });
  }

 private:
  static constexpr int64_t kChannels = 64;  // of a grid point

  struct AlignedSide {
    Expr start, bin, samples;
    Dim size;
  };
  struct Tap {
    Expr outside, low, high, weight;  // weight of `high`
  };
  struct Span {
    Expr first, last, has_all;  // [first, last); whether these are all samples of the bin
  };
  struct PooledSide {
    Expr start, bin;
  };

  Expr K(double value) const { return tensor::Constant(wide_, value); }
  Expr Wide(const Expr& a) const { return tensor::Cast(wide_, a); }
  Expr Collected() const { return tensor::Load(collected_, wide_, channel_); }
  void Collect(const Expr& value) { nest_.Add(Store(collected_, channel_, value)); }
  void ForChannels(const std::function<void()>& build) {
    tensor::ForVectors(nest_, "channel", IntConstant(0), channels_, width_, 1,
                       [&](const Expr& channel, const tensor::Lanes& lanes) {
                         channel_ = channel;
                         ForLanes(nest_, lanes, build);
                       });
  }
  Expr Field(int64_t which) {
    Expr index[] = {roi_, IntConstant(which)};
    return Wide(context_.Load(1, index));
  }
  Expr Scaled(int64_t which) { return Field(which) * K(node_.Float("scale", 1)); }
  Expr At(const Expr& row, const Expr& column) {
    // What differs between channels comes last: the rest is known outside of the loop over them.
    Expr plane = (first_channel_ + channel_) * DimValue(x_.dims[2] * x_.dims[3]);
    Expr index[] = {image_, IntConstant(0), row, column + plane};
    return Wide(context_.Load(0, index));
  }

  void OpenPlaces(double initial) {
    row_ = Variable(nest_.Open("row", IntConstant(0), IntConstant(node_.Int("height"))));
    column_ = Variable(nest_.Open("column", IntConstant(0), IntConstant(node_.Int("width"))));
    collected_ = nest_.Local("collected", wide_, tensor::Memory::kLocal, block_);
    ForChannels([&] { Collect(K(initial)); });
  }

  // `result`: what becomes of what was collected.
  tensor::StmtPtr ClosePlaces(const std::function<Expr(const Expr&)>& result) {
    ForChannels([&] {
      Expr index[] = {roi_, first_channel_ + channel_, row_, column_};
      nest_.Add(context_.Store(0, index, tensor::Cast(x_.dtype, nest_.Place(result(Collected())))));
    });
    return nest_.Finish();
  }

  // Regions end at fields 2 and 3. Samples a bin: as given, or one for each element that the bin covers.
  AlignedSide ReadAligned(const std::string& name, int64_t field, const Dim& size) {
    bool half_pixel = node_.Int("half_pixel") != 0;
    Expr offset = K(half_pixel ? 0.5 : 0);
    Expr start = nest_.Let(name + "_start", Scaled(field) - offset);
    Expr extent = Scaled(field + 2) - offset - start;
    if (!half_pixel) extent = Max(extent, K(1));
    Expr bin = nest_.Let(name + "_bin", extent / K(static_cast<double>(node_.Int(name))));
    int64_t given = node_.Int("samples");
    constexpr int64_t kMostSamples = int64_t{1} << 48;  // whose sums and products do not overflow
    Expr elements = tensor::Cast(DType::kI64, Unary(ExprOp::kCeil, bin));
    Expr covered = Min(Max(elements, IntConstant(0)), IntConstant(kMostSamples));
    return {start, bin, given > 0 ? IntConstant(given) : nest_.Let(name + "_samples", covered), size};
  }

  // The samples of a bin that may lie in the image; others are 0, and there may be any number of them.
  Span NearImage(const std::string& name, const AlignedSide& side, const Expr& bin) {
    Expr base = side.start + Wide(bin) * side.bin;
    Expr step = nest_.Let(name + "_step", side.bin / Max(Wide(side.samples), K(1)));
    auto sample = [&](const Expr& place, int64_t margin) {
      Expr number = tensor::Cast(DType::kI64, (place - base) / step);
      Expr clamped = Min(Max(number, IntConstant(-margin)), side.samples);
      return Min(Max(clamped + IntConstant(margin), IntConstant(0)), side.samples);
    };
    bool is_bounded = node_.Int("samples") > 0;
    Expr first = is_bounded ? IntConstant(0) : nest_.Let(name + "_first", sample(K(-1), -2));
    Expr last = is_bounded ? side.samples : nest_.Let(name + "_last", sample(Wide(DimValue(side.size)), 2));
    return {first, last, And(Equal(first, IntConstant(0)), Equal(last, side.samples))};
  }

  Tap TapAt(const AlignedSide& side, const Expr& bin, const Expr& sample) {
    Expr within = (Wide(sample) + K(0.5)) * side.bin / Wide(side.samples);
    Expr y = nest_.Let("y", side.start + Wide(bin) * side.bin + within);
    Expr size = DimValue(side.size), last = size - IntConstant(1);
    Expr outside = Or(Less(y, K(-1)), Less(Wide(size), y));
    Expr low = nest_.Let("low", Min(tensor::Cast(DType::kI64, Max(y, K(0))), last));
    Expr weight = Select(Equal(low, last), K(0), Max(y, K(0)) - Wide(low));
    low = Max(low, IntConstant(0));
    return {nest_.Let("outside", outside), low, Min(low + IntConstant(1), last), nest_.Let("weight", weight)};
  }

  // A maximum is one over the weighted neighbours, as the specification's reference has it.
  Expr Interpolated(const Tap& y, const Tap& x, bool is_max) {
    Expr top = K(1) - y.weight, left = K(1) - x.weight;
    Expr parts[] = {top * left * At(y.low, x.low), top * x.weight * At(y.low, x.high),
                    y.weight * left * At(y.high, x.low), y.weight * x.weight * At(y.high, x.high)};
    Expr joined = parts[0];
    for (int i = 1; i < 4; ++i)
      joined = is_max ? Max(joined, parts[i]) : Fma(parts[i]->operands[0], parts[i]->operands[1], joined);
    return Select(Or(y.outside, x.outside), K(0), joined);
  }

  // Fields first and first + 2, rounded with halves away from 0, are the first and last element.
  PooledSide ReadPooled(const std::string& name, int64_t first) {
    auto rounded = [&](int64_t field) {
      Expr value = Scaled(field);
      Expr magnitude = Unary(ExprOp::kFloor, Unary(ExprOp::kAbs, value) + K(0.5));
      return Select(Less(value, K(0)), Unary(ExprOp::kNegate, magnitude), magnitude);
    };
    Expr start = nest_.Let(name + "_start", rounded(first));
    Expr extent = Max(rounded(first + 2) - start + K(1), K(1));
    return {start, nest_.Let(name + "_bin", extent / K(static_cast<double>(node_.Int(name))))};
  }

  static Expr Clamped(const Expr& a, const Dim& size) {
    return Max(Min(tensor::Cast(DType::kI64, a), DimValue(size)), IntConstant(0));
  }
  Expr EdgeOf(const PooledSide& side, const Expr& bin, const Dim& size, ExprOp round) const {
    return Clamped(Unary(round, Wide(bin) * side.bin) + side.start, size);
  }

  LoopContext& context_;
  const Node& node_;
  tensor::Nest nest_;
  const Type& x_;
  DType wide_;
  int64_t block_;  // channels
  int width_;
  Expr first_channel_, channels_, channel_, roi_, image_, row_, column_;
  uint32_t collected_ = 0;
};

Expected<tensor::StmtPtr> RoiAlignLoops(LoopContext& context) { return RoiLoops(context).BuildAlign(); }
Expected<tensor::StmtPtr> RoiPoolLoops(LoopContext& context) { return RoiLoops(context).BuildPool(); }

// Bins have as many samples as elements; where that is not given, regions are taken for parts of 4 x 4
// elements a bin.
std::vector<Work> RoiAlignWork(const WorkContext& context) {
  const int64_t given = context.node.Int("samples"), side = given > 0 ? std::min<int64_t>(given, 1 << 10) : 4;
  const Dim samples = ElementsOf(context.outputs[0]) * Dim(side * side);
  return {{samples * Dim(2 * kScalarStep),
           BytesOf(context.outputs[0]) + Min(BytesOf(context.inputs[0]), samples * Dim(16))}};
}

// Regions are taken for a quarter of their image.
std::vector<Work> RoiPoolWork(const WorkContext& context) {
  const Dims& x = context.inputs[0].dims;
  const Dim looked_at = context.outputs[0].dims[0] * x[1] * CeilDiv(x[2] * x[3], Dim(4));
  return {{(looked_at + ElementsOf(context.outputs[0])) * Dim(kScalarStep), BytesOnce(context)}};
}

void RequireAligned(const Function& function, const Node& node, Requirements* list) {
  const Dims &rois = function.type(node.inputs[1]).dims, &batch = function.type(node.inputs[2]).dims;
  RequireEqual(list, rois[1], 4, kFields);
  RequireEqual(list, batch[0], rois[0], "the number of numbers of images");
}

void RequirePooled(const Function& function, const Node& node, Requirements* list) {
  RequireEqual(list, function.type(node.inputs[1]).dims[1], 5, kFields);
}

constexpr CoreOp kRows[] = {
    {.name = "roi_align",
     .kind = OpKind::kProcedural,
     .min_inputs = 3,
     .max_inputs = 3,
     .infer = InferRoiAlign,
     .loops = RoiAlignLoops,
     .work = RoiAlignWork,
     .meaning = "regions of images, each divided into bins; mean or maximum of points interpolated in a bin",
     .attributes = "height width scale samples mode half_pixel",
     .requirements = RequireAligned},
    {.name = "roi_pool",
     .kind = OpKind::kProcedural,
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = InferRoiPool,
     .loops = RoiPoolLoops,
     .work = RoiPoolWork,
     .meaning = "regions of images, each divided into bins; the largest element of each bin",
     .attributes = "height width scale",
     .requirements = RequirePooled},
};

}  // namespace

std::span<const CoreOp> RoiFamily() { return kRows; }

}  // namespace tvmvm::ir
