#include "tvm-vm/device_list.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "devices/cache_folder.h"
#include "devices/null/null_device.h"
#if TVMVM_HAS_OPENCL
#include "devices/opencl/opencl_device.h"
#endif
#if TVMVM_HAS_VULKAN
#include "devices/vulkan/vulkan_device.h"
#endif

namespace tvmvm {
namespace {

struct Found {
  DeviceDescription description;
  std::string unusable;
};

Expected<std::vector<Found>> FindCpu() {
  return std::vector<Found>{{CreateCpuDevice({})->description(), ""}};
}

Expected<std::vector<Found>> FindNull() {
  return std::vector<Found>{{CreateNullDevice({})->description(), ""}};
}

template <class Info>
[[maybe_unused]] Expected<std::vector<Found>> FoundOf(Expected<std::vector<Info>> infos) {
  if (!infos) return tl::unexpected(std::move(infos).error());
  std::vector<Found> found;
  for (Info& info : *infos) found.push_back({std::move(info.description), std::move(info.unusable)});
  return found;
}

Expected<std::shared_ptr<Device>> OpenCpu(int, const DeviceOptions& options) {
  return CreateCpuDevice(options.cpu);
}
Expected<std::shared_ptr<Device>> OpenNull(int, const DeviceOptions& options) {
  NullDeviceOptions null;
  null.max_bytes = options.max_bytes;
  return CreateNullDevice(null);
}

#if TVMVM_HAS_OPENCL
Expected<std::vector<Found>> FindOpenCl() { return FoundOf(ListOpenClDevices()); }
Expected<std::shared_ptr<Device>> OpenOpenCl(int index, const DeviceOptions& options) {
  return CreateOpenClDevice(index, {options.max_bytes, options.cache_folder});
}
#endif
#if TVMVM_HAS_VULKAN
Expected<std::vector<Found>> FindVulkan() { return FoundOf(ListVulkanDevices()); }
Expected<std::shared_ptr<Device>> OpenVulkan(int index, const DeviceOptions& options) {
  return CreateVulkanDevice(index, {options.max_bytes, options.cache_folder, options.validation});
}
#endif

struct Kind {
  DeviceKind kind;
  bool listed;  // false: opened by name alone
  Expected<std::vector<Found>> (*find)();
  Expected<std::shared_ptr<Device>> (*open)(int index, const DeviceOptions& options);
};

// Every kind of device that this build has. A new one gets its row here.
constexpr Kind kKinds[] = {
    {DeviceKind::kCpu, true, FindCpu, OpenCpu},
#if TVMVM_HAS_OPENCL
    {DeviceKind::kOpenCl, true, FindOpenCl, OpenOpenCl},
#endif
#if TVMVM_HAS_VULKAN
    {DeviceKind::kVulkan, true, FindVulkan, OpenVulkan},
#endif
    {DeviceKind::kNull, false, FindNull, OpenNull},
};

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

std::string NameOf(const Kind& kind, size_t index) {
  const std::string name = DeviceKindName(kind.kind);
  const bool is_one = kind.kind == DeviceKind::kCpu || kind.kind == DeviceKind::kNull;
  return is_one ? name : name + ":" + std::to_string(index);
}

std::optional<size_t> PositionIn(std::string_view text) {
  size_t position = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), position);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return position;
}

bool Matches(const Found& found, std::string_view wanted) {
  const std::string names = LowerCase(found.description.hardware + "\n" + found.description.driver);
  return names.find(LowerCase(wanted)) != std::string::npos;
}

// The position of the device that is meant; nothing where there is none.
std::optional<size_t> Choose(const std::vector<Found>& found, std::string_view wanted) {
  if (std::optional<size_t> position = PositionIn(wanted))
    return *position < found.size() ? position : std::nullopt;
  std::optional<size_t> chosen;
  for (size_t i = found.size(); i-- > 0;) {
    if (!Matches(found[i], wanted)) continue;
    if (!chosen || found[i].unusable.empty() || !found[*chosen].unusable.empty()) chosen = i;
  }
  return chosen;
}

std::string WhatThereIs(const Kind& kind, const std::vector<Found>& found) {
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

DeviceListing ListDevices() {
  DeviceListing listing;
  for (const Kind& kind : kKinds) {
    if (!kind.listed) continue;
    Expected<std::vector<Found>> found = kind.find();
    if (!found) {
      listing.absent.push_back(std::string(DeviceKindName(kind.kind)) + ": " + found.error().message);
      continue;
    }
    for (size_t i = 0; i < found->size(); ++i)
      listing.devices.push_back(
          {NameOf(kind, i), kind.kind, std::move((*found)[i].description), std::move((*found)[i].unusable)});
  }
  return listing;
}

Expected<std::shared_ptr<Device>> OpenDevice(std::string_view selection, const DeviceOptions& options) {
  const size_t colon = selection.find(':');
  const std::string kind_name = LowerCase(selection.substr(0, colon));
  const std::string_view wanted = colon == std::string_view::npos ? "" : selection.substr(colon + 1);
  std::string names;
  for (const Kind& kind : kKinds) {
    names += (names.empty() ? "" : ", ") + std::string(DeviceKindName(kind.kind));
    if (kind_name != DeviceKindName(kind.kind)) continue;
    if (kind.kind == DeviceKind::kCpu && wanted.empty()) return kind.open(0, options);
    TVMVM_TRY(const std::vector<Found> found, kind.find());
    const std::optional<size_t> chosen = Choose(found, wanted);
    if (chosen) return kind.open(static_cast<int>(*chosen), options);
    return MakeError(Code::kNotFound,
                     "no device '" + std::string(selection) + "': there are " + WhatThereIs(kind, found));
  }
  return MakeError(Code::kInvalidArgument, "no kind of devices '" + kind_name + "': there are " + names);
}

}  // namespace tvmvm
