#include "tvm-vm/c_api.h"

#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/vm/c_api_session.h"
#include "tvm-vm/assembler.h"
#include "tvm-vm/vmexe.h"
#include "vm/c/objects.h"

namespace tvmvm {
namespace {

using ::testing::HasSubstr;
using testing::Take;

// y = x + 1, element by element, by the machine itself; words = a constant.
constexpr std::string_view kProgram = R"---(
entry @main
constant c0 "words": string[1] strings ["hello"]
func @main("x": i64[n, 2]) -> ("y": i64["n*2"], "words": string[1]) frame 8, 3 {
  i0 = const 0
  i1 = const 1
  i2 = const 8
  i3 = dim r0, 0
  i3 = add i3, i3
  r1 = output 0, [i3]
  i4 = mul i3, i2
again:
  i5 = lt i0, i4
  branch.ifnot i5, end
  i6 = load r0, i0, i64
  i6 = add i6, i1
  store r1, i0, i64, i6
  i0 = add i0, i2
  jump again
end:
  r2 = constant c0
  return [], [r1, r2]
}
)---";

// The code and the message of what a function of the interface gives where its body throws.
template <class Exception>
std::pair<tvmvm_code, std::string> Thrown(const Exception& exception) {
  tvmvm_status* status = c::Guarded([&]() -> Status { throw exception; });
  std::pair<tvmvm_code, std::string> result{tvmvm_status_code(status), tvmvm_status_message(status)};
  tvmvm_status_free(status);
  return result;
}

TEST(CExceptions, OnlyMissingMemoryIsMissingMemory) {
  EXPECT_EQ(Thrown(std::bad_alloc()), std::pair(TVMVM_OUT_OF_MEMORY, std::string("no memory left")));
  EXPECT_EQ(Thrown(std::runtime_error("disk on fire")),
            std::pair(TVMVM_INTERNAL, std::string("an exception came up: disk on fire")));
  EXPECT_EQ(Thrown(7), std::pair(TVMVM_INTERNAL,
                                 std::string("an exception came up: not one of the standard library's")));
}

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    auto program = Assemble(kProgram);
    ASSERT_TRUE(program) << program.error().message;
    auto bytes = SerializeProgram(**program);
    ASSERT_TRUE(bytes) << bytes.error().message;
    ASSERT_EQ(Take(tvmvm_program_load_from_memory(bytes->data(), bytes->size(), &program_)), "");
    ASSERT_EQ(Take(tvmvm_vm_create(program_, nullptr, &vm_)), "");
    ASSERT_EQ(Take(tvmvm_invocation_create(vm_, &invocation_)), "");
  }
  void TearDown() override {
    // In the "wrong" order: each object keeps what it needs.
    tvmvm_program_free(program_);
    tvmvm_vm_free(vm_);
    tvmvm_invocation_free(invocation_);
  }

  std::string Run(const tvmvm_tensor* input, tvmvm_tensor** outputs, size_t output_count = 2) {
    return Take(tvmvm_invocation_run(invocation_, &input, 1, outputs, output_count));
  }

  tvmvm_program* program_ = nullptr;
  tvmvm_vm* vm_ = nullptr;
  tvmvm_invocation* invocation_ = nullptr;
};

TEST_F(CApi, DescribesTheSignature) {
  EXPECT_EQ(tvmvm_program_input_count(program_), 1u);
  EXPECT_EQ(tvmvm_program_output_count(program_), 2u);
  EXPECT_STREQ(tvmvm_program_input_name(program_, 0), "x");
  EXPECT_STREQ(tvmvm_program_output_name(program_, 1), "words");
  EXPECT_EQ(tvmvm_program_input_dtype(program_, 0), TVMVM_I64);
  EXPECT_EQ(tvmvm_program_output_dtype(program_, 1), TVMVM_STRING);
  EXPECT_EQ(tvmvm_program_input_rank(program_, 0), 2);
  EXPECT_EQ(tvmvm_program_input_dim(program_, 0, 0), -1);
  EXPECT_STREQ(tvmvm_program_input_symbol(program_, 0, 0), "n");
  EXPECT_EQ(tvmvm_program_input_dim(program_, 0, 1), 2);
  EXPECT_STREQ(tvmvm_program_output_symbol(program_, 0, 0), "n*2");
}

