// The kernels of the conformance suite for the CPU. A grid point is what a work-group is elsewhere.
#include <stdint.h>

typedef struct {
  void* const* buffers;
  const int64_t* scalars;
  void* scratch;
} Args;

// y[i] += a * x[i] for i < n; 64 elements a point; scalars n, a; buffers x, y
int32_t axpy(const Args* args, int64_t begin, int64_t end) {
  const float* x = args->buffers[0];
  float* y = args->buffers[1];
  for (int64_t i = begin * 64; i < end * 64 && i < args->scalars[0]; ++i) y[i] += (float)args->scalars[1] * x[i];
  return 0;
}

// y[point] = point; buffer y
int32_t mark(const Args* args, int64_t begin, int64_t end) {
  int32_t* y = args->buffers[0];
  for (int64_t i = begin; i < end; ++i) y[i] = (int32_t)i;
  return 0;
}

// y[i] = 1000 * scalars[i] + x_i[0]; buffers y, x_0 ... x_9; 10 scalars
int32_t many(const Args* args, int64_t begin, int64_t end) {
  int64_t* y = args->buffers[0];
  if (begin > 0 || end < 1) return 0;
  for (int i = 0; i < 10; ++i) y[i] = 1000 * args->scalars[i] + *(const int64_t*)args->buffers[1 + i];
  return 0;
}

// Fails with code 3 where x[i] is negative; 64 elements a point; scalar n; buffer x
int32_t check(const Args* args, int64_t begin, int64_t end) {
  const int32_t* x = args->buffers[0];
  for (int64_t i = begin * 64; i < end * 64 && i < args->scalars[0]; ++i)
    if (x[i] < 0) return 3;
  return 0;
}

// y[i] = 3 * x[i] + 1; 64 elements a point; scalar n; buffers x, y
int32_t advance(const Args* args, int64_t begin, int64_t end) {
  const int32_t* x = args->buffers[0];
  int32_t* y = args->buffers[1];
  for (int64_t i = begin * 64; i < end * 64 && i < args->scalars[0]; ++i) y[i] = 3 * x[i] + 1;
  return 0;
}
