// Runs printed kernels on an OpenCL device, with nothing between: for tests of code generation alone.
#pragma once

#include <CL/cl.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/gpu_codegen.h"

namespace tvmvm::codegen {

class OpenClRunner {
  template <class T, class F>
  static std::unique_ptr<T, F> Held(T* object, F release) {
    return std::unique_ptr<T, F>(object, release);
  }

 public:
  // Null where there is no device; `reason` says why.
  static OpenClRunner* Get(std::string* reason) {
    static std::string why;
    static std::unique_ptr<OpenClRunner> runner = Open(&why);
    *reason = why;
    return runner.get();
  }

  // Runs the whole grid; the code of the first failure, or -1 with `message`.
  int32_t Run(const tensor::LoopKernel& kernel, const std::vector<std::span<std::byte>>& buffers,
              const std::function<std::optional<int64_t>(const ir::SymbolId&)>& symbols,
              std::string* message) {
    KernelSource source{"kernel_under_test", &kernel};
    Expected<std::string> text = PrintOpenClC({&source, 1});
    if (!text) return *message = text.error().message, -1;
    const char* string = text->c_str();
    cl_int error = 0;
    auto program = Held(clCreateProgramWithSource_(context_, 1, &string, nullptr, &error), clReleaseProgram_);
    const char* options = is_cpu_ ? "-cl-std=CL1.2 -w -DTVMVM_SERIAL" : "-cl-std=CL1.2";
    if (clBuildProgram_(program.get(), 1, &device_, options, nullptr, nullptr) != CL_SUCCESS) {
      std::vector<char> log(1 << 16);
      clGetProgramBuildInfo_(program.get(), device_, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), nullptr);
      return *message = std::string(log.data()) + "\n" + *text, -1;
    }
    auto function = Held(clCreateKernel_(program.get(), "kernel_under_test", &error), clReleaseKernel_);
    if (error != CL_SUCCESS) return *message = "no such kernel\n" + *text, -1;
    return Launch(kernel, function.get(), buffers, symbols, message);
  }

 private:
  static constexpr ptrdiff_t kBehind = 256;  // bytes that nobody may write

  static std::unique_ptr<OpenClRunner> Open(std::string* why) {
    void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return *why = "there is no libOpenCL.so.1", nullptr;
    auto runner = std::unique_ptr<OpenClRunner>(new OpenClRunner);
    runner->Load(library);
    std::vector<cl_platform_id> platforms(16);
    cl_uint count = 0;
    if (runner->clGetPlatformIDs_(16, platforms.data(), &count) != CL_SUCCESS) count = 0;
    const char* wanted = std::getenv("TVMVM_TEST_OPENCL");  // part of a platform's name
    for (cl_uint i = 0; i < count; ++i) {
      char name[256] = "";
      runner->clGetPlatformInfo_(platforms[i], CL_PLATFORM_NAME, sizeof name, name, nullptr);
      if (wanted && std::string(name).find(wanted) == std::string::npos) continue;
      if (runner->clGetDeviceIDs_(platforms[i], CL_DEVICE_TYPE_ALL, 1, &runner->device_, nullptr) !=
          CL_SUCCESS)
        continue;
      cl_device_type type = 0;
      runner->clGetDeviceInfo_(runner->device_, CL_DEVICE_TYPE, sizeof type, &type, nullptr);
      runner->is_cpu_ = (type & CL_DEVICE_TYPE_CPU) != 0;
      cl_int error = 0;
      runner->context_ = runner->clCreateContext_(nullptr, 1, &runner->device_, nullptr, nullptr, &error);
      if (error == CL_SUCCESS)
        runner->queue_ = runner->clCreateCommandQueue_(runner->context_, runner->device_, 0, &error);
      if (error == CL_SUCCESS) return runner;
    }
    return *why = "there is no OpenCL device", nullptr;
  }

