// y[i] = VALUE on i64; code 3 where scalar 0 is negative; scratch is written when scalar 1 gives its size.
#include <stdint.h>

typedef struct {
  void* const* buffers;
  const int64_t* scalars;
  void* scratch;
} KernelArgs;

int32_t fill(const KernelArgs* args, int64_t begin, int64_t end) {
  int64_t* y = (int64_t*)args->buffers[0];
  if (args->scalars[0] < 0) return 3;
  for (int64_t i = 0; i < args->scalars[1]; ++i) ((volatile char*)args->scratch)[i] = 1;
  for (int64_t i = begin; i < end; ++i) ((volatile int64_t*)y)[i] = VALUE;
  return 0;
}
