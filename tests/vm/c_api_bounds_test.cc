// Every function of the C interface with null objects, and with indices and axes that there are not: an error
// or a neutral answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/vm/c_api_calls.h"
#include "tests/vm/c_api_session.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT

TEST(CApiBounds, NegativeNumbersAreRefused) {
  CSession session("entry @main\nfunc @main() -> () frame 0, 0 {\n  return [], []\n}\n");
  const auto create = [&](const tvmvm_vm_options* options) {
    tvmvm_vm* vm = nullptr;
    return tvmvm_vm_create(session.program, options, &vm);
  };
  ExpectNotNegative(&tvmvm_vm_options::threads, "options.threads", create);
  const auto open = [](const tvmvm_device_options* options) {
    tvmvm_device* device = nullptr;
    return tvmvm_device_open("cpu", options, &device);
  };
  ExpectNotNegative(&tvmvm_device_options::threads, "options.threads", open);
  ExpectNotNegative(&tvmvm_device_options::max_bytes, "options.max_bytes", open);
  const auto limit = [&](const tvmvm_limits* limits) {
    return tvmvm_invocation_apply_limits(session.invocation, limits);
  };
  ExpectNotNegative(&tvmvm_limits::max_bytes, "limits.max_bytes", limit);
  ExpectNotNegative(&tvmvm_limits::max_steps, "limits.max_steps", limit);
  ExpectNotNegative(&tvmvm_limits::timeout_ns, "limits.timeout_ns", limit);
  ExpectNotNegative(&tvmvm_limits::max_call_depth, "limits.max_call_depth", limit);
  const auto trim = [&](const tvmvm_trim_policy* policy) {
    return tvmvm_invocation_set_trim_policy(session.invocation, policy);
  };
  ExpectNotNegative(&tvmvm_trim_policy::runs, "policy.runs", trim);
  ExpectNotNegative(&tvmvm_trim_policy::idle_ns, "policy.idle_ns", trim);
  ExpectNotNegative(&tvmvm_trim_policy::held_bytes, "policy.held_bytes", trim);
}

