#include "compiler/lowering/outline_loop.h"

#include "compiler/ir/control.h"
#include "compiler/lowering/describe_loop.h"

namespace tvmvm::lowering {
namespace {

// From so much work on, the kernels of a step are worth threads of their own.
constexpr int64_t kMostFlops = 2'000'000;

// With every symbol 1: a step's work where it is least.
int64_t LeastWork(const ir::Dim& dim) {
  return ir::Evaluate(dim, [](const std::string&) { return std::optional<int64_t>(1); }).value_or(0);
}

}  // namespace

std::optional<OutlinedLoop> OutlineLoop(const ir::Function& function, ir::NodeId loop, const Views& views,
                                        const ir::RangeLookup& ranges,
                                        const std::vector<TargetInfo>& targets) {
  OutlinedLoop outlined;
  for (const TargetInfo& target : targets) {
    LoopDescriber describer(function, loop, views, ranges, target);
    if (!describer.Run()) return std::nullopt;
    const tensor::LoopBody& body = describer.body();
    Expected<tensor::LoopKernel> kernel = tensor::OutlineLoop(body);
    if (!kernel || LeastWork(kernel->flops) > kMostFlops) return std::nullopt;
    if (!tensor::VerifyLoops(*kernel)) return std::nullopt;
    if (outlined.kernels.empty()) {
      outlined.arguments = describer.arguments();
      outlined.packed = std::move(describer.packed());
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
