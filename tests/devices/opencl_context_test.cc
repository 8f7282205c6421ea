// What results of the driver mean, with a driver that does nothing.
#include "devices/opencl/opencl_context.h"

#include <gtest/gtest.h>

namespace tvmvm {
namespace {

// Gives every buffer the same address, as a driver may once the one before is gone.
OpenClFunctions NothingDriver() {
  OpenClFunctions f;
  f.CreateContext = [](const cl_context_properties*, cl_uint, const cl_device_id*,
                       void(CL_CALLBACK*)(const char*, const void*, size_t, void*), void*,
                       cl_int* result) -> cl_context {
    *result = CL_SUCCESS;
    return nullptr;
  };
  f.CreateBuffer = [](cl_context, cl_mem_flags, size_t, void*, cl_int* result) -> cl_mem {
    static int memory = 0;
    *result = CL_SUCCESS;
    return reinterpret_cast<cl_mem>(&memory);
  };
  f.ReleaseMemObject = [](cl_mem) -> cl_int { return CL_SUCCESS; };
  return f;
}

OpenClHardware NoHardware() {
  OpenClHardware hardware;
  hardware.largest_allocation = 1 << 30;
  return hardware;
}

TEST(OpenClContext, WorkThatLacksResourcesMeansThatTheDeviceIsLost) {
  const OpenClFunctions driver = NothingDriver();
  auto context = OpenClContext::Create(driver, NoHardware(), "opencl:0", 0);
  ASSERT_TRUE(context) << context.error().message;
  Status status = (*context)->CheckKernel(CL_OUT_OF_RESOURCES, "clBuildProgram");
  EXPECT_EQ(status.error().code, Code::kUnsupported) << "a kernel may need too much";
  EXPECT_TRUE((*context)->CheckHealth());
  EXPECT_TRUE((*context)->CheckWork(CL_SUCCESS, "clFinish"));

  status = (*context)->CheckWork(CL_OUT_OF_RESOURCES, "clFinish");
  EXPECT_EQ(status.error().code, Code::kDeviceLost);
  EXPECT_EQ(status.error().message, "opencl:0: clFinish: CL_OUT_OF_RESOURCES");
  EXPECT_EQ((*context)->CheckHealth().error().code, Code::kDeviceLost);
}

TEST(OpenClContext, ABlockIsNotTheOneThatHadItsAddress) {
  const OpenClFunctions driver = NothingDriver();
  auto context = OpenClContext::Create(driver, NoHardware(), "opencl:0", 0);
  ASSERT_TRUE(context) << context.error().message;
  constexpr int64_t kLarge = 600 << 20;  // a block of its own, which is not kept
  auto first = (*context)->Allocate(kLarge);
  ASSERT_TRUE(first) << first.error().message;
  const cl_mem buffer = OpenClContext::BufferOf(**first);
  const uint64_t id = OpenClContext::BlockIdOf(**first);
  (*context)->Free(*first);
  auto second = (*context)->Allocate(kLarge + (64 << 20));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(OpenClContext::BufferOf(**second), buffer);
  EXPECT_NE(OpenClContext::BlockIdOf(**second), id);
  (*context)->Free(*second);
}

}  // namespace
}  // namespace tvmvm
