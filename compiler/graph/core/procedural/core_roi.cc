// Pools over regions of images that data tells: x [N, C, H, W], or [N, H, W, C] where `layout` says so. A
// block of channels of one region a grid point: where the samples lie is the same for all channels. On GPUs a
// work-item takes a row of bins of one channel; where these are large, which data tells, too, a work-group
// shares the samples of each.
//
//   roi_align(x, rois [R, 4], batch [R])
//       {mode "avg" or "max", height, width, samples, scale, half_pixel, layout}
//   roi_pool(x, rois [R, 5]) {height, width, scale, layout}: the first of the five is the image's number
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/procedural/loop_access.h"
#include "compiler/graph/requirements.h"
#include "compiler/loops/lanes.h"
#include "compiler/loops/work_group.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Store;
using tensor::Variable;

constexpr const char* kFields = "the number of fields of a region";

struct Picture {
  Dim count, channels, height, width;
};

Picture PictureOf(const Node& node, const Dims& x) {
  if (node.LayoutOf("layout") == Layout::kChannelsLast) return {x[0], x[3], x[1], x[2]};
  return {x[0], x[1], x[2], x[3]};
}

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
  return One(x.dtype, {rois.dims[0], PictureOf(context.node, x.dims).channels, Dim(height), Dim(width)});
}

Expected<std::vector<Type>> InferRoiAlign(const InferContext& context) {
  TVMVM_TRY(Type batch, RankedTensor(context, 2));
  if (batch.rank() != 1 || !IsInteger(batch.dtype))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("numbers of images are {}, wanted a list of integers", batch.ToString()));
  return InferRois(context, 4);
}

Expected<std::vector<Type>> InferRoiPool(const InferContext& context) { return InferRois(context, 5); }

constexpr int64_t kMostByItem = 8192;  // samples that one work-item of a GPU takes

// What a grid point takes.
enum class RoiPart : uint8_t {
  kBlock,  // channels of a region, on CPUs
  kRow,    // a row of bins of one channel, by one work-item, unless they have many samples
  kLarge,  // channels of a region whose rows have, by a work-group
};

// What both pools share: the grid, the loops over the places of the result, the value that collects.
class RoiLoops {
 public:
  RoiLoops(LoopContext& context, RoiPart part)
      : context_(context),
        node_(context.node()),
        part_(part),
        nest_(&context.kernel()),
        x_(context.input_type(0)),
        picture_(PictureOf(node_, x_.dims)),
        wide_(x_.dtype == DType::kF64 ? DType::kF64 : DType::kF32),
        block_(part == RoiPart::kBlock ? kChannels : 1),
        width_(LanesOf(context.target(), wide_)),
        rows_(node_.Int("height")),
        columns_(node_.Int("width")) {
    const Dim &channels = picture_.channels, &regions = context.output_type(0).dims[0];
    if (part == RoiPart::kRow) {
      row_ = Variable(nest_.Grid(0, "row", Dim(rows_)));
      first_channel_ = Variable(nest_.Grid(1, "channel", channels));
      roi_ = Variable(nest_.Grid(2, "roi", regions));
      channels_ = IntConstant(1);
      return;
    }
    const int64_t block = part == RoiPart::kBlock ? kChannels : kLargeChannels;
    Expr first = Variable(nest_.Grid(0, "channels", CeilDiv(channels, Dim(block)))) * IntConstant(block);
    roi_ = Variable(nest_.Grid(1, "roi", regions));
    first_channel_ = nest_.Let("first", first);
    channels_ = nest_.Let("count", Min(IntConstant(block), DimValue(channels) - first_channel_));
    if (part == RoiPart::kLarge) group_.emplace(&nest_, kLargeRows * kLargeColumns);
  }

