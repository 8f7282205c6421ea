#include "tvm-vm/program.h"

#include <algorithm>

#include "bytecode/derived_cache.h"

namespace tvmvm {

Program::Program() : derived(std::make_shared<DerivedCache>()) {}

std::string DeviceSpecName(const DeviceSpec& device) {
  const std::string name = DeviceClassName(device.device_class);
  return device.ordinal == 0 ? name : name + ":" + std::to_string(device.ordinal);
}

std::optional<FunctionId> Program::FindFunction(std::string_view name) const {
  for (uint32_t i = 0; i < functions.size(); ++i)
    if (functions[i].name == name) return FunctionId{i};
  return std::nullopt;
}

std::string_view Program::SourceNode(const FunctionSpec& function, uint32_t word) const {
  auto after = std::upper_bound(function.lines.begin(), function.lines.end(), word,
                                [](uint32_t value, const LineEntry& entry) { return value < entry.word; });
  if (after == function.lines.begin()) return {};
  uint32_t index = std::prev(after)->node.index;
  return index < strings.size() ? std::string_view(strings[index]) : std::string_view();
}

}  // namespace tvmvm
