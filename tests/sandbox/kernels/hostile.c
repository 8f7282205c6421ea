/* Kernels that do what they like, as machine code may. Each reads its orders from x, i64[8], and writes to y. */
#include <stdint.h>

typedef struct {
  void* const* buffers;
  const int64_t* scalars;
  void* scratch;
} KernelArgs;

#if defined(__x86_64__)
static int64_t Call(int64_t number, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f) {
  int64_t result;
  register int64_t r10 __asm__("r10") = d;
  register int64_t r8 __asm__("r8") = e;
  register int64_t r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
enum { kMmap = 9 };
#else
static int64_t Call(int64_t number, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f) {
  register int64_t x8 __asm__("x8") = number;
  register int64_t x0 __asm__("x0") = a;
  register int64_t x1 __asm__("x1") = b;
  register int64_t x2 __asm__("x2") = c;
  register int64_t x3 __asm__("x3") = d;
  register int64_t x4 __asm__("x4") = e;
  register int64_t x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
enum { kMmap = 222 };
#endif

#define KERNEL(name) int32_t name(const KernelArgs* args, int64_t begin, int64_t end)
#define X ((const int64_t*)args->buffers[0])
#define Y ((volatile int64_t*)args->buffers[1])

KERNEL(plus_seven) {
  for (int64_t i = begin; i < end; ++i) Y[i] = X[i] + 7;
  return 0;
}

/* For ever where x[0] is 1. */
KERNEL(loop) {
  for (volatile int64_t run = X[0]; run == 1;) {
  }
  Y[0] = X[0];
  return 0;
}

/* Every word, upwards from y where x[0] is not negative, else downwards. */
KERNEL(write_everywhere) {
  const int64_t step = X[0] < 0 ? -1 : 1;
  for (volatile int64_t* at = Y;; at += step) *at = 0x4141414141414141;
  return 0;
}

/* The system call x[0] with the arguments x[1], ...; where x[7] is 1, x[1] is replaced by the address of a path,
   where it is 2, x[2]. y[0] is its result. */
KERNEL(system_call) {
  static const char kPath[] = "/etc/passwd";
  int64_t a = X[1], b = X[2];
  if (X[7] == 1) a = (int64_t)kPath;
  if (X[7] == 2) b = (int64_t)kPath;
  Y[0] = Call(X[0], a, b, X[3], X[4], X[5], X[6]);
  return 0;
}

/* Takes 16 MiB at a time and touches all of it, until it gets no more. y[0]: how many MiB it has then. */
KERNEL(eat_memory) {
  const int64_t size = 16 << 20;
  int64_t got = 0;
  while (1) {
    const int64_t memory = Call(kMmap, 0, size, 3, 0x22, -1, 0);
    if (memory < 0 && memory > -4096) break;
    for (int64_t i = 0; i < size; i += 4096) ((volatile char*)memory)[i] = 1;
    got += 16;
  }
  Y[0] = got;
  return 0;
}

/* Until the stack is full. */
static int64_t Deep(int64_t depth) {
  volatile char frame[4096];
  frame[depth % 4096] = 1;
  return Deep(depth + 1) + frame[0];
}
KERNEL(recurse) {
  Y[0] = Deep(X[0]);
  return 0;
}

/* Sends x[0] bytes of nonsense over the descriptor x[1], as often as x[2] says. */
KERNEL(send_nonsense) {
  static char bytes[4096];
#if defined(__x86_64__)
  enum { kSend = 44 };
#else
  enum { kSend = 206 };
#endif
  for (int64_t i = 0; i < X[2]; ++i) Y[0] = Call(kSend, X[1], (int64_t)bytes, X[0], 0x4040, 0, 0);
  return 0;
}

/* Fails with the code x[0]. */
KERNEL(fail) { return (int32_t)X[0]; }
