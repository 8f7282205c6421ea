// Where calls of an OpenCL queue must wait, they ask the token that they are given.
#include "devices/opencl/opencl_queue.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/devices/kernel_files.h"
#include "tests/devices/test_token.h"
#include "tests/require.h"

namespace tvmvm {
namespace {

// While it is true, the device seems to be done with nothing.
std::atomic<bool> is_busy{false};
decltype(OpenClFunctions::GetEventInfo) get_event_info = nullptr;

cl_int CL_API_CALL BusyEventInfo(cl_event event, cl_event_info info, size_t size, void* value,
                                 size_t* written) {
  if (!is_busy || info != CL_EVENT_COMMAND_EXECUTION_STATUS)
    return get_event_info(event, info, size, value, written);
  *static_cast<cl_int*>(value) = CL_RUNNING;
  return CL_SUCCESS;
}

TEST(OpenClQueue, LaunchesBeyondTheStatusWordsWaitUntilTheTokenSaysSo) {
  auto found = OpenClFunctions::Get();
  if (!found) TVMVM_SKIP_WITHOUT("opencl", found.error().message);
  OpenClFunctions functions = **found;
  get_event_info = std::exchange(functions.GetEventInfo, &BusyEventInfo);
  const auto hardware = FindOpenClHardware(functions);
  if (!hardware) TVMVM_SKIP_WITHOUT("opencl", hardware.error().message);
  auto context = OpenClContext::Create(functions, hardware->front(), "opencl:0", 0);
  if (!context) TVMVM_SKIP_WITHOUT("opencl", context.error().message);
  KernelSpec kernel;
  kernel.name = kernel.symbol = "mark";
  kernel.device = DeviceClass::kGpu;
  kernel.buffers = {Access::kWrite};
  const std::vector<std::byte> source =
      testing::ReadBytes(SourcePath("tests/devices/kernels/conformance.cl"));
  const KernelLibrarySpec library{DeviceKind::kOpenCl, KernelForm::kOpenClC, "", source};
  auto kernels =
      OpenClKernelSet::Create(*context, CacheFolder(""), std::span(&kernel, 1), std::span(&library, 1), {});
  ASSERT_TRUE(kernels) << kernels.error().message;
  QueueCounts counts;
  auto queue = OpenClQueue::Create(*context, &counts);
  ASSERT_TRUE(queue) << queue.error().message;
  auto piece = (*context)->Allocate(64);
  ASSERT_TRUE(piece) << piece.error().message;
  const DeviceSpan buffer{{nullptr, reinterpret_cast<uint64_t>(*piece), 64}};
  const auto launch = [&](const CancelToken* cancel) {
    LaunchRequest request;
    request.kernels = kernels->get();
    request.buffers = std::span(&buffer, 1);
    return (*queue)->Launch(request, cancel);
  };

  is_busy = true;
  const testing::TestToken never(1);
  for (uint32_t i = 0; i < StatusWords::kCount; ++i) ASSERT_TRUE(launch(&never)) << i;
  EXPECT_EQ(never.asked(), 0) << "there was room";
  for (int round = 1; round < 4; ++round) {
    const testing::TestToken token(round);
    const auto launched = launch(&token);
    ASSERT_FALSE(launched);
    EXPECT_EQ(launched.error().code, Code::kCancelled);
    EXPECT_EQ(launched.error().message, "stopped while waiting for opencl:0");
    EXPECT_EQ(token.asked(), round);
  }
  is_busy = false;
  EXPECT_EQ(counts.launches.load(), StatusWords::kCount);
  const auto launched = launch(nullptr);
  EXPECT_TRUE(launched) << launched.error().message;
  EXPECT_TRUE((*queue)->Wait(nullptr));
  queue->reset();
  (*context)->Free(*piece);
}

}  // namespace
}  // namespace tvmvm
