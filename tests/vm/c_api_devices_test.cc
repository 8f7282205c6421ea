// Devices through the C interface: their list, programs and tensors on them, and what they count.
#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <utility>

#include "tests/vm/c_api_session.h"
#include "tvm-vm/assembler.h"
#include "tvm-vm/c_api.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

using ::testing::HasSubstr;
using testing::Take;

TEST(CApiDevices, TheListHasTheCpuFirst) {
  tvmvm_device_list* list = nullptr;
  ASSERT_EQ(Take(tvmvm_device_list_create(&list)), "");
  ASSERT_GE(tvmvm_device_list_size(list), 1u);
  EXPECT_STREQ(tvmvm_device_list_name(list, 0), "cpu");
  EXPECT_STRNE(tvmvm_device_list_hardware(list, 0), "");
  EXPECT_STRNE(tvmvm_device_list_api(list, 0), "");
  EXPECT_STREQ(tvmvm_device_list_unusable(list, 0), "");
  for (size_t i = 0; i < tvmvm_device_list_size(list); ++i) {
    EXPECT_GT(tvmvm_device_list_memory_bytes(list, i), 0) << i;
    EXPECT_NE(tvmvm_device_list_driver(list, i), nullptr) << i;
  }
  tvmvm_device_list_free(list);
  EXPECT_EQ(Take(tvmvm_device_list_create(nullptr)), "list is null");
  tvmvm_device_list_free(nullptr);
}

TEST(CApiDevices, OpensByName) {
  tvmvm_device* device = nullptr;
  EXPECT_THAT(Take(tvmvm_device_open("abacus", nullptr, &device)), HasSubstr("no kind of devices 'abacus'"));
  EXPECT_EQ(Take(tvmvm_device_open(nullptr, nullptr, &device)), "selection or device is null");
  tvmvm_device_options small = {};
  small.size = 1;
  EXPECT_THAT(Take(tvmvm_device_open("cpu", &small, &device)), HasSubstr("options.size is 1, at least "));
  ASSERT_EQ(Take(tvmvm_device_open("cpu", nullptr, &device)), "");
  EXPECT_STREQ(tvmvm_device_name(device), "cpu");
  tvmvm_device_free(device);
  tvmvm_device_free(nullptr);
}

// A program with an entry for GPUs that copies its input there and back.
tvmvm_program* GpuProgram() {
  auto program = Assemble(R"---(
entry @main
entry [1, 0] @gpu
kernel @k gpu symbol "k" scalars 0 buffers [readwrite]
func @main("x": i64[2]) -> ("y": i64[2]) frame 1, 1 {
  return [], [r0]
}
func @gpu("x": i64[2]) -> ("y": i64[2]) frame 4, 3 {
  i0 = const 0
  i1 = const 1
  i2 = const 2
  i3 = const 16
  r1 = output 0, [i2]
  r2 = arena.on 1, i3
  copy [r2, r0], i3
  launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [r2]
  copy [r1, r2], i3
  return [], [r1]
}
)---");
  EXPECT_TRUE(program) << program.error().message;
  if (!program) return nullptr;
  auto bytes = SerializeProgram(**program);
  tvmvm_program* loaded = nullptr;
  EXPECT_EQ(Take(tvmvm_program_load_from_memory(bytes->data(), bytes->size(), &loaded)), "");
  return loaded;
}

// That program on the null device.
class CApiGpu : public ::testing::Test {
 protected:
  // `max_bytes`: the device's budget; 0: none.
  void Open(int64_t max_bytes) {
    program_ = GpuProgram();
    ASSERT_NE(program_, nullptr);
    tvmvm_device_options device_options = {};
    device_options.size = sizeof device_options;
    device_options.max_bytes = max_bytes;
    ASSERT_EQ(Take(tvmvm_device_open("null", &device_options, &device_)), "");
    const tvmvm_device* devices[] = {device_};
    tvmvm_vm_options options = {};
    options.size = sizeof options;
    options.threads = 1;
    options.devices = devices;
    options.device_count = 1;
    ASSERT_EQ(Take(tvmvm_vm_create(program_, &options, &vm_)), "");
    ASSERT_EQ(Take(tvmvm_invocation_create(vm_, &invocation_)), "");
    ASSERT_EQ(Take(tvmvm_tensor_borrow(TVMVM_I64, kDims, 1, x_, &input_)), "");
  }
  void TearDown() override {
    tvmvm_device_free(device_);
    tvmvm_program_free(program_);
    tvmvm_vm_free(vm_);
    tvmvm_invocation_free(invocation_);
    tvmvm_tensor_free(input_);
    tvmvm_tensor_free(output_);
  }

