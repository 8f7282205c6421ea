// What a new shape costs in planning, and how good the plans are: plan_bench FILE.vmexe NAME=N...
// For each stage: values, microseconds of a plan (the best of many), peak over the lower bound. At the end
// how long a forecast of the whole program takes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "allocator/planner.h"
#include "bytecode/encoding.h"
#include "tvm-vm/forecast.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::bench {
namespace {

template <class Work>
double BestMicroseconds(const Work& work) {
  using Clock = std::chrono::steady_clock;
  double best = 1e12;
  for (int i = 0; i < 300; ++i) {
    const Clock::time_point begin = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return best;
}

int Main(int argc, char** argv) {
  const auto program = LoadProgram(argc > 1 ? argv[1] : "");
  if (!program) return std::fprintf(stderr, "%s\n", program.error().message.c_str()), 1;
  DimRanges dims;
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const int64_t size = std::atoll(text.substr(text.find('=') + 1).c_str());
    dims[text.substr(0, text.find('='))] = {size, size};
  }
  const auto forecast = ForecastMemory(**program, dims);
  if (!forecast) return std::fprintf(stderr, "%s\n", forecast.error().message.c_str()), 1;
  for (size_t stage = 0; stage < forecast->stages.size(); ++stage) {
    std::vector<int64_t> sizes;
    for (const ForecastValue& value : forecast->values)
      if (value.stage == static_cast<int32_t>(stage)) sizes.push_back(value.bytes.high);
    // The plan with as many values: programs have one a stage.
    for (const PlanSpec& spec : (*program)->plans) {
      if (spec.values.size() != sizes.size()) continue;
      const MemoryPlan plan = PlanMemory(spec, sizes);
      std::printf("stage %zu: %zu values, %.1f us, %lld bytes, peak / bound %.5f\n", stage, sizes.size(),
                  BestMicroseconds([&] { (void)PlanMemory(spec, sizes); }),
                  static_cast<long long>(plan.total_bytes),
                  static_cast<double>(plan.total_bytes) /
                      static_cast<double>(std::max<int64_t>(1, plan.lower_bound)));
      break;
    }
  }
  std::printf("forecast: %.1f us\n", BestMicroseconds([&] { (void)ForecastMemory(**program, dims); }));
  return 0;
}

}  // namespace
}  // namespace tvmvm::bench

int main(int argc, char** argv) { return tvmvm::bench::Main(argc, argv); }