  tensor::StmtPtr BuildAlign() {
    Expr number[] = {roi_};
    image_ = nest_.Let("image", WrapIndex(context_.Load(2, number), picture_.count));
    AlignedSide vertical = ReadAligned("height", 1, picture_.height);
    AlignedSide horizontal = ReadAligned("width", 0, picture_.width);
    bool is_max = node_.String("mode") == "max";
    OpenPlaces(is_max ? ExprOp::kMax : ExprOp::kAdd, [&] {
      auto few = [](const Expr& samples) { return Min(samples, IntConstant(kMostSide)); };
      return few(vertical.samples) * few(horizontal.samples);
    });
    Span rows = NearImage("row", vertical, row_), columns = NearImage("column", horizontal, column_);
    nest_.OpenIf(Less(IntConstant(0), DimValue(Product(x_.dims))));
    Expr i = OpenRows(rows.first, rows.last);
    Tap y = TapAt(vertical, row_, i);
    Expr j = OpenColumns(columns.first, columns.last);
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
    image_ = nest_.Let("image", WrapIndex(tensor::Cast(DType::kI64, Field(0)), picture_.count));
    PooledSide vertical = ReadPooled("height", 2);
    PooledSide horizontal = ReadPooled("width", 1);
    OpenPlaces(ExprOp::kMax, [&] {
      auto most = [&](const PooledSide& side, const Dim& size) {
        Expr covered = tensor::Cast(DType::kI64, Min(Unary(ExprOp::kCeil, side.bin), K(kMostSide)));
        return Max(Min(covered + IntConstant(1), DimValue(size)), IntConstant(0));
      };
      return most(vertical, picture_.height) * most(horizontal, picture_.width);
    });
    nest_.OpenIf(Less(IntConstant(0), DimValue(picture_.count)));
    Expr top = nest_.Let("top", EdgeOf(vertical, row_, picture_.height, ExprOp::kFloor));
    Expr bottom =
        nest_.Let("bottom", EdgeOf(vertical, row_ + IntConstant(1), picture_.height, ExprOp::kCeil));
    Expr left = nest_.Let("left", EdgeOf(horizontal, column_, picture_.width, ExprOp::kFloor));
    Expr right =
        nest_.Let("right", EdgeOf(horizontal, column_ + IntConstant(1), picture_.width, ExprOp::kCeil));
    Expr i = OpenRows(top, bottom);
    Expr j = OpenColumns(left, right);
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
  static constexpr int64_t kChannels = 64;                  // of a grid point
  static constexpr int64_t kLargeChannels = 4;              // the same of large bins, one after the other
  static constexpr int kLargeRows = 8, kLargeColumns = 32;  // of work-items, side by side in a bin
  static constexpr int64_t kMostSide = int64_t{1} << 20;    // samples; with more all the same are many

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
    if (node_.LayoutOf("layout") == Layout::kChannelsLast) {
      Expr index[] = {image_, row, column, first_channel_ + channel_};
      return Wide(context_.Load(0, index));
    }
    // What differs between channels comes last: the rest is known outside of the loop over them.
    Expr plane = (first_channel_ + channel_) * DimValue(picture_.height * picture_.width);
    Expr index[] = {image_, IntConstant(0), row, column + plane};
    return Wide(context_.Load(0, index));
  }

  // Up to each place of the result that is this kernel's. `samples`: about how many a bin has.
  void OpenPlaces(ExprOp combine, const std::function<Expr()>& samples) {
    const double initial = combine == ExprOp::kMax ? -std::numeric_limits<double>::infinity() : 0;
    if (group_) prefix_ = group_->NewPrefix(wide_, combine, K(initial));
    if (part_ != RoiPart::kBlock) {
      const Expr are_many = Less(IntConstant(kMostByItem), samples() * IntConstant(columns_));
      nest_.OpenIf(part_ == RoiPart::kLarge ? are_many : Unary(ExprOp::kNot, are_many));
    }
    if (part_ == RoiPart::kLarge) {
      Expr number = Variable(nest_.Open("number", IntConstant(0), channels_));
      first_channel_ = nest_.Let("channel", first_channel_ + number);
      channels_ = IntConstant(1);
    }
    if (part_ != RoiPart::kRow) row_ = Variable(nest_.Open("row", IntConstant(0), IntConstant(rows_)));
    column_ = Variable(nest_.Open("column", IntConstant(0), IntConstant(columns_)));
    collected_ = nest_.Local("collected", wide_, tensor::Memory::kLocal, block_);
    ForChannels([&] { Collect(K(initial)); });
  }

  // What an item takes of a bin.
  Expr OpenRows(const Expr& first, const Expr& last) {
    if (!group_) return Variable(nest_.Open("i", first, last));
    Expr own = FloorDiv(group_->item(), IntConstant(kLargeColumns));
    return Variable(nest_.Open("i", first + own, last, tensor::LoopKind::kSerial, kLargeRows));
  }
  Expr OpenColumns(const Expr& first, const Expr& last) {
    if (!group_) return Variable(nest_.Open("j", first, last));
    Expr own = FloorMod(group_->item(), IntConstant(kLargeColumns));
    return Variable(nest_.Open("j", first + own, last, tensor::LoopKind::kSerial, kLargeColumns));
  }