  static constexpr int64_t kDims[] = {2};
  int64_t x_[2] = {3, 4};
  tvmvm_program* program_ = nullptr;
  tvmvm_device* device_ = nullptr;
  tvmvm_vm* vm_ = nullptr;
  tvmvm_invocation* invocation_ = nullptr;
  tvmvm_tensor *input_ = nullptr, *output_ = nullptr;
};

TEST_F(CApiGpu, RunsOnADeviceAndCounts) {
  ASSERT_NO_FATAL_FAILURE(Open(0));
  size_t kernels = 0;
  EXPECT_EQ(Take(tvmvm_device_warm(device_, program_, &kernels)), "");
  EXPECT_EQ(kernels, 1u);
  ASSERT_EQ(tvmvm_vm_device_count(vm_), 2u);
  EXPECT_STREQ(tvmvm_vm_device_name(vm_, 0), "cpu");
  EXPECT_STREQ(tvmvm_vm_device_name(vm_, 1), "null");
  EXPECT_EQ(tvmvm_vm_device_kernel_count(vm_, 0), 0u);
  EXPECT_EQ(tvmvm_vm_device_kernel_count(vm_, 1), 1u);
  EXPECT_EQ(Take(tvmvm_invocation_run(invocation_, &input_, 1, &output_, 1)), "");
  EXPECT_EQ(static_cast<int64_t*>(tvmvm_tensor_data(output_))[1], 4);
  tvmvm_device_statistics statistics = {};
  EXPECT_THAT(Take(tvmvm_device_get_statistics(device_, &statistics)), HasSubstr("statistics.size is 0"));
  statistics.size = sizeof statistics;
  ASSERT_EQ(Take(tvmvm_device_get_statistics(device_, &statistics)), "");
  EXPECT_EQ(statistics.launches, 1);
  EXPECT_EQ(statistics.waits, 1);
  EXPECT_GE(statistics.live_bytes, 16);
  EXPECT_GE(statistics.held_bytes, statistics.live_bytes);
}

TEST_F(CApiGpu, ObjectsKeepWhatTheyNeed) {
  ASSERT_NO_FATAL_FAILURE(Open(0));
  tvmvm_device_free(std::exchange(device_, nullptr));
  tvmvm_program_free(std::exchange(program_, nullptr));
  tvmvm_vm_free(std::exchange(vm_, nullptr));
  EXPECT_EQ(Take(tvmvm_invocation_run(invocation_, &input_, 1, &output_, 1)), "");
  EXPECT_EQ(static_cast<int64_t*>(tvmvm_tensor_data(output_))[0], 3);
}

TEST_F(CApiGpu, ABudgetBoundsADevice) {
  ASSERT_NO_FATAL_FAILURE(Open(8));
  tvmvm_status* status = tvmvm_invocation_run(invocation_, &input_, 1, &output_, 1);
  EXPECT_EQ(tvmvm_status_code(status), TVMVM_OUT_OF_MEMORY) << tvmvm_status_message(status);
  tvmvm_status_free(status);
}

