#include "compiler/memory/measure.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "allocator/planner.h"
#include "fmt/format.h"

namespace tvmvm::memory {
namespace {

using ir::Dim;

constexpr uint32_t kAlignment = 64;
// Of a CPU's thread: what placement estimates with.
constexpr double kFlops = 60, kBytes = 15, kLaunch = 200;  // per nanosecond; nanoseconds

class Measurer {
 public:
  // Without a size: at the largest ones.
  Measurer(const ir::Module& module, const ir::Function& function, const lowering::MemoryOutline& outline,
           std::optional<int64_t> size)
      : module_(module), function_(function), outline_(outline), size_(size) {}

  Expected<Measured> Run() {
    if (!outline_.unknown.empty() && !size_)
      return MakeError(Code::kUnsupported,
                       fmt::format("a memory budget cannot be kept: the size of {} is known only when it is "
                                   "made",
                                   NameOf(outline_.unknown[0])));
    Measured measured;
    for (const lowering::HeldPlace& place : outline_.places) {
      TVMVM_TRY(const int64_t size, SizeOf(place.bytes));
      measured.sizes.push_back(size);
    }
    int64_t beside = 0;
    for (const Dim& tensor : outline_.tensors) {
      TVMVM_TRY(const int64_t size, SizeOf(tensor));
      beside += size;
    }
    AddAlive(beside, &measured);
    measured.peak_bytes = beside + PlannedBytes(measured.sizes);
    for (const lowering::PlannedWork& work : outline_.work) AddWork(work, &measured);
    return measured;
  }

 private:
  std::string NameOf(ir::ValueId value) const {
    const ir::Value& what = function_.value(value);
    if (what.producer.valid() && !function_.node(what.producer).source.empty())
      return fmt::format("what {} makes", function_.node(what.producer).source);
    return what.name.empty() ? "a value" : fmt::format("'{}'", what.name);
  }

  std::optional<int64_t> Largest(const ir::SymbolId& symbol) const {
    auto found = module_.symbols.find(symbol);
    if (size_ && found == module_.symbols.end()) return size_;
    if (size_) return std::max(found->second.range.low, std::min(found->second.range.high, *size_));
    if (found == module_.symbols.end() || found->second.range.high == INT64_MAX) return std::nullopt;
    return found->second.range.high;
  }

  Expected<int64_t> SizeOf(const Dim& dim) const {
    if (std::optional<int64_t> size = Evaluate(dim, [&](const auto& symbol) { return Largest(symbol); }))
      return std::max<int64_t>(*size, 0);
    for (const ir::SymbolId& symbol : SymbolsOf(dim)) {
      if (Largest(symbol)) continue;
      if (module_.symbols.at(symbol).scope == ir::SymbolScope::kInput)
        return MakeError(
            Code::kInvalidArgument,
            fmt::format("a memory budget needs the largest size of '{0}': --dim {0}=1..N", symbol.name()));
      return MakeError(
          Code::kUnsupported,
          fmt::format("a memory budget cannot be kept: the size {} depends on data", dim.ToString()));
    }
    return MakeError(Code::kInvalidArgument, fmt::format("the size {} leaves 64 bits", dim.ToString()));
  }

  void AddAlive(int64_t beside, Measured* measured) const {
    measured->alive.assign(outline_.nodes.size() + 1, beside);
    for (size_t k = 0; k < outline_.places.size(); ++k) {
      const lowering::HeldPlace& place = outline_.places[k];
      const int64_t bytes = (measured->sizes[k] + kAlignment - 1) / kAlignment * kAlignment;
      for (uint32_t at = place.first; at <= place.last && at < measured->alive.size(); ++at)
        measured->alive[at] += bytes;
    }
  }

  int64_t PlannedBytes(const std::vector<int64_t>& sizes) const {
    std::map<int, std::pair<PlanSpec, std::vector<int64_t>>> stages;
    for (size_t k = 0; k < outline_.places.size(); ++k) {
      const lowering::HeldPlace& place = outline_.places[k];
      auto& [plan, planned] = stages[place.stage];
      plan.values.push_back({place.first, place.last, kAlignment});
      planned.push_back(sizes[k]);
    }
    int64_t total = 0;
    for (const auto& [stage, values] : stages) total += PlanMemory(values.first, values.second).total_bytes;
    return total;
  }

  void AddWork(const lowering::PlannedWork& work, Measured* measured) const {
    auto value = [&](const Dim& dim) {
      return static_cast<double>(
          Evaluate(dim, [&](const auto& symbol) { return Largest(symbol); }).value_or(0));
    };
    if (value(work.when) == 0) return;
    const double flops = value(work.flops), bytes = value(work.bytes);
    measured->flops += flops;
    measured->bytes += bytes;
    measured->nanoseconds += std::max(flops / kFlops, bytes / kBytes) + kLaunch;
  }

  const ir::Module& module_;
  const ir::Function& function_;
  const lowering::MemoryOutline& outline_;
  const std::optional<int64_t> size_;
};

}  // namespace

uint32_t Measured::Fullest() const {
  return static_cast<uint32_t>(std::ranges::max_element(alive) - alive.begin());
}

double Measured::Pressure(int64_t bytes, size_t position) const {
  const double part =
      static_cast<double>(alive[position] - bytes) / static_cast<double>(std::max<int64_t>(bytes, 1));
  return part > 0 ? std::pow(part, 8) : 0;
}

double Measured::Pressure(int64_t bytes) const {
  double sum = 0;
  for (size_t position = 0; position < alive.size(); ++position) sum += Pressure(bytes, position);
  return sum;
}

Expected<Measured> Measure(const ir::Module& module, const ir::Function& function,
                           const lowering::MemoryOutline& outline) {
  return Measurer(module, function, outline, std::nullopt).Run();
}

Expected<Measured> MeasureAt(int64_t size, const ir::Module& module, const ir::Function& function,
                             const lowering::MemoryOutline& outline) {
  return Measurer(module, function, outline, size).Run();
}

}  // namespace tvmvm::memory
