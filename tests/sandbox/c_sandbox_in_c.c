/* A service in C: the header is C, and whoever follows it gets y = x + 7 of eight numbers. */
#include <string.h>

#include "tvm-vm/c_sandbox.h"

/* 0, or the number of the step that went wrong. */
int tvmvm_test_sandbox_in_c(const char* path, const char* runner) {
  tvmvm_sandboxed_vm* vm = NULL;
  tvmvm_program* program = NULL;
  tvmvm_tensor *x = NULL, *outputs[1] = {NULL};
  tvmvm_sandbox_options options;
  tvmvm_run_options run_options;
  tvmvm_run_counters counters;
  tvmvm_status* status;
  const int64_t dims[1] = {8};
  int64_t numbers[8] = {35};

  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.max_bytes = 64 << 20;
  options.timeout_ns = 10000000000;
  options.runner = runner;
  if (tvmvm_sandboxed_vm_create(path, &options, &vm) != NULL) return 1;
  if (tvmvm_sandboxed_vm_program(vm, &program) != NULL) return 2;
  if (tvmvm_program_input_dim(program, 0, 0) != 8) return 3;
  tvmvm_program_free(program);
  memset(&run_options, 0, sizeof run_options);
  run_options.size = sizeof run_options;
  run_options.timeout_ns = 5000000000;
  if (tvmvm_tensor_borrow(TVMVM_I64, dims, 1, numbers, &x) != NULL) return 4;
  if (tvmvm_sandboxed_vm_run(vm, &run_options, (const tvmvm_tensor* const*)&x, 1, outputs, 1) != NULL)
    return 5;
  if (*(const int64_t*)tvmvm_tensor_data(outputs[0]) != 42) return 6;
  status = tvmvm_sandboxed_vm_run(vm, NULL, NULL, 0, NULL, 0);
  if (tvmvm_status_code(status) != TVMVM_INVALID_ARGUMENT) return 7;
  tvmvm_status_free(status);
  memset(&counters, 0, sizeof counters);
  counters.size = sizeof counters;
  if (tvmvm_sandboxed_vm_get_counters(vm, &counters) != NULL) return 8;
  if (counters.ok != 1 || counters.refused != 1) return 9;
  if (tvmvm_sandboxed_vm_starts(vm) != 1) return 10;
  tvmvm_sandboxed_vm_free(vm);
  tvmvm_tensor_free(x);
  tvmvm_tensor_free(outputs[0]);
  return 0;
}