TEST_F(CApi, RunsWithNewAndGivenOutputs) {
  int64_t data[4] = {1, 2, 3, 4};
  const int64_t dims[2] = {2, 2};
  tvmvm_tensor* x = nullptr;
  ASSERT_EQ(Take(tvmvm_tensor_borrow(TVMVM_I64, dims, 2, data, &x)), "");
  tvmvm_tensor* outputs[2] = {nullptr, nullptr};
  ASSERT_EQ(Run(x, outputs), "");
  EXPECT_EQ(tvmvm_tensor_rank(outputs[0]), 1);
  EXPECT_EQ(tvmvm_tensor_dim(outputs[0], 0), 4);
  EXPECT_EQ(tvmvm_tensor_dim(outputs[0], 7), -1);
  EXPECT_EQ(static_cast<int64_t*>(tvmvm_tensor_data(outputs[0]))[3], 5);
  const char* text = nullptr;
  size_t size = 0;
  ASSERT_EQ(Take(tvmvm_tensor_get_string(outputs[1], 0, &text, &size)), "");
  EXPECT_EQ(std::string(text, size), "hello");
  EXPECT_THAT(Take(tvmvm_tensor_get_string(outputs[1], 1, &text, &size)),
              HasSubstr("string 1 of a tensor of 1"));
  EXPECT_EQ(Take(tvmvm_tensor_set_string(outputs[1], 0, "bye", 3)), "");

  data[3] = 10;  // and once more into the same tensors
  ASSERT_EQ(Run(x, outputs), "");
  EXPECT_EQ(static_cast<int64_t*>(tvmvm_tensor_data(outputs[0]))[3], 11);
  ASSERT_EQ(Take(tvmvm_tensor_get_string(outputs[1], 0, &text, &size)), "");
  EXPECT_EQ(std::string(text, size), "hello");
  EXPECT_GT(tvmvm_invocation_peak_bytes(invocation_), 0);
  tvmvm_invocation_trim(invocation_);
  for (tvmvm_tensor* tensor : {x, outputs[0], outputs[1]}) tvmvm_tensor_free(tensor);
}

TEST_F(CApi, SharesTensorsByDLPack) {
  const int64_t dims[2] = {1, 2};
  tvmvm_tensor* x = nullptr;
  ASSERT_EQ(Take(tvmvm_tensor_allocate(TVMVM_I64, dims, 2, &x)), "");
  static_cast<int64_t*>(tvmvm_tensor_data(x))[0] = 41;
  DLManagedTensor* managed = nullptr;
  ASSERT_EQ(Take(tvmvm_tensor_to_dlpack(x, &managed)), "");
  tvmvm_tensor* same = nullptr;
  ASSERT_EQ(Take(tvmvm_tensor_from_dlpack(managed, &same)), "");
  EXPECT_EQ(tvmvm_tensor_data(same), tvmvm_tensor_data(x));
  tvmvm_tensor_free(x);
  tvmvm_tensor* outputs[2] = {nullptr, nullptr};
  ASSERT_EQ(Run(same, outputs), "");
  EXPECT_EQ(static_cast<int64_t*>(tvmvm_tensor_data(outputs[0]))[0], 42);
  for (tvmvm_tensor* tensor : {same, outputs[0], outputs[1]}) tvmvm_tensor_free(tensor);
}

TEST_F(CApi, ErrorsLeaveOutputsAlone) {
  const int64_t wrong[2] = {2, 3};
  tvmvm_tensor* x = nullptr;
  ASSERT_EQ(Take(tvmvm_tensor_allocate(TVMVM_I64, wrong, 2, &x)), "");
  tvmvm_tensor* outputs[2] = {nullptr, nullptr};
  EXPECT_THAT(Run(x, outputs), HasSubstr("input 'x': dimension 1 must be 2, given 3"));
  EXPECT_EQ(outputs[0], nullptr);
  EXPECT_THAT(Run(nullptr, outputs), HasSubstr("input 'x': no tensor given"));
  const int64_t right[2] = {2, 2};
  tvmvm_tensor* fits = nullptr;
  ASSERT_EQ(Take(tvmvm_tensor_allocate(TVMVM_I64, right, 2, &fits)), "");
  EXPECT_THAT(Run(fits, outputs, 1), HasSubstr("room for 1 outputs given, the program has 2"));
  tvmvm_tensor_free(fits);
  EXPECT_THAT(Take(tvmvm_invocation_run(nullptr, nullptr, 0, nullptr, 0)), HasSubstr("invocation is null"));
  tvmvm_tensor_free(x);
}

