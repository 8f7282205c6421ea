#include "tvm-vm/device_list.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "bytecode/device_kinds.h"
#include "bytecode/guarded.h"
#include "devices/driver/cache_folder.h"
#include "devices/found_device.h"
#include "devices/null/null_device.h"
#if TVMVM_HAS_OPENCL
#include "devices/opencl/opencl_device.h"
#endif
#if TVMVM_HAS_VULKAN
#include "devices/vulkan/vulkan_device.h"
#endif

namespace tvmvm {
namespace {

Expected<std::vector<FoundDevice>> FindCpu() {
  return std::vector<FoundDevice>{{CreateCpuDevice({})->description(), ""}};
}

Expected<std::vector<FoundDevice>> FindNull() {
  return std::vector<FoundDevice>{{CreateNullDevice({})->description(), ""}};
}

Expected<std::shared_ptr<Device>> OpenCpu(int, const DeviceOptions& options) {
  return CreateCpuDevice(options.cpu);
}
Expected<std::shared_ptr<Device>> OpenNull(int, const DeviceOptions& options) {
  NullDeviceOptions null;
  null.max_bytes = options.max_bytes;
  return CreateNullDevice(null);
}

// Of the kinds that this build was made without.
[[maybe_unused]] Expected<std::vector<FoundDevice>> FindLeftOut() {
  return MakeError(Code::kNotFound, "this build has no such devices");
}
[[maybe_unused]] Expected<std::shared_ptr<Device>> OpenLeftOut(int, const DeviceOptions&) {
  return MakeError(Code::kNotFound, "this build has no such devices");
}

#if TVMVM_HAS_OPENCL
constexpr auto FindOpenCl = ListOpenClDevices;
Expected<std::shared_ptr<Device>> OpenOpenCl(int index, const DeviceOptions& options) {
  return CreateOpenClDevice(index, {options.max_bytes, options.cache_folder});
}
#else
constexpr auto FindOpenCl = FindLeftOut;
constexpr auto OpenOpenCl = OpenLeftOut;
#endif

#if TVMVM_HAS_VULKAN
constexpr auto FindVulkan = ListVulkanDevices;
Expected<std::shared_ptr<Device>> OpenVulkan(int index, const DeviceOptions& options) {
  return CreateVulkanDevice(index, {options.max_bytes, options.cache_folder, options.validation});
}
#else
constexpr auto FindVulkan = FindLeftOut;
constexpr auto OpenVulkan = OpenLeftOut;
#endif

struct Kind {
  DeviceKind kind;
  bool is_one;  // there is one such device, without a number
  Expected<std::vector<FoundDevice>> (*find)();
  Expected<std::shared_ptr<Device>> (*open)(int index, const DeviceOptions& options);
};

// Every kind of device. A new one gets its row here.
constexpr Kind kKinds[] = {
    {DeviceKind::kCpu, true, FindCpu, OpenCpu},
    {DeviceKind::kOpenCl, false, FindOpenCl, OpenOpenCl},
    {DeviceKind::kVulkan, false, FindVulkan, OpenVulkan},
    {DeviceKind::kNull, true, FindNull, OpenNull},
};

constexpr bool EveryKindHasItsRow() {
  if (std::size(kKinds) != std::size(kDeviceKinds)) return false;
  for (size_t i = 0; i < std::size(kKinds); ++i)
    if (kKinds[i].kind != kDeviceKinds[i].kind) return false;
  return true;
}
static_assert(EveryKindHasItsRow(), "kKinds has the rows of device_kinds.def, in their order");

const Kind& RowOf(DeviceKind kind) { return *std::ranges::find(kKinds, kind, &Kind::kind); }

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), ToLower);
  return lower;
}

std::string NameOf(const Kind& kind, size_t index) {
  const std::string name = DeviceKindName(kind.kind);
  return kind.is_one ? name : name + ":" + std::to_string(index);
}

std::optional<size_t> PositionIn(std::string_view text) {
  size_t position = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), position);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return position;
}

bool Matches(const FoundDevice& found, std::string_view wanted) {
  const std::string names = LowerCase(found.description.hardware + "\n" + found.description.driver);
  return names.find(LowerCase(wanted)) != std::string::npos;
}

// The position of the device that is meant: of several the fastest. Nothing where there is none.
std::optional<size_t> Choose(const std::vector<FoundDevice>& found, std::string_view wanted) {
  if (std::optional<size_t> position = PositionIn(wanted))
    return *position < found.size() ? position : std::nullopt;
  for (size_t position : FastestFirst(found))
    if (Matches(found[position], wanted)) return position;
  return std::nullopt;
}

std::string WhatThereIs(const Kind& kind, const std::vector<FoundDevice>& found) {
  std::string text;
  for (size_t i = 0; i < found.size(); ++i)
    text += (i > 0 ? ", " : "") + NameOf(kind, i) + " (" + found[i].description.hardware + ")";
  return text;
}

}  // namespace

DeviceOptions DeviceOptions::FromEnvironment() {
  DeviceOptions options;
  options.cache_folder = DefaultCacheFolder();
  const char* validation = secure_getenv("TVMVM_VULKAN_VALIDATION");
  options.validation = validation != nullptr && std::strcmp(validation, "1") == 0;
  return options;
}

std::string DeviceOptions::CacheProblem() const { return CacheFolder(cache_folder).Problem(); }

DeviceListing ListDevices() {
  DeviceListing listing;
  for (const Kind& kind : kKinds) {
    if (InfoOf(kind.kind)->listing != Listing::kListed) continue;
    Expected<std::vector<FoundDevice>> found = kind.find();
    if (!found) {
      listing.absent.push_back(std::string(DeviceKindName(kind.kind)) + ": " + found.error().message);
      continue;
    }
    for (size_t i : FastestFirst(*found))
      listing.devices.push_back(
          {NameOf(kind, i), kind.kind, std::move((*found)[i].description), std::move((*found)[i].unusable)});
  }
  return listing;
}

Expected<std::shared_ptr<Device>> OpenDevice(std::string_view selection, const DeviceOptions& options) {
  return Guarded([&]() -> Expected<std::shared_ptr<Device>> {
    const size_t colon = selection.find(':');
    const std::string_view wanted = colon == std::string_view::npos ? "" : selection.substr(colon + 1);
    const std::optional<DeviceKind> named = KindOfSelection(selection);
    if (!named)
      return MakeError(Code::kInvalidArgument, "no kind of devices '" +
                                                   LowerCase(selection.substr(0, colon)) + "': there are " +
                                                   DeviceKindNames());
    const Kind& kind = RowOf(*named);
    if (kind.is_one && wanted.empty()) return kind.open(0, options);
    TVMVM_TRY(const std::vector<FoundDevice> found, kind.find());
    const std::optional<size_t> chosen = Choose(found, wanted);
    if (chosen) return kind.open(static_cast<int>(*chosen), options);
    return MakeError(Code::kNotFound,
                     "no device '" + std::string(selection) + "': there are " + WhatThereIs(kind, found));
  });
}

}  // namespace tvmvm
