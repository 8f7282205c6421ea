#include "compiler/pipeline.h"

#include <algorithm>
#include <chrono>

#include "compiler/graph/printer.h"
#include "compiler/graph/verifier.h"
#include "fmt/format.h"

namespace tvmvm {
namespace {

using passes::Pass;
using passes::PassStage;

constexpr Pass kPipeline[] = {
    {"widen-halves", "what is computed of 16-bit floats stays f32 on the way", passes::WidenHalves, true},
    {"compute-in-integers", "products of quantized numbers become products of bytes",
     passes::ComputeInIntegers, true},
    {"narrow-weights", "products read weights as codes or halves where the model has them so",
     passes::NarrowWeights, true},
    {"fold-constants", "compute what depends on constants only", passes::FoldConstants},
    {"resolve-symbols", "symbols that are read from constants become numbers", passes::ResolveSymbols},
    {"simplify-control", "take known branches, drop what loops carry for nothing", passes::SimplifyControl,
     true},
    {"eliminate-common", "compute equal nodes once", passes::EliminateCommon, true},
    {"eliminate-dead", "drop what nobody uses", passes::EliminateDead},
    {"hoist-invariants", "compute before a loop what does not change in it", passes::HoistInvariants, true},
    {"share-repeated", "products read operands that are repeated for several batches where they lie",
     passes::ShareRepeated, true},
    {"rewrite-algebra", "scales into weights, transposes into contractions, powers into products",
     passes::RewriteAlgebra, true},
    {"fold-divisors", "where quantized sums are quantized again, one scale is left", passes::FoldDivisors,
     true},
    {"plain-products", "products that multiply no matrices become elementwise", passes::RewritePlainProducts,
     true},
    {"hoist-contractions", "one product before a loop instead of one in each step", passes::HoistContractions,
     true},
    {"choose-layout", "convolutions and what lies between them on channels_last data", passes::ChooseLayout,
     true},
    {"fold-weights", "compute what the rewrites left constant", passes::FoldWeights, true},
    {"quantize-weights", "with --weights: large constant weights become codes with scales",
     passes::QuantizeWeights},
    {"split-depth", "products with few columns and a long depth become sums of several", passes::SplitDepth,
     true},
    {"choose-winograd", "3 x 3 convolutions with fewer multiplications", passes::ChooseWinograd, true},
    {"materialize-dims", "shape arithmetic becomes scalars", passes::MaterializeDims},
    {"clean-up", "drop what the rewrites left over", passes::EliminateDead},
    {"narrow-products", "with --precision fp16: factors of products are kept as f16", passes::NarrowProducts,
     false, PassStage::kDevice},
    {"split-windows", "windows along one axis after the other", passes::SplitWindows, true,
     PassStage::kDevice},
    {"split-concats", "concats of many tensors become concats of few", passes::SplitConcats, true,
     PassStage::kDevice},
    {"update-in-place", "change what loops carry where it lies", passes::UpdateInPlace, true,
     PassStage::kDevice},
    {"fuse-groups", "decide what runs as one unit", passes::FuseGroups, true, PassStage::kDevice},
    {"drop-fused", "drop what was copied into groups", passes::EliminateDead, false, PassStage::kDevice},
    {"outline-loops", "let small loops run as one kernel each", passes::OutlineLoops, true,
     PassStage::kDevice},
    {"poll-loops", "loops on a GPU look once in several steps whether they go on", passes::PollLoops, true,
     PassStage::kPlaced},
};

double MillisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

#ifdef NDEBUG
constexpr bool kIsDebug = false;
#else
constexpr bool kIsDebug = true;
#endif

bool Wanted(const std::vector<std::string>& names, std::string_view stage) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name == stage || name == "all"; });
}

}  // namespace

std::span<const Pass> PassPipeline() { return kPipeline; }

Status PassRunner::After(std::string_view stage, const ir::Module& module, bool* stopped) {
  if (Wanted(options->print_after, stage) && options->print)
    options->print(fmt::format("// after {}\n{}", stage, ir::PrintModule(module)));
  if (kIsDebug || options->verify_passes)
    if (Status verified = ir::VerifyModule(module); !verified)
      return MakeError(Code::kInternal, fmt::format("after {}: {}", stage, verified.error().message));
  *stopped = options->stop_after == stage;
  return {};
}

Status PassRunner::Run(PassStage stage, ir::Module& module, bool* stopped) {
  double done = 0;
  for (const Pass& pass : kPipeline) {
    if (pass.stage != stage) {
      ++done;
      continue;
    }
    if (options->progress) options->progress(std::string(pass.name), done++ / std::size(kPipeline));
    auto start = std::chrono::steady_clock::now();
    if (pass.optional && Wanted(options->disabled_passes, pass.name)) continue;
    TVMVM_CHECK_OK(pass.run(module, context));
    milliseconds.emplace_back(pass.name, MillisecondsSince(start));
    for (const ir::Function& function : module.functions)
      if (counters != nullptr) counters->pass_nodes += static_cast<int64_t>(function.nodes.size());
    TVMVM_CHECK_OK(After(pass.name, module, stopped));
    if (*stopped) return {};
  }
  return {};
}

}  // namespace tvmvm