TEST_F(CApi, LimitsAndCancel) {
  const int64_t dims[2] = {1000, 2};
  tvmvm_tensor* x = nullptr;
  ASSERT_EQ(Take(tvmvm_tensor_allocate(TVMVM_I64, dims, 2, &x)), "");
  for (int i = 0; i < 2000; ++i) static_cast<int64_t*>(tvmvm_tensor_data(x))[i] = i;
  tvmvm_tensor* outputs[2] = {nullptr, nullptr};
  tvmvm_invocation_set_limits(invocation_, 0, 500, 0);
  tvmvm_status* status = tvmvm_invocation_run(invocation_, &x, 1, outputs, 2);
  EXPECT_EQ(tvmvm_status_code(status), TVMVM_DEADLINE_EXCEEDED);
  tvmvm_status_free(status);
  tvmvm_invocation_set_limits(invocation_, 100, 0, 0);
  status = tvmvm_invocation_run(invocation_, &x, 1, outputs, 2);
  EXPECT_EQ(tvmvm_status_code(status), TVMVM_OUT_OF_MEMORY);
  tvmvm_status_free(status);
  tvmvm_invocation_set_limits(invocation_, 0, 0, 0);
  tvmvm_invocation_cancel(invocation_);
  status = tvmvm_invocation_run(invocation_, &x, 1, outputs, 2);
  EXPECT_EQ(tvmvm_status_code(status), TVMVM_CANCELLED);
  tvmvm_status_free(status);
  tvmvm_tensor_free(x);
}

TEST(CApiErrors, BadArgumentsAndFiles) {
  tvmvm_program* program = nullptr;
  tvmvm_status* status = tvmvm_program_load("/nonexistent/model.vmexe", &program);
  EXPECT_EQ(tvmvm_status_code(status), TVMVM_NOT_FOUND);
  EXPECT_THAT(Take(status), HasSubstr("/nonexistent/model.vmexe"));
  EXPECT_EQ(program, nullptr);
  EXPECT_THAT(Take(tvmvm_program_load(nullptr, &program)), HasSubstr("null"));
  const char garbage[] = "garbage";
  EXPECT_NE(Take(tvmvm_program_load_from_memory(garbage, sizeof garbage, &program)), "");
  tvmvm_tensor* tensor = nullptr;
  EXPECT_THAT(Take(tvmvm_tensor_allocate(static_cast<tvmvm_dtype>(99), nullptr, 0, &tensor)),
              HasSubstr("no element type 99"));
  EXPECT_THAT(Take(tvmvm_tensor_allocate(TVMVM_F32, nullptr, 3, &tensor)), HasSubstr("dims is null"));
  EXPECT_THAT(Take(tvmvm_tensor_allocate(TVMVM_F32, nullptr, -1, &tensor)), HasSubstr("rank -1"));
  const std::vector<int64_t> many(33, 1);
  EXPECT_THAT(Take(tvmvm_tensor_allocate(TVMVM_F32, many.data(), 33, &tensor)),
              HasSubstr("rank 33, wanted 0 to 32"));
  EXPECT_EQ(Take(tvmvm_tensor_allocate(TVMVM_F32, many.data(), 32, &tensor)), "");
  EXPECT_EQ(tvmvm_tensor_rank(tensor), 32);
  tvmvm_tensor_free(std::exchange(tensor, nullptr));
  EXPECT_THAT(Take(tvmvm_tensor_borrow(TVMVM_STRING, nullptr, 0, nullptr, &tensor)), HasSubstr("strings"));
  EXPECT_EQ(tvmvm_status_code(nullptr), TVMVM_OK);
  EXPECT_STREQ(tvmvm_status_message(nullptr), "");
  tvmvm_status_free(nullptr);
  tvmvm_program_free(nullptr);
  tvmvm_vm_free(nullptr);
  tvmvm_invocation_free(nullptr);
  tvmvm_tensor_free(nullptr);
}

// Sequences, optionals and tuples: the sequence without its first element, the optional, a tuple of both.
constexpr std::string_view kValues = R"---(
entry @main
func @main("s": sequence<i64[?]>, "o": optional<f32[2]>) -> ("t": sequence<i64[?]>, "p": optional<f32[2]>, "u": tuple<>, "x": i64[?]) frame 2, 5 {
  i0 = const 0
  i1 = const 9
  [], [r2] = host 3, [i0, i0], [r0]
  [], [r3] = host 20, [i1], [r2, r1]
  [], [r4] = host 4, [i0], [r0]
  return [], [r2, r1, r3, r4]
}
)---";

tvmvm_value* Number(int64_t number) {
  const int64_t one = 1;
  tvmvm_tensor* tensor = nullptr;
  tvmvm_value* value = nullptr;
  EXPECT_EQ(Take(tvmvm_tensor_allocate(TVMVM_I64, &one, 1, &tensor)), "");
  *static_cast<int64_t*>(tvmvm_tensor_data(tensor)) = number;
  EXPECT_EQ(Take(tvmvm_value_from_tensor(tensor, &value)), "");
  tvmvm_tensor_free(tensor);
  return value;
}

