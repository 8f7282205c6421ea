// The OpenCL functions that this device calls, found at run time.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <memory>
#include <string>

#include "tvm-vm/status.h"

namespace tvmvm {

#define TVMVM_OPENCL_FUNCTIONS(X) \
  X(GetPlatformIDs)               \
  X(GetPlatformInfo)              \
  X(GetDeviceIDs)                 \
  X(GetDeviceInfo)                \
  X(CreateContext)                \
  X(ReleaseContext)               \
  X(CreateCommandQueue)           \
  X(ReleaseCommandQueue)          \
  X(CreateBuffer)                 \
  X(ReleaseMemObject)             \
  X(CreateProgramWithSource)      \
  X(CreateProgramWithBinary)      \
  X(BuildProgram)                 \
  X(GetProgramInfo)               \
  X(GetProgramBuildInfo)          \
  X(ReleaseProgram)               \
  X(CreateKernel)                 \
  X(GetKernelWorkGroupInfo)       \
  X(GetKernelInfo)                \
  X(SetKernelArg)                 \
  X(ReleaseKernel)                \
  X(EnqueueNDRangeKernel)         \
  X(EnqueueReadBuffer)            \
  X(EnqueueWriteBuffer)           \
  X(EnqueueCopyBuffer)            \
  X(EnqueueFillBuffer)            \
  X(EnqueueMarkerWithWaitList)    \
  X(GetEventInfo)                 \
  X(ReleaseEvent)                 \
  X(Flush)                        \
  X(Finish)

struct OpenClFunctions {
#define TVMVM_OPENCL_DECLARE(name) decltype(&::cl##name) name = nullptr;
  TVMVM_OPENCL_FUNCTIONS(TVMVM_OPENCL_DECLARE)
#undef TVMVM_OPENCL_DECLARE

  // Opens the loader, once for the process, which keeps it to its end. Thread-safe. An error is not
  // remembered. Errors: kNotFound; kUnsupported for one older than 1.2.
  static Expected<const OpenClFunctions*> Get();

 private:
  static Expected<std::unique_ptr<const OpenClFunctions>> Load();
};

// "CL_OUT_OF_RESOURCES", ...; the number where it has no name here.
std::string OpenClResultName(cl_int result);
// kOutOfMemory, kDeviceLost or kUnsupported by the result; `what` was being done.
Error OpenClError(cl_int result, const std::string& what);

}  // namespace tvmvm
