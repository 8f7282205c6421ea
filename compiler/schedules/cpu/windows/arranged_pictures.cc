// Pictures brought from the order of channels_first data into that of channels_last, and results back. Lines
// of many channels that lie a power of two apart meet in one set of a cache: so whole lines are written.
#include <functional>
#include <utility>

#include "compiler/expr/unflatten.h"
#include "compiler/schedules/convolution_shape.h"
#include "compiler/schedules/cpu/tiles/transposed_tiles.h"
#include "compiler/schedules/product_group.h"

namespace tvmvm::tensor {
namespace {

// Pixels that one grid point puts in order.
constexpr int64_t kArrangedPixels = 64;

// Grid points of so many pixels of one picture.
struct PixelBlock {
  Expr batch, first, end;
  // What tiles run along: any pixel of the block, any channel.
  VariableId pixel = 0, channel = 0;
};
PixelBlock OpenPixels(Nest& nest, const ir::Dim& batch, const ir::Dim& pixels) {
  PixelBlock block;
  const Expr number = Variable(nest.Grid(0, "block", CeilDiv(pixels, kArrangedPixels)));
  nest.Grid(1, "unused", 1);
  block.batch = Variable(nest.Grid(2, "n", batch));
  block.first = nest.Let("first", number * IntConstant(kArrangedPixels));
  block.end = nest.Let("end", Min(block.first + IntConstant(kArrangedPixels), DimValue(pixels)));
  block.pixel = nest.kernel()->NewVariable("pixel");
  block.channel = nest.kernel()->NewVariable("channel");
  return block;
}

}  // namespace

Expected<uint32_t> AddArrangedPicture(const GroupView& group, const TargetInfo& target, ir::NodeId anchor,
                                      const ir::Dim& when, GroupProgram* program) {
  const ir::Node& node = group.function().node(anchor);
  const ConvolutionShape shape = ShapeOf(group, node);
  const DType dtype = group.type(node.inputs[0]).dtype;
  const ir::Dim channels = shape.channels * shape.groups, pixels = ir::Product(shape.input);
  const auto workspace = static_cast<uint32_t>(program->workspaces.size());
  program->workspaces.push_back({dtype, when * shape.batch * pixels * channels});
  auto build = [&](const std::set<int>& wanted, LoopKernel* kernel,
                   std::vector<KernelArgument>* arguments) -> Expected<std::set<int>> {
    kernel->name = "arrange";
    InputReader reader(group, wanted, kernel);
    const uint32_t to = kernel->AddArgument("arranged", dtype, Access::kWrite);
    if (arguments != nullptr) {
      *arguments = reader.arguments();
      arguments->push_back({ArgumentKind::kWorkspace, workspace});
    }
    Nest nest(kernel);
    const PixelBlock block = OpenPixels(nest, shape.batch, pixels);
    const Expr p = Variable(block.pixel), c = Variable(block.channel);
    const Expr from = (block.batch * DimValue(channels) + c) * DimValue(pixels) + p;
    const Expr element = reader.AtFlat(reader.InputOf(node.inputs[0]), dtype, from);
    const Expr place = (block.batch * DimValue(pixels) + p) * DimValue(channels) + c;
    const TransposedTiles tiles{block.channel, block.pixel, channels, pixels, {element}, true, false};
    StoreTransposedTiles(nest, tiles, {IntConstant(0), DimValue(channels), block.first, block.end},
                         std::span(&element, 1), std::span(&place, 1), std::span(&to, 1), {}, target);
    kernel->bytes = shape.batch * pixels * channels * (2 * DTypeBits(dtype) / 8);
    kernel->body = nest.Finish();
    return reader.touched();
  };
  TVMVM_CHECK_OK(AddCall(when, build, program));
  return workspace;
}

bool CanPlaceResults(const GroupView& group, ir::NodeId anchor) {
  if (ShapeOf(group, group.function().node(anchor)).channels_last) return false;
  const auto results = ProductResults::Find(group, anchor);
  return results && results->KeepOrder() && std::ranges::all_of(group.outputs(), [&](ir::ValueId output) {
           return group.type(output).dtype == DType::kF32;
         });
}

Status AddPlacedResults(const GroupView& group, const TargetInfo& target, ir::NodeId anchor,
                        uint32_t workspace, GroupProgram* program) {
  const ConvolutionShape shape = ShapeOf(group, group.function().node(anchor));
  const ir::Dim channels = shape.outputs * shape.groups, pixels = ir::Product(shape.output);
  auto build = [&](const std::set<int>& wanted, LoopKernel* kernel,
                   std::vector<KernelArgument>* arguments) -> Expected<std::set<int>> {
    kernel->name = "place";
    InputReader reader(group, wanted, kernel);
    std::vector<KernelArgument> list = reader.arguments();
    const uint32_t results = kernel->AddArgument("results", DType::kF32, Access::kRead);
    list.push_back({ArgumentKind::kWorkspace, workspace});
    const std::vector<uint32_t> outputs = AddOutputs(group, kernel, &list);
    if (arguments != nullptr) *arguments = std::move(list);
    Nest nest(kernel);
    const PixelBlock block = OpenPixels(nest, shape.batch, pixels);
    const Expr p = Variable(block.pixel), c = Variable(block.channel);
    const Expr element =
        Load(results, DType::kF32, (block.batch * DimValue(pixels) + p) * DimValue(channels) + c);
    const ProductResults::Position position{
        shape.OutputCoordinates(block.batch, Unflatten(p, shape.output), c),
        (block.batch * DimValue(channels) + c) * DimValue(pixels) + p};
    TVMVM_TRY(auto elements,
              ProductResults::Find(group, anchor)->Elements(position, element, reader, kernel));
    std::vector<Expr> roots, places;
    for (ProductResults::Element& of_output : elements) {
      roots.push_back(std::move(of_output.value));
      places.push_back(position.flat);
    }
    const bool is_all = std::ranges::all_of(roots, [&](const Expr& root) { return Same(root, element); });
    const TransposedTiles tiles{block.pixel, block.channel, pixels, channels, {element}, is_all, false};
    StoreTransposedTiles(nest, tiles, {block.first, block.end, IntConstant(0), DimValue(channels)}, roots,
                         places, outputs, {}, target);
    kernel->bytes = shape.batch * pixels * channels * static_cast<int64_t>(4 + 4 * outputs.size());
    kernel->body = nest.Finish();
    return reader.touched();
  };
  return AddCall(1, build, program);
}

}  // namespace tvmvm::tensor
