/* A service in C: the header is C, and whoever follows it gets a program. */
#include <stddef.h>
#include <string.h>

#include "tvm-vm/c_isolated_compiler.h"

static void count(void* user_data, const char* stage, double fraction) {
  (void)stage;
  (void)fraction;
  ++*(int*)user_data;
}

/* 0, or the number of the step that went wrong. */
int tvmvm_test_isolated_compiler_in_c(const char* path, const void* model, size_t model_bytes) {
  tvmvm_program* program = NULL;
  tvmvm_compile_cancel* cancel = NULL;
  tvmvm_isolated_compile_options options;
  tvmvm_status* status;
  const char* devices[1] = {"cpu"};
  const char* targets[1] = {"x86-64-v3"};
  const tvmvm_dim_bound dims[1] = {{"n", 4, 4}};
  int calls = 0;

  if (tvmvm_compile_file_isolated(path, NULL, &program) != NULL) return 1;
  if (tvmvm_program_input_count(program) != 1) return 2;
  tvmvm_program_free(program);
  program = NULL;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.timeout_ns = 60000000000;
  options.devices = devices;
  options.device_count = 1;
  options.targets = targets;
  options.target_count = 1;
  options.dims = dims;
  options.dim_count = 1;
  options.progress = count;
  options.user_data = &calls;
  if (tvmvm_compile_bytes_isolated(model, model_bytes, &options, &program) != NULL) return 3;
  if (tvmvm_program_input_dim(program, 0, 0) != 4 || calls == 0) return 4;
  tvmvm_program_free(program);
  program = NULL;
  options.timeout_ns = 1;
  status = tvmvm_compile_file_isolated(path, &options, &program);
  if (tvmvm_status_code(status) != TVMVM_DEADLINE_EXCEEDED || program != NULL) return 5;
  tvmvm_status_free(status);
  options.timeout_ns = 0;
  if (tvmvm_compile_cancel_create(&cancel) != NULL) return 6;
  options.cancel = cancel;
  tvmvm_compile_cancel_request(cancel);
  status = tvmvm_compile_file_isolated(path, &options, &program);
  if (tvmvm_status_code(status) != TVMVM_CANCELLED) return 7;
  tvmvm_status_free(status);
  tvmvm_compile_cancel_free(cancel);
  return 0;
}