  // `result`: what becomes of what was collected.
  tensor::StmtPtr ClosePlaces(const std::function<Expr(const Expr&)>& result) {
    if (group_) {
      channel_ = IntConstant(0);
      Expr all = group_->PrefixOf(prefix_, Collected()).all;
      group_->OpenFirst();
      StoreResult(result(all));
      nest_.Close();
      group_->Barrier();
      return nest_.Finish();
    }
    ForChannels([&] { StoreResult(result(Collected())); });
    return nest_.Finish();
  }
  void StoreResult(const Expr& value) {
    Expr index[] = {roi_, first_channel_ + channel_, row_, column_};
    nest_.Add(context_.Store(0, index, tensor::Cast(x_.dtype, nest_.Place(value))));
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
  const RoiPart part_;
  tensor::Nest nest_;
  const Type& x_;
  const Picture picture_;
  DType wide_;
  int64_t block_;  // channels
  int width_;
  int64_t rows_, columns_;  // of the result
  std::optional<tensor::WorkGroup> group_;
  tensor::WorkGroup::Prefix prefix_;
  Expr first_channel_, channels_, channel_, roi_, image_, row_, column_;
  uint32_t collected_ = 0;
};

// Whether rows of bins may have few samples, or many, as far as the node tells.
Dim MayBeFew(const Node& node) {
  const int64_t given = std::min<int64_t>(node.Int("samples"), kMostByItem);
  return Dim(given <= 0 || given * given <= kMostByItem / node.Int("width") ? 1 : 0);
}
Dim MayBeMany(const Node& node) { return node.Int("samples") <= 0 ? Dim(1) : Not(MayBeFew(node)); }

// One kernel on CPUs; two on GPUs, each of which leaves the other's regions.
Expected<tensor::StmtPtr> RoiKernels(LoopContext& context, tensor::StmtPtr (RoiLoops::*build)(),
                                     const Dim& few, const Dim& many) {
  const bool is_gpu = IsGpu(context.target());
  const Dim is_first = is_gpu ? few : 1, is_second = is_gpu ? many : 0;
  auto add = [&](const Dim& when, RoiPart part) {
    context.LaunchWhere(when);
    return when.IsConstant(0) ? tensor::Block({}) : (RoiLoops(context, part).*build)();
  };
  context.EndKernel(add(is_first, is_gpu ? RoiPart::kRow : RoiPart::kBlock));
  return add(is_second, RoiPart::kLarge);
}

Expected<tensor::StmtPtr> RoiAlignLoops(LoopContext& context) {
  const Node& node = context.node();
  return RoiKernels(context, &RoiLoops::BuildAlign, MayBeFew(node), MayBeMany(node));
}
Expected<tensor::StmtPtr> RoiPoolLoops(LoopContext& context) {
  return RoiKernels(context, &RoiLoops::BuildPool, 1, 1);
}

// Of the kernel for large bins, where the other one has the work that is expected: it looks at all regions.
Work LookAtRegions(const WorkContext& context) {
  const Dims& result = context.outputs[0].dims;
  return {result[0] * result[1] * Dim(kScalarStep), result[0] * Dim(64)};
}

// Bins have as many samples as elements; where that is not given, regions are taken for parts of 4 x 4
// elements a bin.
std::vector<Work> RoiAlignWork(const WorkContext& context) {
  const int64_t given = context.node.Int("samples"), side = given > 0 ? std::min<int64_t>(given, 1 << 10) : 4;
  const Dim samples = ElementsOf(context.outputs[0]) * Dim(side * side);
  const Work all{samples * Dim(2 * kScalarStep),
                 BytesOf(context.outputs[0]) + Min(BytesOf(context.inputs[0]), samples * Dim(16))};
  return {all, given > 0 ? all : LookAtRegions(context)};
}

// Regions are taken for a quarter of their image.
std::vector<Work> RoiPoolWork(const WorkContext& context) {
  const Picture x = PictureOf(context.node, context.inputs[0].dims);
  const Dim looked_at = context.outputs[0].dims[0] * x.channels * CeilDiv(x.height * x.width, Dim(4));
  return {{(looked_at + ElementsOf(context.outputs[0])) * Dim(kScalarStep), BytesOnce(context)},
          LookAtRegions(context)};
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
     .attributes = "height width scale samples mode half_pixel layout",
     .traits = {.reorder = Reorder::kLayout, .data_inputs = 1},
     .requirements = RequireAligned},
    {.name = "roi_pool",
     .kind = OpKind::kProcedural,
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = InferRoiPool,
     .loops = RoiPoolLoops,
     .work = RoiPoolWork,
     .meaning = "regions of images, each divided into bins; the largest element of each bin",
     .attributes = "height width scale layout",
     .traits = {.reorder = Reorder::kLayout, .data_inputs = 1},
     .requirements = RequirePooled},
};

}  // namespace

std::span<const CoreOp> RoiFamily() { return kRows; }

}  // namespace tvmvm::ir
