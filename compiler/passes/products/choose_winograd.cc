// Convolutions of 3 x 3 taps, those of planes among them, that are made with fewer multiplications
// (schedules/cpu/windows/schedule_winograd.cc) are marked by the attribute `tile`: results along an axis that are
// made together.
//
// It runs when weights are as convolutions read them. With tiles of 2, sums are a ninth as long as those of
// products that are added up, and errors were measured to be 0.6 times as large (64 to 512 channels, normal
// numbers); with tiles of 4, 4 to 6 times.

#include <algorithm>

#include "compiler/graph/core_op.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Dim;
using ir::Function;
using ir::Node;

constexpr int64_t kTile = 2, kTaps = 3;
// Fewer channels do not pay for what is turned; others would leave a part of vectors empty.
constexpr int64_t kFewestChannels = 32, kVector = 16;
// Fewer pixels leave too little to multiply for weights that take more memory.
constexpr int64_t kFewestPixels = 25;

// Taps that lie far apart leave tiles half empty, unless the picture is known to fill them: at most so many
// results are made for each that there is.
constexpr int64_t kFurthestApart = 4;
constexpr double kMostMade = 1.3;

bool FillsTiles(const Function& function, const Node& node, const std::vector<int64_t>& dilations) {
  const ir::Dims& result = function.type(node.outputs[0]).dims;
  const size_t first = node.LayoutOf("layout") == ir::Layout::kChannelsLast ? 1 : 2;
  double made = 1;
  for (size_t axis = 0; axis < dilations.size(); ++axis) {
    const Dim& size = result[first + axis];
    if (!size.is_constant()) {
      if (dilations[axis] > kFurthestApart) return false;
      continue;
    }
    const int64_t reach = kTile * dilations[axis];
    made *=
        static_cast<double>((size.value() + reach - 1) / reach * reach) / static_cast<double>(size.value());
  }
  return made <= kMostMade;
}

bool IsOne(const std::vector<int64_t>& list) {
  return std::all_of(list.begin(), list.end(), [](int64_t step) { return step == 1; });
}

// Axes that have one tap and nothing else, in front of those of the picture: channels_last data is a batch of
// pictures then. Of the others at most one may stand before the picture: that of its planes.
bool ConvolvesPictures(const Node& node, const std::vector<int64_t>& weights) {
  if (weights.size() < 4) return false;
  const bool merges = node.LayoutOf("layout") == ir::Layout::kChannelsLast;
  size_t axis = 0;
  while (axis + 4 < weights.size() && merges && weights[2 + axis] == 1 &&
         node.DimList("low")[axis].IsConstant(0) && node.DimList("high")[axis].IsConstant(0))
    ++axis;
  return axis + 5 >= weights.size();
}

bool Suits(const Function& function, const Node& node) {
  if (node.op == nullptr || node.op->kind != ir::OpKind::kConvolution || node.Int("groups", 1) != 1)
    return false;
  const ir::TensorData* weights = function.ConstantOf(node.inputs[1]);
  if (weights == nullptr || weights->dtype != DType::kF32 || !ConvolvesPictures(node, weights->dims))
    return false;
  if (function.type(node.inputs[0]).dtype != DType::kF32 ||
      function.type(node.outputs[0]).dtype != DType::kF32)
    return false;
  if (node.LayoutOf("weights") == ir::Layout::kChannelsLast) return false;
  const std::vector<int64_t>& dims = weights->dims;
  for (int64_t channels : {dims[0], dims[1]})
    if (channels < kFewestChannels || channels % kVector != 0) return false;
  if (dims[dims.size() - 2] != kTaps || dims.back() != kTaps) return false;
  if (!IsOne(node.Ints("strides"))) return false;
  const ir::Dims& result = function.type(node.outputs[0]).dims;
  const Dim pixels = ir::Product(result);
  const std::vector<int64_t> dilations = node.Ints("dilations");
  if (!IsOne(dilations) && (dims.size() > 4 || !FillsTiles(function, node, dilations))) return false;
  return !pixels.is_constant() || pixels.value() / dims[0] >= kFewestPixels;
}

}  // namespace

Status ChooseWinograd(ir::Module& module, const PassContext&) {
  for (Function& function : module.functions)
    for (Node& node : function.nodes)
      if (Suits(function, node)) node.attributes["tile"] = kTile;
  return {};
}

}  // namespace tvmvm::passes