  int32_t Launch(const tensor::LoopKernel& kernel, cl_kernel function,
                 const std::vector<std::span<std::byte>>& buffers,
                 const std::function<std::optional<int64_t>(const ir::SymbolId&)>& symbols,
                 std::string* message) {
    cl_int error = 0;
    auto make = [&](void* from, size_t bytes) {
      return Held(clCreateBuffer_(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, from, &error),
                  clReleaseMemObject_);
    };
    int32_t code = 0;
    cl_uint next = 0;
    std::vector<decltype(make(nullptr, 0))> memory;
    auto pass = [&](std::span<std::byte> bytes) {
      // At an offset, as suballocated memory is, and with something behind it.
      std::vector<std::byte> padded(64, std::byte{0xaa});
      padded.insert(padded.end(), bytes.begin(), bytes.end());
      padded.resize(padded.size() + kBehind, std::byte{0xaa});
      memory.push_back(make(padded.data(), padded.size()));
      cl_mem handle = memory.back().get();
      cl_ulong offset = 64;
      clSetKernelArg_(function, next++, sizeof handle, &handle);
      clSetKernelArg_(function, next++, sizeof offset, &offset);
    };
    std::span<std::byte> status = std::as_writable_bytes(std::span(&code, 1));
    pass(status);
    for (std::span<std::byte> buffer : buffers) pass(buffer);
    auto value_of = [&](const ir::Dim& dim) {
      return dim.is_constant() ? dim.value() : ir::Evaluate(dim, symbols).value();
    };
    std::vector<cl_long> scalars;
    for (const ir::Dim& dim : tensor::LaunchScalars(kernel)) scalars.push_back(value_of(dim));
    cl_long points = 1;
    for (const ir::Dim& size : kernel.grid_size) points *= value_of(size);
    scalars.push_back(points);
    for (cl_long scalar : scalars) clSetKernelArg_(function, next++, sizeof scalar, &scalar);
    if (points == 0) return 0;
    // Groups in two dimensions, with some that are too many.
    auto groups_x = static_cast<size_t>(std::min<cl_long>(points, 7));
    size_t groups_y = (static_cast<size_t>(points) + groups_x - 1) / groups_x;
    size_t local[3], global[3];
    for (int axis = 0; axis < 3; ++axis)
      local[axis] = is_cpu_ ? 1 : static_cast<size_t>(kernel.group_size[axis]);
    global[0] = groups_x * local[0], global[1] = groups_y * local[1], global[2] = local[2];
    error = clEnqueueNDRangeKernel_(queue_, function, 3, nullptr, global, local, 0, nullptr, nullptr);
    if (error != CL_SUCCESS) return *message = "launch failed: " + std::to_string(error), -1;
    auto read = [&](size_t i, std::span<std::byte> to) {
      std::vector<std::byte> all(to.size() + kBehind);
      if (clEnqueueReadBuffer_(queue_, memory[i].get(), CL_TRUE, 64, all.size(), all.data(), 0, nullptr,
                               nullptr) != CL_SUCCESS)
        *message = "reading failed";
      std::copy_n(all.begin(), to.size(), to.begin());
      if (std::count(all.end() - kBehind, all.end(), std::byte{0xaa}) != kBehind)
        *message = "something was written behind buffer " + std::to_string(i);
    };
    read(0, status);
    for (size_t i = 0; i < buffers.size(); ++i) read(i + 1, buffers[i]);
    return message->empty() ? code : -1;
  }

  bool is_cpu_ = false;  // a group is one work-item there

#define TVMVM_CL_FUNCTIONS(X)                                                                         \
  X(clGetPlatformIDs)                                                                                 \
  X(clGetPlatformInfo)                                                                                \
  X(clGetDeviceIDs)                                                                                   \
  X(clGetDeviceInfo)                                                                                  \
  X(clCreateContext)                                                                                  \
  X(clCreateCommandQueue)                                                                             \
  X(clCreateProgramWithSource)                                                                        \
  X(clBuildProgram)                                                                                   \
  X(clGetProgramBuildInfo) X(clCreateKernel) X(clReleaseKernel) X(clReleaseProgram) X(clCreateBuffer) \
      X(clReleaseMemObject) X(clSetKernelArg) X(clEnqueueNDRangeKernel) X(clEnqueueReadBuffer)
#define TVMVM_CL_DECLARE(name) decltype(&::name) name##_ = nullptr;
  TVMVM_CL_FUNCTIONS(TVMVM_CL_DECLARE)
  void Load(void* library) {
#define TVMVM_CL_LOAD(name) name##_ = reinterpret_cast<decltype(&::name)>(dlsym(library, #name));
    TVMVM_CL_FUNCTIONS(TVMVM_CL_LOAD)
  }
#undef TVMVM_CL_FUNCTIONS
#undef TVMVM_CL_DECLARE
#undef TVMVM_CL_LOAD

  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
};

}  // namespace tvmvm::codegen
