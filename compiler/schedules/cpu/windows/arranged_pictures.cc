// Pictures brought from the order of channels_first data into that of channels_last.
#include "compiler/schedules/convolution_shape.h"
#include "compiler/schedules/cpu/tiles/transposed_tiles.h"
#include "compiler/schedules/product_group.h"

namespace tvmvm::tensor {
namespace {

// Pixels that one grid point puts in order.
constexpr int64_t kArrangedPixels = 64;

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
    Expr block = Variable(nest.Grid(0, "block", CeilDiv(pixels, kArrangedPixels)));
    nest.Grid(1, "unused", 1);
    Expr batch = Variable(nest.Grid(2, "n", shape.batch));
    Expr first = nest.Let("first", block * IntConstant(kArrangedPixels));
    Expr end = nest.Let("end", Min(first + IntConstant(kArrangedPixels), DimValue(pixels)));
    const VariableId pixel = kernel->NewVariable("pixel"), channel = kernel->NewVariable("channel");
    const Expr p = Variable(pixel), c = Variable(channel);
    const Expr from = (batch * DimValue(channels) + c) * DimValue(pixels) + p;
    const Expr element = reader.AtFlat(reader.InputOf(node.inputs[0]), dtype, from);
    const Expr place = (batch * DimValue(pixels) + p) * DimValue(channels) + c;
    const TransposedTiles tiles{channel, pixel, channels, pixels, {element}, true, false};
    StoreTransposedTiles(nest, tiles, {IntConstant(0), DimValue(channels), first, end},
                         std::span(&element, 1), std::span(&place, 1), std::span(&to, 1), {}, target);
    kernel->bytes = shape.batch * pixels * channels * (2 * DTypeBits(dtype) / 8);
    kernel->body = nest.Finish();
    return reader.touched();
  };
  TVMVM_CHECK_OK(AddCall(when, build, program));
  return workspace;
}

}  // namespace tvmvm::tensor
