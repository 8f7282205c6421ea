#include "compiler/memory/fit_budget.h"

#include <algorithm>

#include "compiler/graph/compile_counters.h"
#include "compiler/memory/changes.h"
#include "fmt/format.h"

namespace tvmvm::memory {
namespace {

using ir::Function;

constexpr int kMostRounds = 512;  // changes that are made
constexpr size_t kMostTried = 8;  // changes that are tried in a round

// The function in hand, and what is known of it.
struct State {
  Function function;
  lowering::MemoryOutline outline;
  Measured measured;
};

class Fitter {
 public:
  Fitter(int64_t budget, const lowering::LoweringOptions& options, const tensor::ScheduleOverrides& overrides,
         ir::Module* module)
      : budget_(budget),
        target_(budget),
        options_(options),
        schedules_(&counters_, &overrides),
        module_(*module) {}

  Expected<MemoryReport> Run() {
    if (module_.functions.size() > 1)
      return MakeError(Code::kUnsupported,
                       "a memory budget cannot be kept: the model's functions call each other");
    TVMVM_TRY(State state, StateOf(module_.main()));
    MemoryReport report;
    report.budget_bytes = budget_;
    report.bytes_before = state.measured.peak_bytes;
    const Measured before = state.measured;
    if (const int64_t always = std::ranges::min(before.alive); always > budget_)
      return MakeError(Code::kOutOfMemory,
                       fmt::format("no plan holds at most {} bytes: outputs and what else is held throughout "
                                   "take {}",
                                   budget_, always));
    for (int round = 0; state.measured.peak_bytes > budget_; ++round) {
      // Where no position is beyond it, values lie apart: a little less has to be alive.
      while (state.measured.Pressure(target_) == 0) target_ -= std::max<int64_t>(target_ / 64, 64);
      std::optional<State> next;
      if (round < kMostRounds) {
        TVMVM_TRY(next, Improve(state, &report));
      }
      if (!next) return Refuse(state);
      state = std::move(*next);
    }
    report.bytes = state.measured.peak_bytes;
    report.flops = before.flops > 0 ? state.measured.flops / before.flops : 1;
    report.traffic = before.bytes > 0 ? state.measured.bytes / before.bytes : 1;
    report.time = before.nanoseconds > 0 ? state.measured.nanoseconds / before.nanoseconds : 1;
    module_.main() = std::move(state.function);
    return report;
  }

 private:
  Expected<State> StateOf(Function function) {
    TVMVM_TRY(lowering::MemoryOutline outline, OutlineMemory(module_, function, options_, &schedules_));
    TVMVM_TRY(Measured measured, Measure(module_, function, outline));
    return State{std::move(function), std::move(outline), std::move(measured)};
  }

  // The best of the most promising changes; nothing: none makes it better.
  Expected<std::optional<State>> Improve(const State& state, MemoryReport* report) {
    const double pressure = state.measured.Pressure(target_);
    const double here = state.measured.Pressure(target_, state.measured.Fullest());
    std::optional<State> best;
    std::string text;
    size_t tried = 0;
    for (const Change& change : FindChanges(state.function, state.outline, state.measured, target_)) {
      if (tried == kMostTried) break;
      Function function = state.function;
      if (!Apply(change, &function)) continue;
      ++tried;
      TVMVM_TRY(State next, StateOf(std::move(function)));
      if (next.measured.Pressure(target_) >= pressure) continue;
      if (best && !IsBetter(next.measured, best->measured)) continue;
      text = TextOf(change, state.function);
      best = std::move(next);
      // All that was to be done here: the changes that follow cost more.
      if (best->measured.Pressure(target_) <= pressure - 0.999 * here) break;
    }
    if (best) report->changes.push_back(std::move(text));
    return best;
  }

  bool IsBetter(const Measured& a, const Measured& b) const {
    return std::pair(a.Pressure(target_), a.nanoseconds) < std::pair(b.Pressure(target_), b.nanoseconds);
  }

  // Says what is alive where most is.
  tl::unexpected<Error> Refuse(const State& state) const {
    const uint32_t position = state.measured.Fullest();
    std::vector<std::pair<int64_t, std::string>> alive;
    for (size_t k = 0; k < state.outline.places.size(); ++k) {
      const lowering::HeldPlace& place = state.outline.places[k];
      if (place.first > position || place.last < position || state.measured.sizes[k] == 0) continue;
      const ir::NodeId node = state.outline.nodes[place.first];
      std::string name = node.valid() ? state.function.node(node).source : std::string();
      alive.emplace_back(state.measured.sizes[k],
                         (place.values.empty() ? "a workspace of " : "") + name.substr(0, name.find(", ")));
    }
    std::ranges::stable_sort(alive, std::greater<>(), [](const auto& held) { return held.first; });
    constexpr size_t kShown = 5;
    std::string text;
    for (size_t k = 0; k < std::min(alive.size(), kShown); ++k)
      text += fmt::format("{}{} bytes of {}", k == 0 ? "" : ", ", alive[k].first,
                          alive[k].second.empty() ? "a value" : alive[k].second);
    if (alive.size() > kShown) text += fmt::format(" and {} more", alive.size() - kShown);
    return MakeError(
        Code::kOutOfMemory,
        fmt::format("no plan was found that holds at most {} bytes; the smallest holds {}; alive "
                    "together: {}",
                    budget_, state.measured.peak_bytes, text));
  }

  const int64_t budget_;
  int64_t target_;
  const lowering::LoweringOptions& options_;
  ir::CompileCounters counters_;
  tensor::ScheduleCache schedules_;
  ir::Module& module_;
};

}  // namespace

Expected<MemoryReport> FitBudget(int64_t budget, const lowering::LoweringOptions& options,
                                 const tensor::ScheduleOverrides& overrides, ir::Module* module) {
  return Fitter(budget, options, overrides, module).Run();
}

}  // namespace tvmvm::memory
