// The C interface on the CPU: programs, runs, tensors, values and errors.
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

}  // namespace
}  // namespace tvmvm