TEST_F(CApiGpu, TensorsStayOnTheDevice) {
  ASSERT_NO_FATAL_FAILURE(Open(0));
  tvmvm_tensor *there = nullptr, *result = nullptr;
  ASSERT_EQ(Take(tvmvm_tensor_copy_to(input_, device_, &there)), "");
  EXPECT_STREQ(tvmvm_tensor_device_name(there), "null");
  EXPECT_STREQ(tvmvm_tensor_device_name(input_), "");
  EXPECT_EQ(tvmvm_tensor_data(there), nullptr);
  EXPECT_EQ(tvmvm_tensor_byte_count(there), 16);
  ASSERT_EQ(Take(tvmvm_tensor_allocate_on(device_, TVMVM_I64, kDims, 1, &result)), "");
  EXPECT_EQ(Take(tvmvm_invocation_run(invocation_, &there, 1, &result, 1)), "");
  ASSERT_EQ(Take(tvmvm_tensor_copy_to(result, nullptr, &output_)), "");
  EXPECT_EQ(static_cast<int64_t*>(tvmvm_tensor_data(output_))[1], 4);
  x_[1] = 5;
  ASSERT_EQ(Take(tvmvm_tensor_copy_from(there, input_)), "");
  ASSERT_EQ(Take(tvmvm_tensor_copy_from(output_, there)), "");
  EXPECT_EQ(static_cast<int64_t*>(tvmvm_tensor_data(output_))[1], 5);
  // The tensor keeps its device.
  tvmvm_device_free(std::exchange(device_, nullptr));
  EXPECT_STREQ(tvmvm_tensor_device_name(there), "null");
  tvmvm_tensor_free(there);
  tvmvm_tensor_free(result);
}

TEST_F(CApiGpu, TensorsOnTheDeviceThatCannotBe) {
  ASSERT_NO_FATAL_FAILURE(Open(1000));
  tvmvm_tensor* there = nullptr;
  const int64_t many[] = {1000};
  EXPECT_THAT(Take(tvmvm_tensor_allocate_on(device_, TVMVM_I64, many, 1, &there)), HasSubstr("8000 bytes"));
  EXPECT_THAT(Take(tvmvm_tensor_allocate_on(device_, TVMVM_STRING, kDims, 1, &there)),
              HasSubstr("strings are on the cpu"));
  EXPECT_EQ(Take(tvmvm_tensor_allocate_on(nullptr, TVMVM_I64, kDims, 1, &there)), "device or tensor is null");
  EXPECT_EQ(Take(tvmvm_tensor_copy_to(nullptr, device_, &there)), "tensor or copy is null");
  EXPECT_EQ(Take(tvmvm_tensor_copy_from(input_, nullptr)), "tensor or source is null");
  EXPECT_EQ(there, nullptr);
  ASSERT_EQ(Take(tvmvm_tensor_copy_to(input_, device_, &there)), "");
  DLManagedTensor* managed = nullptr;
  EXPECT_THAT(Take(tvmvm_tensor_to_dlpack(there, &managed)), HasSubstr("in the memory of null"));
  tvmvm_tensor* other = nullptr;
  ASSERT_EQ(Take(tvmvm_tensor_allocate(TVMVM_I32, kDims, 1, &other)), "");
  EXPECT_EQ(Take(tvmvm_tensor_copy_from(there, other)), "i32[2] given for a copy, i64[2] is wanted");
  tvmvm_tensor_free(other);
  tvmvm_tensor_free(there);
}

// Options of callers that were compiled when there were no devices among them.
TEST(CApiDevices, OldOptionsAreStillTaken) {
  tvmvm_program* program = GpuProgram();
  ASSERT_NE(program, nullptr);
  tvmvm_vm_options options = {};
  options.size = offsetof(tvmvm_vm_options, devices);
  options.devices = reinterpret_cast<const tvmvm_device* const*>(1);  // not theirs
  options.device_count = 7;
  tvmvm_vm* vm = nullptr;
  ASSERT_EQ(Take(tvmvm_vm_create(program, &options, &vm)), "");
  EXPECT_EQ(tvmvm_vm_device_count(vm), 1u);
  tvmvm_vm_free(vm);
  vm = nullptr;
  options.size -= 1;
  EXPECT_THAT(Take(tvmvm_vm_create(program, &options, &vm)), HasSubstr("options.size is 15, at least 16"));
  options = {};
  options.size = sizeof options;
  options.device_count = 1;
  options.devices = nullptr;
  EXPECT_EQ(Take(tvmvm_vm_create(program, &options, &vm)), "options.devices is null");
  const tvmvm_device* none[] = {nullptr};
  options.devices = none;
  options.device_count = 1;
  EXPECT_EQ(Take(tvmvm_vm_create(program, &options, &vm)), "a device is null");
  tvmvm_program_free(program);
}

}  // namespace
}  // namespace tvmvm
