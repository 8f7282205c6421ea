// What drivers say when something fails, and what is made of it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "devices/opencl/opencl_functions.h"
#include "devices/vulkan/vulkan_functions.h"
#include "tests/faults/driver_calls.h"
#include "tests/faults/fail_each.h"

namespace tvmvm::testing {

struct DriverFault : Fault {
  std::string device;
  std::vector<Code> codes;  // of errors that it may become

  bool loses_device() const { return std::ranges::count(codes, Code::kDeviceLost) > 0; }
  // The error has the code, and says what the driver said, or that there is no device any more.
  bool Explains(const Error& problem) const {
    const std::string said =
        kinds == kOpenCl ? OpenClResultName(error) : VulkanResultName(static_cast<VkResult>(error));
    return std::ranges::count(codes, problem.code) > 0 &&
           (problem.message.find(said) != std::string::npos ||
            (loses_device() && problem.message.ends_with("the device is lost")));
  }
};

inline std::vector<DriverFault> DriverFaults() {
  struct Row {
    uint32_t kind;
    const char* name;
    int error;
    std::vector<Code> codes;
  };
  const Row rows[] = {
      {kOpenCl, "NoMemory", CL_MEM_OBJECT_ALLOCATION_FAILURE, {Code::kOutOfMemory}},
      {kOpenCl, "NoHostMemory", CL_OUT_OF_HOST_MEMORY, {Code::kOutOfMemory}},
      // Of a kernel that needs too much, of memory, or of a device that a kernel has brought down.
      {kOpenCl,
       "NoResources",
       CL_OUT_OF_RESOURCES,
       {Code::kOutOfMemory, Code::kUnsupported, Code::kDeviceLost}},
      {kOpenCl, "Lost", CL_DEVICE_NOT_AVAILABLE, {Code::kDeviceLost}},
      {kVulkan, "NoMemory", VK_ERROR_OUT_OF_DEVICE_MEMORY, {Code::kOutOfMemory}},
      {kVulkan, "NoHostMemory", VK_ERROR_OUT_OF_HOST_MEMORY, {Code::kOutOfMemory}},
      {kVulkan, "Lost", VK_ERROR_DEVICE_LOST, {Code::kDeviceLost}},
  };
  std::vector<DriverFault> faults;
  for (const Row& row : rows)
    for (const Then then : {Then::kOnce, Then::kOnwards}) {
      const std::string device = row.kind == kOpenCl ? "opencl" : "vulkan";
      const std::string name = (row.kind == kOpenCl ? "OpenCl" : "Vulkan") + std::string(row.name) +
                               (then == Then::kOnce ? "Once" : "Onwards");
      DriverFault& fault = faults.emplace_back();
      fault.name = name;
      fault.kinds = row.kind;
      fault.then = then;
      fault.error = row.error;
      fault.loses_memory = true;  // drivers do
      fault.device = device;
      fault.codes = row.codes;
    }
  return faults;
}

}  // namespace tvmvm::testing
