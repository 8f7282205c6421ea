// What is known of each kind of device and each form of kernels: the rows of device_kinds.def.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "tvm-vm/program.h"
#include "tvm-vm/target_info.h"

namespace tvmvm {

// Position = number of the class.
inline constexpr std::array<std::string_view, kDeviceClassCount> kDeviceClassNames = {"cpu", "gpu"};

enum class Listing : uint8_t { kListed, kByName };

struct DeviceKindInfo {
  DeviceKind kind;
  const char* name;
  DeviceClass device_class;
  KernelForm form;
  Listing listing;
  const char* meaning;
};

struct KernelFormInfo {
  KernelForm form;
  const char* name;
  DeviceKind device;
  const char* meaning;
};

// A row's position is its enumerator's number (device_kinds.cc checks it).
inline constexpr DeviceKindInfo kDeviceKinds[] = {
#define DEVICE_KIND(Name, name, device_class, form, listing, meaning) \
  {DeviceKind::Name, name, DeviceClass::device_class, KernelForm::form, Listing::listing, meaning},
#include "bytecode/device_kinds.def"
};
inline constexpr KernelFormInfo kKernelForms[] = {
#define KERNEL_FORM(Name, name, device, meaning) {KernelForm::Name, name, DeviceKind::device, meaning},
#include "bytecode/device_kinds.def"
};

// The row; null for a number without one, as a damaged file may have it.
constexpr const DeviceKindInfo* InfoOf(DeviceKind kind) {
  const auto row = static_cast<size_t>(kind);
  return row < std::size(kDeviceKinds) ? &kDeviceKinds[row] : nullptr;
}
constexpr const KernelFormInfo* InfoOf(KernelForm form) {
  const auto row = static_cast<size_t>(form);
  return row < std::size(kKernelForms) ? &kKernelForms[row] : nullptr;
}

// What libraries of this form are called for people: "SPIR-V"; "unknown" for a number without a row.
const char* KernelFormMeaning(KernelForm form);

// Of ASCII's letters, whatever the locale.
constexpr char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
// The kind that a device's selection begins with: of "vulkan", "vulkan:1", "vulkan:nvidia" kVulkan; upper or
// lower case alike.
std::optional<DeviceKind> KindOfSelection(std::string_view selection);
// All names, with commas between; `with_unlisted` false: without those that are found by name only.
std::string DeviceKindNames(bool with_unlisted = true);

}  // namespace tvmvm