TEST(CApiBounds, NullIsAnswered) {
  tvmvm_program* program = nullptr;
  tvmvm_vm* vm = nullptr;
  tvmvm_invocation* invocation = nullptr;
  tvmvm_tensor* tensor = nullptr;
  tvmvm_value* value = nullptr;
  tvmvm_device* device = nullptr;
  tvmvm_device_list* list = nullptr;
  tvmvm_forecast forecast = {sizeof(tvmvm_forecast), 0, 0, 0, 0, 0, 0};
  tvmvm_run_counters counters = {sizeof(tvmvm_run_counters), 0, 0, 0, 0, 0, 0};
  uint8_t key[32] = {};
  const Calls calls = {
      ANSWERS(tvmvm_version, tvmvm_version()),
      ANSWERS(tvmvm_status_code, TVMVM_OK, nullptr),
      IS_EMPTY(tvmvm_status_message, nullptr),
      RETURNS(tvmvm_status_free, nullptr),
      REFUSES(tvmvm_program_load, nullptr, &program),
      REFUSES(tvmvm_program_load, "a", nullptr),
      REFUSES(tvmvm_program_load_with, nullptr, nullptr, &program),
      REFUSES(tvmvm_program_load_with, "a", nullptr, nullptr),
      REFUSES(tvmvm_program_load_from_memory, nullptr, 1, &program),
      REFUSES(tvmvm_program_load_from_memory, "a", 1, nullptr),
      ANSWERS(tvmvm_catch_cut_files, nullptr),
      RETURNS(tvmvm_program_free, nullptr),
      ANSWERS(tvmvm_program_input_count, 0u, nullptr),
      ANSWERS(tvmvm_program_output_count, 0u, nullptr),
      ANSWERS(tvmvm_program_input_kind, TVMVM_NOTHING, nullptr, 0),
      ANSWERS(tvmvm_program_output_kind, TVMVM_NOTHING, nullptr, 0),
      IS_EMPTY(tvmvm_program_input_name, nullptr, 0),
      IS_EMPTY(tvmvm_program_output_name, nullptr, 0),
      ANSWERS(tvmvm_program_input_dtype, TVMVM_INVALID, nullptr, 0),
      ANSWERS(tvmvm_program_output_dtype, TVMVM_INVALID, nullptr, 0),
      ANSWERS(tvmvm_program_input_rank, -1, nullptr, 0),
      ANSWERS(tvmvm_program_output_rank, -1, nullptr, 0),
      ANSWERS(tvmvm_program_input_dim, -1, nullptr, 0, 0),
      ANSWERS(tvmvm_program_output_dim, -1, nullptr, 0, 0),
      IS_EMPTY(tvmvm_program_input_symbol, nullptr, 0, 0),
      IS_EMPTY(tvmvm_program_output_symbol, nullptr, 0, 0),
      REFUSES(tvmvm_device_list_create, nullptr),
      RETURNS(tvmvm_device_list_free, nullptr),
      ANSWERS(tvmvm_device_list_size, 0u, list),
      IS_EMPTY(tvmvm_device_list_name, list, 0),
      IS_EMPTY(tvmvm_device_list_hardware, list, 0),
      IS_EMPTY(tvmvm_device_list_driver, list, 0),
      IS_EMPTY(tvmvm_device_list_api, list, 0),
      ANSWERS(tvmvm_device_list_memory_bytes, 0, list, 0),
      IS_EMPTY(tvmvm_device_list_unusable, list, 0),
      REFUSES(tvmvm_device_open, nullptr, nullptr, &device),
      REFUSES(tvmvm_device_open, "cpu", nullptr, nullptr),
      RETURNS(tvmvm_device_free, nullptr),
      IS_EMPTY(tvmvm_device_name, nullptr),
      REFUSES(tvmvm_device_get_statistics, nullptr, nullptr),
      REFUSES(tvmvm_device_warm, nullptr, nullptr, nullptr),
      REFUSES(tvmvm_device_warm_with, nullptr, nullptr, nullptr, nullptr),
      REFUSES(tvmvm_public_key_read, nullptr, key),
      REFUSES(tvmvm_public_key_read, "a", nullptr),
      REFUSES(tvmvm_vm_get_counters, nullptr, &counters),
      REFUSES(tvmvm_vm_create, nullptr, nullptr, &vm),
      RETURNS(tvmvm_vm_free, nullptr),
      ANSWERS(tvmvm_vm_device_count, 0u, nullptr),
      IS_EMPTY(tvmvm_vm_device_name, nullptr, 0),
      ANSWERS(tvmvm_vm_device_kernel_count, 0u, nullptr, 0),
      ANSWERS(tvmvm_vm_donated_input, -1, nullptr, 0),
      REFUSES(tvmvm_vm_plan, nullptr, nullptr, nullptr, nullptr, 0, &forecast),
      REFUSES(tvmvm_memory_pool_create, 0, nullptr),
      REFUSES(tvmvm_memory_pool_open, nullptr, nullptr),
      RETURNS(tvmvm_memory_pool_free, nullptr),
      ANSWERS(tvmvm_memory_pool_held_bytes, 0, nullptr),
      ANSWERS(tvmvm_memory_pool_peak_bytes, 0, nullptr),
      REFUSES(tvmvm_invocation_create, nullptr, &invocation),
      RETURNS(tvmvm_invocation_free, nullptr),
      REFUSES(tvmvm_invocation_run, nullptr, nullptr, 0, nullptr, 0),
      REFUSES(tvmvm_invocation_run_values, nullptr, nullptr, 0, nullptr, 0),
      REFUSES(tvmvm_invocation_run_with, nullptr, nullptr, nullptr, 0, nullptr, 0),
      REFUSES(tvmvm_invocation_run_values_with, nullptr, nullptr, nullptr, 0, nullptr, 0),
      REFUSES(tvmvm_invocation_apply_limits, nullptr, nullptr),
      REFUSES(tvmvm_invocation_set_trim_policy, nullptr, nullptr),
      RETURNS(tvmvm_invocation_set_limits, nullptr, 1, 1, 1),
      RETURNS(tvmvm_invocation_cancel, nullptr),
      REFUSES(tvmvm_run_cancel_create, nullptr),
      RETURNS(tvmvm_run_cancel_request, nullptr),
      RETURNS(tvmvm_run_cancel_free, nullptr),
      ANSWERS(tvmvm_invocation_peak_bytes, 0, nullptr),
      ANSWERS(tvmvm_invocation_held_bytes, 0, nullptr),
      RETURNS(tvmvm_invocation_trim, nullptr),
      REFUSES(tvmvm_invocation_observe_launches, nullptr, nullptr, nullptr),
      REFUSES(tvmvm_invocation_observe_copies, nullptr, nullptr, nullptr),
      REFUSES(tvmvm_invocation_observe_trace, nullptr, nullptr, nullptr),
      REFUSES(tvmvm_tensor_allocate, TVMVM_F32, nullptr, 1, &tensor),
      REFUSES(tvmvm_tensor_allocate, TVMVM_F32, nullptr, 0, nullptr),
      REFUSES(tvmvm_tensor_allocate, TVMVM_F32, nullptr, -1, &tensor),
      REFUSES(tvmvm_tensor_allocate, TVMVM_INVALID, nullptr, 0, &tensor),
      REFUSES(tvmvm_tensor_borrow, TVMVM_F32, nullptr, 1, nullptr, &tensor),
      REFUSES(tvmvm_tensor_borrow, TVMVM_F32, nullptr, 0, nullptr, nullptr),
      REFUSES(tvmvm_tensor_from_dlpack, nullptr, &tensor),
      REFUSES(tvmvm_tensor_to_dlpack, nullptr, nullptr),
      REFUSES(tvmvm_tensor_allocate_on, nullptr, TVMVM_F32, nullptr, 0, &tensor),
      REFUSES(tvmvm_tensor_copy_to, nullptr, nullptr, &tensor),
      REFUSES(tvmvm_tensor_copy_from, nullptr, nullptr),
      RETURNS(tvmvm_tensor_free, nullptr),
      IS_EMPTY(tvmvm_tensor_device_name, nullptr),
      ANSWERS(tvmvm_tensor_dtype, TVMVM_INVALID, nullptr),
      ANSWERS(tvmvm_tensor_rank, -1, nullptr),
      ANSWERS(tvmvm_tensor_dim, -1, nullptr, 0),
      ANSWERS(tvmvm_tensor_data, nullptr, nullptr),
      ANSWERS(tvmvm_tensor_byte_count, 0, nullptr),
      REFUSES(tvmvm_tensor_get_string, nullptr, 0, nullptr, nullptr),
      REFUSES(tvmvm_tensor_set_string, nullptr, 0, nullptr, 0),
      REFUSES(tvmvm_value_from_tensor, nullptr, &value),
      REFUSES(tvmvm_value_from_elements, nullptr, 1, &value),
      REFUSES(tvmvm_value_from_elements, nullptr, 0, nullptr),
      REFUSES(tvmvm_value_from_fields, 0, nullptr, 1, &value),
      REFUSES(tvmvm_value_from_fields, 0, nullptr, 0, nullptr),
      RETURNS(tvmvm_value_free, nullptr),
      ANSWERS(tvmvm_value_kind, TVMVM_NOTHING, nullptr),
      REFUSES(tvmvm_value_tensor, nullptr, &tensor),
      ANSWERS(tvmvm_value_size, 0u, nullptr),
      REFUSES(tvmvm_value_element, nullptr, 0, &value),
      ANSWERS(tvmvm_value_tag, 0, nullptr),
  };
  ExpectAll(calls);
  ExpectNoneIsMissing(calls, "c_api.h");
}

