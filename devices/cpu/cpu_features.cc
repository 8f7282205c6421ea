#include "devices/cpu/cpu_features.h"

#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "tvm-vm/cpu_device.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tvmvm {
namespace {

struct Features {
  bool v3 = false;
  bool v4 = false;
  bool vnni = false;
  bool bf16 = false;
  bool f16 = false;
};

#if defined(__x86_64__)

struct Leaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf Cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Leaf r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

// Which register states the operating system saves.
uint64_t EnabledStates() {
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

bool Has(uint32_t value, uint32_t bits) { return (value & bits) == bits; }

Features Detect() {
  const Leaf basic = Cpuid(1), extended = Cpuid(7), extended1 = Cpuid(7, 1), amd = Cpuid(0x80000001);
  Features features;
  constexpr uint32_t kOsXsave = 1u << 27;
  if (!Has(basic.ecx, kOsXsave)) return features;
  const uint64_t states = EnabledStates();
  const bool ymm_saved = (states & 0x06) == 0x06;
  const bool zmm_saved = (states & 0xe6) == 0xe6;

  constexpr uint32_t kFma = 1u << 12, kMovbe = 1u << 22, kAvx = 1u << 28, kF16c = 1u << 29;  // leaf 1, ecx
  constexpr uint32_t kBmi1 = 1u << 3, kAvx2 = 1u << 5, kBmi2 = 1u << 8;                      // leaf 7, ebx
  constexpr uint32_t kLzcnt = 1u << 5;  // 0x80000001, ecx
  features.v3 = ymm_saved && Has(basic.ecx, kFma | kMovbe | kAvx | kF16c) &&
                Has(extended.ebx, kBmi1 | kAvx2 | kBmi2) && Has(amd.ecx, kLzcnt);

  constexpr uint32_t kAvx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;  // F, DQ, CD, BW, VL
  features.v4 = features.v3 && zmm_saved && Has(extended.ebx, kAvx512);
  features.vnni = features.v4 && Has(extended.ecx, 1u << 11);
  features.f16 = features.v4 && Has(extended.edx, 1u << 23);
  features.bf16 = features.v4 && Has(extended1.eax, 1u << 5);
  return features;
}

std::string Brand() {
  char text[49] = {};
  for (uint32_t i = 0; i < 3; ++i) {
    const Leaf leaf = Cpuid(0x80000002 + i);
    std::memcpy(text + i * 16, &leaf, 16);
  }
  std::string brand = text;
  brand.erase(0, brand.find_first_not_of(' '));
  brand.erase(brand.find_last_not_of(' ') + 1);
  return brand;
}

#else

Features Detect() { return {}; }
std::string Brand() { return {}; }

#endif

const Features& Host() {
  static const Features features = Detect();
  return features;
}

int64_t CacheBytes(int name, int64_t otherwise) {
  long bytes = sysconf(name);
  return bytes > 0 ? bytes : otherwise;
}

}  // namespace

bool HostRuns(CpuLevel level) {
  switch (level) {
    case CpuLevel::kX86_64_V3:
      return Host().v3;
    case CpuLevel::kX86_64_V4:
      return Host().v4;
    case CpuLevel::kX86_64_V4Vnni:
      return Host().vnni;
    case CpuLevel::kAArch64:
#if defined(__aarch64__)
      return true;
#else
      return false;
#endif
    case CpuLevel::kHost:
      return true;
  }
  return false;
}

CpuLevel HostCpuLevel() {
  for (CpuLevel level : CpuLevels())
    if (HostRuns(level)) return level;
  return CpuLevel::kHost;
}

TargetInfo HostTargetInfo() {
  TargetInfo info = TargetInfoFor(HostCpuLevel());
  info.has_vnni = Host().vnni;
  info.has_bf16 = Host().bf16;
  info.has_f16 = Host().f16;
  info.l1_bytes = CacheBytes(_SC_LEVEL1_DCACHE_SIZE, info.l1_bytes);
  info.l2_bytes = CacheBytes(_SC_LEVEL2_CACHE_SIZE, info.l2_bytes);
  return info;
}

DeviceDescription DescribeHost(int workers) {
  DeviceDescription description;
  description.hardware = Brand();
  if (description.hardware.empty()) description.hardware = "CPU";
  description.type = DeviceType::kCpu;
  description.api = CpuLevelName(HostCpuLevel());
  description.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  description.features.push_back(std::to_string(workers) + (workers == 1 ? " thread" : " threads"));
  if (Host().vnni) description.features.push_back("vnni");
  if (Host().bf16) description.features.push_back("bf16");
  if (Host().f16) description.features.push_back("f16");
  return description;
}

}  // namespace tvmvm
