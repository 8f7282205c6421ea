#include "devices/opencl/opencl_hardware.h"

#include <algorithm>
#include <cstdio>

namespace tvmvm {
namespace {

template <class T>
T Number(const OpenClFunctions& f, cl_device_id device, cl_device_info what) {
  T value{};
  if (f.GetDeviceInfo(device, what, sizeof value, &value, nullptr) != CL_SUCCESS) return T{};
  return value;
}

std::string WithoutZeros(std::string text) {
  text.erase(std::find(text.begin(), text.end(), '\0'), text.end());
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string Text(const OpenClFunctions& f, cl_device_id device, cl_device_info what) {
  size_t size = 0;
  if (f.GetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::string text(size, '\0');
  if (f.GetDeviceInfo(device, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  return WithoutZeros(std::move(text));
}

std::string PlatformName(const OpenClFunctions& f, cl_platform_id platform) {
  size_t size = 0;
  if (f.GetPlatformInfo(platform, CL_PLATFORM_NAME, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::string text(size, '\0');
  if (f.GetPlatformInfo(platform, CL_PLATFORM_NAME, size, text.data(), nullptr) != CL_SUCCESS) return {};
  return WithoutZeros(std::move(text));
}

bool HasExtension(const std::string& extensions, const std::string& name) {
  return (" " + extensions + " ").find(" " + name + " ") != std::string::npos;
}

// "OpenCL 1.2 pocl ..." -> 102
int VersionNumber(const std::string& version) {
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) != 2) return 0;
  return major * 100 + minor;
}

OpenClHardware Read(const OpenClFunctions& f, cl_platform_id platform, cl_device_id device) {
  OpenClHardware hardware;
  hardware.platform = platform;
  hardware.device = device;
  hardware.platform_name = PlatformName(f, platform);
  hardware.keeps_cache = hardware.platform_name == "Portable Computing Language";
  hardware.name = Text(f, device, CL_DEVICE_NAME);
  hardware.driver = Text(f, device, CL_DRIVER_VERSION);
  hardware.version = Text(f, device, CL_DEVICE_VERSION);
  auto bytes = [&](cl_device_info what) {
    return static_cast<int64_t>(std::min<cl_ulong>(Number<cl_ulong>(f, device, what), INT64_MAX));
  };
  hardware.memory_bytes = bytes(CL_DEVICE_GLOBAL_MEM_SIZE);
  hardware.largest_allocation = bytes(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  hardware.shared_memory_bytes = bytes(CL_DEVICE_LOCAL_MEM_SIZE);
  hardware.max_group_size =
      static_cast<int>(std::min<size_t>(Number<size_t>(f, device, CL_DEVICE_MAX_WORK_GROUP_SIZE), INT32_MAX));
  hardware.vector_width =
      std::max(1, static_cast<int>(Number<cl_uint>(f, device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT)));
  const auto type = Number<cl_device_type>(f, device, CL_DEVICE_TYPE);
  hardware.is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  hardware.is_gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
  hardware.unified_memory = Number<cl_bool>(f, device, CL_DEVICE_HOST_UNIFIED_MEMORY) != CL_FALSE;
  hardware.has_exact_division = (Number<cl_device_fp_config>(f, device, CL_DEVICE_SINGLE_FP_CONFIG) &
                                 CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  const std::string extensions = Text(f, device, CL_DEVICE_EXTENSIONS);
  hardware.has_f16 = HasExtension(extensions, "cl_khr_fp16");
  hardware.has_f64 = Number<cl_device_fp_config>(f, device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  if (VersionNumber(hardware.version) < 102)
    hardware.unusable = "it has " + hardware.version + ", 1.2 is needed";
  if (Number<cl_bool>(f, device, CL_DEVICE_AVAILABLE) == CL_FALSE) hardware.unusable = "it is not available";
  if (Number<cl_bool>(f, device, CL_DEVICE_COMPILER_AVAILABLE) == CL_FALSE)
    hardware.unusable = "it has no compiler";
  if (Number<cl_bool>(f, device, CL_DEVICE_ENDIAN_LITTLE) == CL_FALSE) hardware.unusable = "it is big-endian";
  return hardware;
}

}  // namespace

Expected<std::vector<OpenClHardware>> FindOpenClHardware(const OpenClFunctions& f) {
  cl_uint count = 0;
  if (f.GetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0)
    return MakeError(Code::kNotFound, "no OpenCL platform is installed");
  std::vector<cl_platform_id> platforms(count);
  f.GetPlatformIDs(count, platforms.data(), nullptr);
  std::vector<OpenClHardware> found;
  for (cl_platform_id platform : platforms) {
    count = 0;
    if (f.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS || count == 0)
      continue;
    std::vector<cl_device_id> devices(count);
    if (f.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr) != CL_SUCCESS) continue;
    for (cl_device_id device : devices) found.push_back(Read(f, platform, device));
  }
  if (found.empty()) return MakeError(Code::kNotFound, "the OpenCL platforms have no device");
  return found;
}

namespace {

// OpenCL knows no virtual GPUs, and tells an integrated one by its memory.
DeviceType TypeOf(const OpenClHardware& hardware) {
  if (hardware.is_cpu) return DeviceType::kCpu;
  if (!hardware.is_gpu) return DeviceType::kOther;
  return hardware.unified_memory ? DeviceType::kIntegratedGpu : DeviceType::kDiscreteGpu;
}

}  // namespace

DeviceDescription Describe(const OpenClHardware& hardware, bool shares_memory) {
  DeviceDescription description;
  description.hardware = hardware.name;
  description.driver = hardware.platform_name + " " + hardware.driver;
  description.api = hardware.version;
  description.memory_bytes = hardware.memory_bytes;
  description.type = TypeOf(hardware);
  const std::pair<bool, const char*> features[] = {
      {hardware.has_f16, "f16"},
      {hardware.has_f64, "f64"},
      {shares_memory, "memory shared with the host"},
  };
  for (const auto& [has, name] : features)
    if (has) description.features.emplace_back(name);
  return description;
}

TargetInfo TargetOf(const OpenClHardware& hardware, bool shares_memory) {
  TargetInfo target;
  target.device = DeviceKind::kOpenCl;
  target.vector_bits = hardware.vector_width * 32;
  target.has_f16 = hardware.has_f16;
  target.has_f64 = hardware.has_f64;
  target.has_i64 = true;
  target.has_f16_storage = true;  // vload_half and vstore_half
  target.has_i8_storage = true;
  target.shared_memory_bytes = hardware.shared_memory_bytes;
  target.max_group_size = hardware.max_group_size;
  target.shares_memory = shares_memory;
  target.max_block_bytes = hardware.largest_allocation;
  return target;
}

}  // namespace tvmvm
