// Depthwise convolutions of channels_first data whose rows are short, with vectors along channels.
#pragma once

#include "compiler/schedules/cpu/cpu_schedules.h"
#include "compiler/schedules/cpu/windows/planar_blocks.h"

namespace tvmvm::tensor {

// Whether it can be; of groups that TakesPlanarDepthwise takes.
bool TakesTurnedDepthwise(const GroupView& group, ir::NodeId anchor);
// What it takes for 16 channels of a picture, in updates of a vector of 16 sums; `shape` has no unit axes.
ir::Dim CostOfTurnedDepthwise(const PlanarShape& shape);
// Adds the call, which is launched where `when` is not 0, and what it packs.
Status AddTurnedDepthwise(const GroupView& group, const TargetInfo& target, const TurnedSchedule& schedule,
                          ir::NodeId anchor, const ir::Dim& when, GroupProgram* program);

}  // namespace tvmvm::tensor
