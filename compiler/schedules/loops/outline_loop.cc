#include "compiler/schedules/loops/outline_loop.h"

#include "compiler/graph/control.h"
#include "compiler/schedules/loops/describe_loop.h"

namespace tvmvm::lowering {
namespace {

// From so much work on, the kernels of a step are worth threads of their own.
constexpr int64_t kMostFlops = 2'000'000;

// What a symbolic size is taken for.
constexpr int64_t kAssumedSize = 32;

bool IsSmall(const ir::Dim& flops) {
  auto assume = [](const ir::SymbolId&) { return std::optional<int64_t>(kAssumedSize); };
  return ir::Evaluate(flops, assume).value_or(INT64_MAX) <= kMostFlops;
}

}  // namespace

std::optional<OutlinedLoop> OutlineLoop(const ir::Function& function, ir::NodeId loop, const Views& views,
                                        const ir::RangeLookup& ranges, const std::vector<TargetInfo>& targets,
                                        tensor::ScheduleCache* schedules) {
  OutlinedLoop outlined;
  for (const TargetInfo& target : targets) {
    ++schedules->counters().loops_described;
    LoopDescriber describer(function, loop, views, ranges, target, schedules);
    if (!describer.Run()) return std::nullopt;
    const tensor::LoopBody& body = describer.body();
    Expected<tensor::LoopKernel> kernel = tensor::OutlineLoop(body);
    if (!kernel || !IsSmall(kernel->flops)) return std::nullopt;
    if (!tensor::VerifyLoops(*kernel)) return std::nullopt;
    if (outlined.kernels.empty()) {
      outlined.arguments = describer.arguments();
      outlined.packed = std::move(describer.packed());
      outlined.bytes = describer.bytes();
      outlined.facts = describer.facts();
      outlined.begin = body.begin;
      outlined.end = body.end;
      outlined.state_elements = body.has_state() ? body.state_elements() : 0;
      outlined.decides = !body.go_on.IsConstant(1);
    } else if (describer.arguments() != outlined.arguments) {
      return std::nullopt;
    }
    outlined.kernels.push_back(std::move(*kernel));
  }
  return outlined;
}

}  // namespace tvmvm::lowering
