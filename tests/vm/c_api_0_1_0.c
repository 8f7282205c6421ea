/* A program of an earlier time: built with the header as it was in 0.1.0, run with today's library. */
#include "tests/vm/c_api_0_1_0.h"

#include <string.h>

/* 0, or the number of the step that went wrong. */
int tvmvm_test_run_0_1_0(const void* bytes, size_t size) {
  tvmvm_program* program = NULL;
  tvmvm_device* device = NULL;
  tvmvm_vm* vm = NULL;
  tvmvm_invocation* invocation = NULL;
  tvmvm_tensor *x = NULL, *outputs[1] = {NULL};
  tvmvm_device_options device_options;
  tvmvm_device_statistics statistics;
  tvmvm_vm_options options;
  const tvmvm_device* devices[1];
  const int64_t dims[1] = {1};
  int64_t number = 41;

  if (tvmvm_program_load_from_memory(bytes, size, &program) != NULL) return 1;
  memset(&device_options, 0, sizeof device_options);
  device_options.size = sizeof device_options;
  device_options.threads = 1;
  if (tvmvm_device_open("cpu", &device_options, &device) != NULL) return 2;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  devices[0] = device;
  options.devices = devices;
  options.device_count = 1;
  if (tvmvm_vm_create(program, &options, &vm) != NULL) return 3;
  if (tvmvm_invocation_create(vm, &invocation) != NULL) return 4;
  tvmvm_invocation_set_limits(invocation, 1 << 20, 0, 0);
  if (tvmvm_tensor_borrow(TVMVM_I64, dims, 1, &number, &x) != NULL) return 5;
  if (tvmvm_invocation_run(invocation, (const tvmvm_tensor* const*)&x, 1, outputs, 1) != NULL) return 6;
  if (*(const int64_t*)tvmvm_tensor_data(outputs[0]) != 42) return 7;
  memset(&statistics, 0xff, sizeof statistics);
  statistics.size = sizeof statistics;
  if (tvmvm_device_get_statistics(device, &statistics) != NULL) return 8;
  if (statistics.launches < 0 || statistics.size != sizeof statistics) return 9;
  tvmvm_tensor_free(outputs[0]);
  tvmvm_tensor_free(x);
  tvmvm_invocation_free(invocation);
  tvmvm_vm_free(vm);
  tvmvm_device_free(device);
  tvmvm_program_free(program);
  return 0;
}
