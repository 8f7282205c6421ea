#include "devices/opencl/opencl_hardware.h"

#include <algorithm>
#include <cstdio>

namespace tvmvm {
namespace {

std::string WithoutZeros(std::string text) {
  text.erase(std::find(text.begin(), text.end(), '\0'), text.end());
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// Asks a device. What it does not know is nothing; that it could not answer is remembered.
class Questions {
 public:
  Questions(const OpenClFunctions& f, cl_platform_id platform, cl_device_id device)
      : f_(f), platform_(platform), device_(device) {}
  cl_int refusal() const { return refusal_; }

  template <class T>
  T Number(cl_device_info what) {
    T value{};
    return Answers(f_.GetDeviceInfo(device_, what, sizeof value, &value, nullptr)) ? value : T{};
  }
  std::string Text(cl_device_info what) {
    return Whole([&](size_t size, void* to, size_t* needed) {
      return f_.GetDeviceInfo(device_, what, size, to, needed);
    });
  }
  std::string PlatformName() {
    return Whole([&](size_t size, void* to, size_t* needed) {
      return f_.GetPlatformInfo(platform_, CL_PLATFORM_NAME, size, to, needed);
    });
  }

 private:
  bool Answers(cl_int result) {
    if (result == CL_SUCCESS) return true;
    if (OpenClError(result, "").code != Code::kUnsupported) refusal_ = result;
    return false;
  }
  template <class Get>
  std::string Whole(const Get& get) {
    size_t size = 0;
    if (!Answers(get(0, nullptr, &size))) return {};
    std::string text(size, '\0');
    if (!Answers(get(size, text.data(), nullptr))) return {};
    return WithoutZeros(std::move(text));
  }

  const OpenClFunctions& f_;
  cl_platform_id platform_;
  cl_device_id device_;
  cl_int refusal_ = CL_SUCCESS;
};

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
  Questions ask(f, platform, device);
  hardware.platform_name = ask.PlatformName();
  hardware.keeps_cache = hardware.platform_name == "Portable Computing Language";
  hardware.name = ask.Text(CL_DEVICE_NAME);
  hardware.driver = ask.Text(CL_DRIVER_VERSION);
  hardware.version = ask.Text(CL_DEVICE_VERSION);
  auto bytes = [&](cl_device_info what) {
    return static_cast<int64_t>(std::min<cl_ulong>(ask.Number<cl_ulong>(what), INT64_MAX));
  };
  hardware.memory_bytes = bytes(CL_DEVICE_GLOBAL_MEM_SIZE);
  hardware.largest_allocation = bytes(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  hardware.shared_memory_bytes = bytes(CL_DEVICE_LOCAL_MEM_SIZE);
  hardware.max_group_size =
      static_cast<int>(std::min<size_t>(ask.Number<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE), INT32_MAX));
  hardware.vector_width =
      std::max(1, static_cast<int>(ask.Number<cl_uint>(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT)));
  const auto type = ask.Number<cl_device_type>(CL_DEVICE_TYPE);
  hardware.is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  hardware.is_gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
  hardware.unified_memory = ask.Number<cl_bool>(CL_DEVICE_HOST_UNIFIED_MEMORY) != CL_FALSE;
  hardware.has_exact_division = (ask.Number<cl_device_fp_config>(CL_DEVICE_SINGLE_FP_CONFIG) &
                                 CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  const std::string extensions = ask.Text(CL_DEVICE_EXTENSIONS);
  hardware.has_f16 = HasExtension(extensions, "cl_khr_fp16");
  hardware.has_f64 = ask.Number<cl_device_fp_config>(CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  if (VersionNumber(hardware.version) < 102)
    hardware.unusable = "it has " + hardware.version + ", 1.2 is needed";
  if (ask.Number<cl_bool>(CL_DEVICE_AVAILABLE) == CL_FALSE) hardware.unusable = "it is not available";
  if (ask.Number<cl_bool>(CL_DEVICE_COMPILER_AVAILABLE) == CL_FALSE) hardware.unusable = "it has no compiler";
  if (ask.Number<cl_bool>(CL_DEVICE_ENDIAN_LITTLE) == CL_FALSE) hardware.unusable = "it is big-endian";
  hardware.refusal = ask.refusal();
  if (hardware.refusal != CL_SUCCESS)
    hardware.unusable = "it does not answer: " + OpenClResultName(hardware.refusal);
  return hardware;
}

}  // namespace

Expected<std::vector<OpenClHardware>> FindOpenClHardware(const OpenClFunctions& f) {
  constexpr cl_int kNoPlatform = -1001;  // CL_PLATFORM_NOT_FOUND_KHR
  cl_uint count = 0;
  cl_int result = f.GetPlatformIDs(0, nullptr, &count);
  if (result == kNoPlatform || (result == CL_SUCCESS && count == 0))
    return MakeError(Code::kNotFound, "no OpenCL platform is installed");
  std::vector<cl_platform_id> platforms(count);
  if (result == CL_SUCCESS) result = f.GetPlatformIDs(count, platforms.data(), nullptr);
  if (result != CL_SUCCESS) return tl::unexpected(OpenClError(result, "clGetPlatformIDs"));
  std::vector<OpenClHardware> found;
  cl_int refusal = CL_SUCCESS;  // of a platform; the others' devices can be used
  for (cl_platform_id platform : platforms) {
    count = 0;
    result = f.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
    std::vector<cl_device_id> devices(result == CL_SUCCESS ? count : 0);
    if (!devices.empty())
      result = f.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
    if (result != CL_SUCCESS && result != CL_DEVICE_NOT_FOUND) refusal = result;
    if (result != CL_SUCCESS) continue;
    for (cl_device_id device : devices) found.push_back(Read(f, platform, device));
  }
  if (!found.empty()) return found;
  if (refusal != CL_SUCCESS) return tl::unexpected(OpenClError(refusal, "clGetDeviceIDs"));
  return MakeError(Code::kNotFound, "the OpenCL platforms have no device");
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
