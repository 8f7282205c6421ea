#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json.h"
#include "tvm-vm/device_list.h"

namespace tvmvm::cli {
namespace {

Json ToJson(const ListedDevice& device) {
  Json json = {{"name", device.name},
               {"kind", DeviceKindName(device.kind)},
               {"hardware", device.description.hardware},
               {"driver", device.description.driver},
               {"api", device.description.api},
               {"type", DeviceTypeName(device.description.type)},
               {"memory_bytes", device.description.memory_bytes},
               {"features", device.description.features},
               {"usable", device.unusable.empty()}};
  if (!device.unusable.empty()) json["reason"] = device.unusable;
  return json;
}

std::string ToText(const ListedDevice& device) {
  const DeviceDescription& description = device.description;
  std::string text = fmt::format("{:<10} {}", device.name, description.hardware);
  std::string details = fmt::format("{}, {}", DeviceTypeName(description.type), description.api);
  if (!description.driver.empty()) details += ", driver " + description.driver;
  if (description.memory_bytes > 0)
    details += ", " + FormatBytes(static_cast<double>(description.memory_bytes));
  text += fmt::format("\n{:<10} {}", "", details);
  if (!description.features.empty())
    text += fmt::format("\n{:<10} {}", "", fmt::join(description.features, ", "));
  if (!device.unusable.empty()) text += fmt::format("\n{:<10} cannot be used: {}", "", device.unusable);
  return text;
}

}  // namespace

Expected<int> DevicesCommand(const DevicesArguments& arguments) {
  const DeviceListing listing = ListDevices();
  const std::string problem = DeviceOptions::FromEnvironment().CacheProblem();
  if (arguments.json) {
    Json json = {{"devices", Json::array()}, {"absent", listing.absent}};
    if (!problem.empty()) json["cache_problem"] = problem;
    for (const ListedDevice& device : listing.devices) json["devices"].push_back(ToJson(device));
    PrintResult(FormatJson(json, 2));
    return kExitOk;
  }
  for (const ListedDevice& device : listing.devices) PrintResult(ToText(device));
  for (const std::string& absent : listing.absent) PrintNote(absent);
  if (!problem.empty()) PrintNote(fmt::format("kernels are not kept: {}", problem));
  return kExitOk;
}

}  // namespace tvmvm::cli