int64_t NumberIn(const tvmvm_value* value) {
  tvmvm_tensor* tensor = nullptr;
  EXPECT_EQ(Take(tvmvm_value_tensor(value, &tensor)), "");
  const int64_t number = tensor ? *static_cast<int64_t*>(tvmvm_tensor_data(tensor)) : -1;
  tvmvm_tensor_free(tensor);
  return number;
}

TEST(CApiValues, SequencesOptionalsAndTuples) {
  auto assembled = Assemble(kValues);
  ASSERT_TRUE(assembled) << assembled.error().message;
  auto bytes = SerializeProgram(**assembled);
  ASSERT_TRUE(bytes);
  tvmvm_program* program = nullptr;
  tvmvm_vm* vm = nullptr;
  tvmvm_invocation* invocation = nullptr;
  ASSERT_EQ(Take(tvmvm_program_load_from_memory(bytes->data(), bytes->size(), &program)), "");
  ASSERT_EQ(Take(tvmvm_vm_create(program, nullptr, &vm)), "");
  ASSERT_EQ(Take(tvmvm_invocation_create(vm, &invocation)), "");
  EXPECT_EQ(tvmvm_program_input_kind(program, 0), TVMVM_SEQUENCE);
  EXPECT_EQ(tvmvm_program_input_dtype(program, 0), TVMVM_I64);
  EXPECT_EQ(tvmvm_program_input_rank(program, 0), 1);
  EXPECT_EQ(tvmvm_program_output_kind(program, 1), TVMVM_OPTIONAL);
  EXPECT_EQ(tvmvm_program_output_dim(program, 1, 0), 2);
  EXPECT_EQ(tvmvm_program_output_kind(program, 2), TVMVM_TUPLE);

  tvmvm_value* elements[] = {Number(1), Number(2), Number(3)};
  tvmvm_value* sequence = nullptr;
  ASSERT_EQ(Take(tvmvm_value_from_elements(elements, 3, &sequence)), "");
  EXPECT_EQ(tvmvm_value_size(sequence), 3u);
  const tvmvm_value* inputs[] = {sequence, nullptr};
  tvmvm_value* given = Number(0);
  tvmvm_value* outputs[] = {nullptr, nullptr, nullptr, given};
  ASSERT_EQ(Take(tvmvm_invocation_run_values(invocation, inputs, 2, outputs, 4)), "");
  EXPECT_EQ(tvmvm_value_kind(outputs[0]), TVMVM_SEQUENCE);
  EXPECT_EQ(tvmvm_value_size(outputs[0]), 2u);
  EXPECT_EQ(tvmvm_value_kind(outputs[1]), TVMVM_NOTHING);
  EXPECT_EQ(tvmvm_value_kind(outputs[2]), TVMVM_TUPLE);
  EXPECT_EQ(tvmvm_value_tag(outputs[2]), 9);
  EXPECT_EQ(tvmvm_value_size(outputs[2]), 2u);
  EXPECT_EQ(outputs[3], given);
  EXPECT_EQ(NumberIn(given), 1);
  tvmvm_value* last = nullptr;
  ASSERT_EQ(Take(tvmvm_value_element(outputs[0], 1, &last)), "");
  EXPECT_EQ(NumberIn(last), 3);

  tvmvm_value* none = nullptr;
  EXPECT_EQ(Take(tvmvm_value_element(outputs[0], 2, &none)), "element 2 of a sequence of 2");
  tvmvm_tensor* tensor = nullptr;
  EXPECT_EQ(Take(tvmvm_value_tensor(sequence, &tensor)), "a sequence is no tensor");
  EXPECT_EQ(Take(tvmvm_invocation_run_values(invocation, inputs, 2, outputs, 4)),
            "output 0: only a tensor can receive a result, a sequence is given");
  EXPECT_THAT(Take(tvmvm_invocation_run_values(invocation, inputs, 1, outputs, 0)),
              HasSubstr("inputs given"));
  EXPECT_EQ(Take(tvmvm_value_from_fields(1, nullptr, 1, &none)), "values is null");
  tvmvm_value* tuple = nullptr;
  ASSERT_EQ(Take(tvmvm_value_from_fields(7, elements, 2, &tuple)), "");
  EXPECT_EQ(tvmvm_value_tag(tuple), 7);
  for (tvmvm_value* value : {elements[0], elements[1], elements[2], sequence, outputs[0], outputs[1],
                             outputs[2], given, last, tuple})
    tvmvm_value_free(value);
  tvmvm_program_free(program);
  tvmvm_vm_free(vm);
  tvmvm_invocation_free(invocation);
}

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
