#include "tvm-vm/target_info.h"

#include "bytecode/device_kinds.h"

namespace tvmvm {

const char* DeviceKindName(DeviceKind kind) {
  const DeviceKindInfo* info = InfoOf(kind);
  return info != nullptr ? info->name : "unknown";
}

const char* DeviceClassName(DeviceClass device) {
  const auto number = static_cast<size_t>(device);
  return number < kDeviceClassCount ? kDeviceClassNames[number].data() : "unknown";
}

DeviceClass ClassOf(DeviceKind kind) {
  const DeviceKindInfo* info = InfoOf(kind);
  return info != nullptr ? info->device_class : DeviceClass::kGpu;
}

const char* CpuLevelName(CpuLevel level) {
  switch (level) {
    case CpuLevel::kX86_64_V3:
      return "x86-64-v3";
    case CpuLevel::kX86_64_V4:
      return "x86-64-v4";
    case CpuLevel::kX86_64_V4Vnni:
      return "x86-64-v4-vnni";
    case CpuLevel::kAArch64:
      return "aarch64";
    case CpuLevel::kHost:
      return "host";
  }
  return "unknown";
}

std::span<const CpuLevel> CpuLevels() {
  static constexpr CpuLevel kLevels[] = {CpuLevel::kX86_64_V4Vnni, CpuLevel::kX86_64_V4, CpuLevel::kX86_64_V3,
                                         CpuLevel::kAArch64, CpuLevel::kHost};
  return kLevels;
}

std::optional<CpuLevel> CpuLevelFromName(std::string_view name) {
  for (CpuLevel level : CpuLevels())
    if (name == CpuLevelName(level)) return level;
  return std::nullopt;
}

TargetInfo TargetInfoFor(CpuLevel level) {
  TargetInfo info;
  info.device = DeviceKind::kCpu;
  info.cpu_level = level;
  switch (level) {
    case CpuLevel::kX86_64_V4Vnni:
      info.has_vnni = true;
      [[fallthrough]];
    case CpuLevel::kX86_64_V4:
      info.vector_bits = 512;
      info.vector_registers = 32;
      break;
    case CpuLevel::kAArch64:
      info.vector_bits = 128;
      info.vector_registers = 32;
      break;
    case CpuLevel::kX86_64_V3:
    case CpuLevel::kHost:  // the code generator refines it with what the machine reports
      break;
  }
  return info;
}

TargetInfo GpuTargetInfo(DeviceKind device) {
  TargetInfo info;
  info.device = device;
  info.vector_bits = 32;  // work-items compute in scalars
  info.vector_registers = 128;
  info.shared_memory_bytes = 32 << 10;
  info.max_group_size = 256;
  info.has_f64 = info.has_i64 = info.has_f16_storage = info.has_i8_storage = true;
  return info;
}

TargetInfo GpuTargetWithMatrices(DeviceKind device) {
  TargetInfo info = GpuTargetInfo(device);
  info.has_matrices = info.awaits_matrices = info.has_subgroups = true;
  info.subgroup_size = 32;
  info.shared_memory_bytes = 48 << 10;
  return info;
}

}  // namespace tvmvm
