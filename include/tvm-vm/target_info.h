// What a device or a code generator's target can do, as data. Schedules read this, never a device's name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tvm-vm/export.h"

namespace tvmvm {

// What each is stands in bytecode/device_kinds.def.
enum class DeviceKind : uint8_t { kCpu = 0, kOpenCl = 1, kVulkan = 2, kNull = 3 };
TVMVM_EXPORT const char* DeviceKindName(DeviceKind kind);  // "cpu", "opencl", ...; "unknown"

// Devices that share schedules and bytecode: OpenCL and Vulkan (and the null device, which stands for one)
// differ in kernel libraries only. The number is the queue that a program's instructions name the device by.
enum class DeviceClass : uint8_t { kCpu = 0, kGpu = 1 };
inline constexpr uint32_t kDeviceClassCount = 2;
TVMVM_EXPORT const char* DeviceClassName(DeviceClass device);  // "cpu", "gpu"
TVMVM_EXPORT DeviceClass ClassOf(DeviceKind kind);

// Levels of CPU code that can stand in one file. A machine runs a level when it has all of its features.
enum class CpuLevel : uint8_t { kX86_64_V3 = 0, kX86_64_V4 = 1, kAArch64 = 2, kHost = 3, kX86_64_V4Vnni = 4 };
TVMVM_EXPORT const char* CpuLevelName(CpuLevel level);  // "x86-64-v3", "x86-64-v4-vnni", ...
TVMVM_EXPORT std::optional<CpuLevel> CpuLevelFromName(std::string_view name);
// All levels, the most demanding of each architecture first, "host" last.
TVMVM_EXPORT std::span<const CpuLevel> CpuLevels();

struct TargetInfo {
  DeviceKind device = DeviceKind::kCpu;
  CpuLevel cpu_level = CpuLevel::kX86_64_V3;
  int vector_bits = 256;  // width of one SIMD register or of a preferred vector
  int vector_registers = 16;
  bool has_vnni = false;  // u8 x i8 -> i32 dot products
  bool has_bf16 = false;
  bool has_f16 = false;  // arithmetic, not only conversion
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;
  int64_t shared_memory_bytes = 0;  // GPUs: memory of one work-group
  int max_group_size = 1;
  int subgroup_size = 1;
  bool has_subgroups = false;  // arithmetic and shuffles within a subgroup
  bool has_f64 = false;        // arithmetic; CPUs have it without saying so, as they have i64
  bool has_i64 = false;
  bool has_f16_storage = false;  // loads and stores of single f16 and i16 elements
  bool has_i8_storage = false;   // of single bytes
  bool has_matrices = false;     // products of 16 x 16 f16 matrices by 32 work-items, summed in f32
  bool awaits_matrices = false;  // devices that have them take other bodies of the same kernels
  bool shares_memory = false;    // host and device use the same memory: DeviceMemory::host is not null
  int64_t max_block_bytes = 0;   // the largest single allocation; 0: no limit but memory
};

// Whether grid points are work-groups.
inline bool IsGpu(const TargetInfo& target) { return ClassOf(target.device) != DeviceClass::kCpu; }

TVMVM_EXPORT TargetInfo TargetInfoFor(CpuLevel level);
// The GPU that code is made for when no particular one is known: what OpenCL 1.2 and Vulkan 1.1 devices of
// any vendor have in common. Its schedules, and so the bytecode, are the same for both.
TVMVM_EXPORT TargetInfo GpuTargetInfo(DeviceKind device);
// The same with matrices: its schedules differ from those of a target that awaits them in bodies of kernels
// only.
TVMVM_EXPORT TargetInfo GpuTargetWithMatrices(DeviceKind device);

}  // namespace tvmvm
