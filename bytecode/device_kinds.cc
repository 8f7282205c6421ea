#include "bytecode/device_kinds.h"

#include <algorithm>

namespace tvmvm {
namespace {

constexpr bool RowsAreInOrder() {
  for (size_t i = 0; i < std::size(kDeviceKinds); ++i)
    if (static_cast<size_t>(kDeviceKinds[i].kind) != i) return false;
  for (size_t i = 0; i < std::size(kKernelForms); ++i)
    if (static_cast<size_t>(kKernelForms[i].form) != i) return false;
  return true;
}
static_assert(RowsAreInOrder(), "the rows of device_kinds.def stand in the order of their enumerators");

constexpr bool FormsFitTheirKinds() {
  for (const DeviceKindInfo& kind : kDeviceKinds)
    if (InfoOf(InfoOf(kind.form)->device)->device_class != kind.device_class) return false;
  return true;
}
static_assert(FormsFitTheirKinds(), "a kind of device takes kernels of another class");

}  // namespace

const char* KernelFormMeaning(KernelForm form) {
  const KernelFormInfo* info = InfoOf(form);
  return info != nullptr ? info->meaning : "unknown";
}

std::optional<DeviceKind> KindOfSelection(std::string_view selection) {
  const std::string_view name = selection.substr(0, selection.find(':'));
  for (const DeviceKindInfo& info : kDeviceKinds)
    if (std::ranges::equal(name, std::string_view(info.name), {}, ToLower)) return info.kind;
  return std::nullopt;
}

std::string DeviceKindNames(bool with_unlisted) {
  std::string names;
  for (const DeviceKindInfo& info : kDeviceKinds)
    if (with_unlisted || info.listing == Listing::kListed)
      names += (names.empty() ? "" : ", ") + std::string(info.name);
  return names;
}

}  // namespace tvmvm
