#include "devices/opencl/opencl_functions.h"

#include <mutex>

#include "devices/driver/shared_library.h"

namespace tvmvm {

Expected<const OpenClFunctions*> OpenClFunctions::Get() {
  static std::mutex mutex;
  static const OpenClFunctions* kept = nullptr;
  std::lock_guard lock(mutex);
  if (kept == nullptr) {
    TVMVM_TRY(std::unique_ptr<const OpenClFunctions> loaded, Load());
    kept = loaded.release();
  }
  return kept;
}

Expected<std::unique_ptr<const OpenClFunctions>> OpenClFunctions::Load() {
  TVMVM_TRY(const SharedLibrary library, SharedLibrary::Open("libOpenCL.so.1"));
  auto f = std::make_unique<OpenClFunctions>();
#define TVMVM_FIND(name)                                     \
  f->name = library.Find<decltype(&::cl##name)>("cl" #name); \
  if (f->name == nullptr) return MakeError(Code::kUnsupported, "the OpenCL loader has no cl" #name);
  TVMVM_OPENCL_FUNCTIONS(TVMVM_FIND)
#undef TVMVM_FIND
  return f;
}

std::string OpenClResultName(cl_int result) {
  switch (result) {
    case CL_DEVICE_NOT_AVAILABLE:
      return "CL_DEVICE_NOT_AVAILABLE";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
      return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
    case CL_OUT_OF_RESOURCES:
      return "CL_OUT_OF_RESOURCES";
    case CL_OUT_OF_HOST_MEMORY:
      return "CL_OUT_OF_HOST_MEMORY";
    case CL_BUILD_PROGRAM_FAILURE:
      return "CL_BUILD_PROGRAM_FAILURE";
    case CL_INVALID_WORK_GROUP_SIZE:
      return "CL_INVALID_WORK_GROUP_SIZE";
    case CL_INVALID_BUFFER_SIZE:
      return "CL_INVALID_BUFFER_SIZE";
    case CL_INVALID_COMMAND_QUEUE:
      return "CL_INVALID_COMMAND_QUEUE";
    default:
      return "OpenCL error " + std::to_string(result);
  }
}

Error OpenClError(cl_int result, const std::string& what) {
  Code code = Code::kUnsupported;
  switch (result) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE:
      code = Code::kOutOfMemory;
      break;
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_INVALID_COMMAND_QUEUE:  // what drivers say of a queue whose device is gone
      code = Code::kDeviceLost;
      break;
    default:
      break;
  }
  return {code, what + ": " + OpenClResultName(result)};
}

}  // namespace tvmvm
