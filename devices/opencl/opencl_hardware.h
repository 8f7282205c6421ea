// OpenCL devices as they describe themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "devices/opencl/opencl_functions.h"
#include "tvm-vm/device.h"
#include "tvm-vm/target_info.h"

namespace tvmvm {

struct OpenClHardware {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  std::string platform_name, name, driver, version;
  std::string unusable;         // "" or what is missing
  cl_int refusal = CL_SUCCESS;  // what it said when it did not answer; it is unusable then, too
  int64_t memory_bytes = 0, largest_allocation = 0, shared_memory_bytes = 0;
  int max_group_size = 1, vector_width = 1;
  bool is_cpu = false, is_gpu = false, unified_memory = false;
  // PoCL has a cache on disk that takes each kernel as it is launched; asked for a program's binary, it would
  // compile all kernels, and once more those that are launched.
  bool keeps_cache = false;
  bool has_f16 = false, has_f64 = false, has_exact_division = false;
};

// All devices of all platforms that answer. Errors: kNotFound saying what is missing; what the driver says
// where none answers.
Expected<std::vector<OpenClHardware>> FindOpenClHardware(const OpenClFunctions& f);
// `shares_memory`: as found out when it was opened.
DeviceDescription Describe(const OpenClHardware& hardware, bool shares_memory);
TargetInfo TargetOf(const OpenClHardware& hardware, bool shares_memory);

}  // namespace tvmvm
