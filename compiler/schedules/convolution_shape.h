// What a convolution node says, by name.
#pragma once

#include <set>
#include <vector>

#include "compiler/loops/nest.h"
#include "compiler/schedules/coded_panels.h"
#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

struct ConvolutionShape {
  bool channels_last = false;
  ir::Dim batch;
  ir::Dims batches;  // axes of the data that are the batch together: more than one where a window has one
                     // place along the axes behind the first
  int64_t groups = 1;
  ir::Dim channels, outputs;       // of one group
  ir::Dims input, output, kernel;  // spatial
  std::vector<int64_t> strides, dilations;
  ir::Dims low, high;  // padding before and behind each axis

  size_t axes() const { return kernel.size(); }
  // Every output reads one pixel, its own position times the stride.
  bool is_pointwise() const;
  bool has_unit_strides() const;
  // No tap along the axis lies in padding.
  bool is_unpadded(size_t axis) const { return low[axis].IsConstant(0) && high[axis].IsConstant(0); }
  bool is_unpadded() const {
    for (size_t axis = 0; axis < axes(); ++axis)
      if (!is_unpadded(axis)) return false;
    return true;
  }
  ir::Dim taps() const { return ir::Product(kernel); }
  void RemoveAxis(size_t axis);
  // The axes of channels_last data in front that have one tap, and nothing else, become a part of the batch.
  void MergeBatches();
  // Of weights whose outputs are axis `first`: the depth runs over taps, and over the channels of each.
  OperandAxes WeightAxes(int64_t first) const;
  // Position of the data's element (batch, spatial..., channel of all groups) in its buffer.
  Expr InputOffset(const Expr& batch_index, const std::vector<Expr>& position, const Expr& channel) const;
  // Position of a channel of pixel `number` of all pictures, whose planes are of these sizes.
  Expr OffsetOf(const Expr& number, const ir::Dim& channels_of_all, const ir::Dims& plane,
                const Expr& channel) const;
  // Coordinates of the result's element in the order of its axes.
  std::vector<Expr> OutputCoordinates(const Expr& batch_index, const std::vector<Expr>& position,
                                      const Expr& channel) const;
};

ConvolutionShape ShapeOf(const GroupView& group, const ir::Node& node);
// As words of a schedule's problem.
std::string WordsOf(const ConvolutionShape& shape);
// Sums of a few products of bytes are integers that f32 holds exactly.
bool SumsOfBytesAreExact(const ConvolutionShape& shape, DType data, DType weights);
// Such a sum, or one of floats, as an element of a result of type `result`.
Expr SumAs(DType result, const ConvolutionShape& shape, const Expr& sum);

// The weights as panels of codes, where they are constants that the group decodes.
std::optional<CodedPanels> CodedWeights(const GroupView& group, ir::NodeId anchor);

// The schedules of convolutions; each gives the whole program of the group.
Expected<GroupProgram> ScheduleImplicitProduct(const GroupView& group, const TargetInfo& target,
                                               ir::NodeId anchor);
// A call that writes the picture of channels_first data as channels_last, where `when` is not 0; gives the
// workspace that holds it.
Expected<uint32_t> AddArrangedPicture(const GroupView& group, const TargetInfo& target, ir::NodeId anchor,
                                      const ir::Dim& when, GroupProgram* program);
// Whether AddPlacedResults can follow: the data is channels_first, and the results stay in its order.
bool CanPlaceResults(const GroupView& group, ir::NodeId anchor);
// A call that takes the convolution's f32 results from a workspace that holds them as channels_last, and
// writes what becomes of them.
Status AddPlacedResults(const GroupView& group, const TargetInfo& target, ir::NodeId anchor,
                        uint32_t workspace, GroupProgram* program);
// A kernel of channels_first data whose weights are packed: calls like those of the implicit product.
Expected<std::set<int>> BuildPlanarConvolution(const GroupView& group, const TargetInfo& target,
                                               ir::NodeId anchor, const std::set<int>& wanted,
                                               LoopKernel* kernel, std::vector<KernelArgument>* arguments,
                                               KernelSchedule* made);
// What it takes for a group of a picture, in updates of a vector of 16 sums; the same of the implicit
// product, whose vectors run along channels.
ir::Dim CostOfPlanarConvolution(const GroupView& group, const TargetInfo& target, ir::NodeId anchor);
ir::Dim CostAlongChannels(const ConvolutionShape& shape);
// Of 3 x 3 taps, where the node's `tile` says so: passes/products/choose_winograd.cc.
bool TakesWinograd(const GroupView& group, ir::NodeId anchor);
// Whether taps that lie apart leave few of the tiles' results outside of the picture: at most so many percent
// are made of those that there are.
inline constexpr int64_t kMostMadeByWinograd = 130;
ir::Dim FillsWinogradTiles(const GroupView& group, ir::NodeId anchor);
Expected<GroupProgram> ScheduleWinograd(const GroupView& group, const TargetInfo& target, ir::NodeId anchor);
bool TakesDepthwise(const GroupView& group, ir::NodeId anchor);
Expected<GroupProgram> ScheduleDepthwise(const GroupView& group, const TargetInfo& target, ir::NodeId anchor);
// The weights, which are a constant, as panels of 16 outputs.
Status PackDepthwise(const GroupView& group, ir::NodeId anchor, GroupProgram* program);

// The same of channels_first data, be the weights constant or not.
bool TakesPlanarDepthwise(const GroupView& group, ir::NodeId anchor);
Expected<GroupProgram> SchedulePlanarDepthwise(const GroupView& group, const TargetInfo& target,
                                               ir::NodeId anchor);

}  // namespace tvmvm::tensor
