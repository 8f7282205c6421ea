#include "devices/cpu/poll_entry.h"

#include <cstddef>

#if defined(__x86_64__)

static_assert(offsetof(tvmvm::KernelPoll, answer) == 16);

// All that C++ may change is saved: vectors and masks by xsave (components x87, SSE, AVX and AVX-512, without
// the tiles of AMX, which take 8 KB), at most 2,688 bytes, whose header is 0 beforehand.
asm(R"(
  .pushsection .text
  .hidden TvmvmAskKeepingRegisters
  .globl TvmvmAskKeepingRegisters
  .type TvmvmAskKeepingRegisters, @function
  .p2align 4
TvmvmAskKeepingRegisters:
  push %rbp
  mov %rsp, %rbp
  push %rcx
  push %rdx
  push %rsi
  push %rdi
  push %r8
  push %r9
  push %r10
  push %r11
  push %rbx
  sub $2752, %rsp
  and $-64, %rsp
  xor %eax, %eax
  mov $8, %ecx
1:
  mov %rax, 504(%rsp,%rcx,8)
  dec %ecx
  jnz 1b
  mov $0xe7, %eax
  xor %edx, %edx
  xsave (%rsp)
  call *16(%rdi)
  mov %eax, %ebx
  mov $0xe7, %eax
  xor %edx, %edx
  xrstor (%rsp)
  mov %ebx, %eax
  lea -72(%rbp), %rsp
  pop %rbx
  pop %r11
  pop %r10
  pop %r9
  pop %r8
  pop %rdi
  pop %rsi
  pop %rdx
  pop %rcx
  pop %rbp
  ret
  .size TvmvmAskKeepingRegisters, . - TvmvmAskKeepingRegisters
  .popsection
)");

#else

extern "C" int32_t TvmvmAskKeepingRegisters(tvmvm::KernelPoll* poll) { return poll->answer(poll); }

#endif
