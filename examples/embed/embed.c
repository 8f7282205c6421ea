/* embed.cc in C: load once, then run at any shape, with results in the program's own memory.
 *
 * usage: embed_c demo.vmexe
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tvm-vm/c_api.h>

enum { kWidth = 64 };

/* Runs one batch; null when all is well. */
static tvmvm_status* RunOnce(tvmvm_invocation* invocation, int64_t batch, int64_t length) {
  const int64_t dims[] = {batch, length, kWidth};
  size_t count = (size_t)(batch * length * kWidth);
  float* x = malloc(count * sizeof(float));
  float* y = malloc(count * sizeof(float));
  tvmvm_tensor *input = NULL, *output = NULL;
  for (size_t i = 0; i < count; ++i) x[i] = sinf((float)i);

  tvmvm_status* status = tvmvm_tensor_borrow(TVMVM_F32, dims, 3, x, &input);
  if (!status) status = tvmvm_tensor_borrow(TVMVM_F32, dims, 3, y, &output);
  if (!status) {
    const tvmvm_tensor* inputs[] = {input};
    status = tvmvm_invocation_run(invocation, inputs, 1, &output, 1);
  }
  if (!status)
    printf("y[%" PRId64 ", %" PRId64 ", %d] = [%.4f, %.4f, ...], peak memory %" PRId64 " bytes\n", batch, length, kWidth, y[0],
           y[1], tvmvm_invocation_peak_bytes(invocation));
  tvmvm_tensor_free(input);
  tvmvm_tensor_free(output);
  free(x);
  free(y);
  return status;
}

static tvmvm_status* Run(const char* path) {
  tvmvm_program* program = NULL;
  tvmvm_vm* vm = NULL;
  tvmvm_invocation* invocation = NULL;
  tvmvm_status* status = tvmvm_program_load(path, &program);
  if (!status) status = tvmvm_vm_create(program, NULL, &vm);
  if (!status) status = tvmvm_invocation_create(vm, &invocation);
  if (!status) status = RunOnce(invocation, 1, 16);
  if (!status) status = RunOnce(invocation, 4, 100);
  tvmvm_invocation_free(invocation);
  tvmvm_vm_free(vm);
  tvmvm_program_free(program);
  return status;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: embed_c demo.vmexe\n");
    return 2;
  }
  tvmvm_status* status = Run(argv[1]);
  if (!status) return 0;
  fprintf(stderr, "embed_c: %s\n", tvmvm_status_message(status));
  tvmvm_status_free(status);
  return 1;
}