TEST(CApiBounds, IndicesAndAxesAreAnswered) {
  CSession session(R"---(
entry @main
func @main("x": i64[n]) -> ("y": i64[1]) frame 1, 2 {
  i0 = const 1
  r1 = output 0, [i0]
  return [], [r1]
}
)---");
  const tvmvm_program* program = session.program;
  tvmvm_device_list* list = nullptr;
  ASSERT_EQ(Take(tvmvm_device_list_create(&list)), "");
  const size_t devices = tvmvm_device_list_size(list);
  tvmvm_tensor* tensor = nullptr;
  const int64_t dims[] = {2};
  ASSERT_EQ(Take(tvmvm_tensor_allocate(TVMVM_STRING, dims, 1, &tensor)), "");
  tvmvm_value* sequence = nullptr;
  ASSERT_EQ(Take(tvmvm_value_from_elements(nullptr, 0, &sequence)), "");
  tvmvm_value* value = nullptr;
  const char* text = nullptr;
  ExpectAll({
      ANSWERS(tvmvm_program_input_kind, TVMVM_NOTHING, program, 1),
      ANSWERS(tvmvm_program_output_kind, TVMVM_NOTHING, program, SIZE_MAX),
      IS_EMPTY(tvmvm_program_input_name, program, 1),
      IS_EMPTY(tvmvm_program_output_name, program, 1),
      ANSWERS(tvmvm_program_input_dtype, TVMVM_INVALID, program, 1),
      ANSWERS(tvmvm_program_output_rank, -1, program, 1),
      ANSWERS(tvmvm_program_input_dim, -1, program, 0, 1),
      ANSWERS(tvmvm_program_input_dim, -1, program, 0, -1),
      ANSWERS(tvmvm_program_output_dim, -1, program, 1, 0),
      IS_EMPTY(tvmvm_program_input_symbol, program, 0, 1),
      IS_EMPTY(tvmvm_program_input_symbol, program, 1, 0),
      IS_EMPTY(tvmvm_device_list_name, list, devices),
      ANSWERS(tvmvm_device_list_memory_bytes, 0, list, SIZE_MAX),
      IS_EMPTY(tvmvm_vm_device_name, session.vm, 1),
      ANSWERS(tvmvm_vm_device_kernel_count, 0u, session.vm, 1),
      ANSWERS(tvmvm_vm_donated_input, -1, session.vm, 1),
      REFUSES(tvmvm_invocation_run, session.invocation, nullptr, 1, nullptr, 1),
      REFUSES(tvmvm_invocation_run_values, session.invocation, nullptr, 1, nullptr, 1),
      ANSWERS(tvmvm_tensor_dim, -1, tensor, 1),
      REFUSES(tvmvm_tensor_get_string, tensor, 2, &text, nullptr),
      REFUSES(tvmvm_tensor_set_string, tensor, -1, "a", 1),
      REFUSES(tvmvm_value_element, sequence, 0, &value),
  });
  EXPECT_STREQ(tvmvm_program_input_symbol(program, 0, 0), "n");
  tvmvm_value_free(sequence);
  tvmvm_tensor_free(tensor);
  tvmvm_device_list_free(list);
}

}  // namespace
}  // namespace tvmvm
