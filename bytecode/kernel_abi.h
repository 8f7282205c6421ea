// The contract between generated kernels and whoever calls them. Plain C layout; part of the file format.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tvmvm {

// ---- CPU ----

// All pointers are borrowed for the call. Kernels read and write only the buffers that they declare,
// import nothing, allocate nothing, and are re-entrant.
struct KernelArgs {
  void* const* buffers;    // in the order of the kernel's signature; aligned to their element size at least
  const int64_t* scalars;  // dims and other run-time numbers, in the order of the kernel's signature
  void* scratch;           // private to one worker, 64-byte aligned, as many bytes as the launch asked for
  struct KernelPoll* poll = nullptr;  // private to the call; kernels with long grid points need one
};

// How a long grid point learns that its run is to end. It takes what it did off `work`, and once that is
// below 0 calls `ask`, which sets it again; where it is below 0 then, the kernel returns kStopped at once,
// whatever is done of its results, and `ask` gave another number than 0. On x86-64 `ask` leaves all registers
// but rax as they are, the stack may be aligned to 8 bytes, and what is below it is nobody's: a kernel's
// loops need not be arranged around a call that is next to never made.
struct KernelPoll {
  int64_t work;  // in steps of about a nanosecond
  int32_t (*ask)(KernelPoll* poll);
  int32_t (*answer)(KernelPoll* poll);  // the caller's: AskKeepingRegisters of devices/cpu calls it
};
inline constexpr int64_t kWorkBetweenPolls = int64_t{1} << 18;
inline constexpr int32_t kStopped = -2;

// Runs the grid points [grid_begin, grid_end) of the flattened grid. Returns 0, a code above it that the
// kernel's signature gives a message for (an index out of range, a division by zero), or kStopped.
using KernelFunction = int32_t (*)(const KernelArgs* args, int64_t grid_begin, int64_t grid_end);

// The code of a failure: in its lowest bits the number of the message, from 1 on; above them what was found
// plus kMostFound + 1, limited to kMostFound either way, or 0 where nothing is told. It stands for "{}" in
// the message.
inline constexpr int kFailureBits = 11;
inline constexpr int32_t kMostFailures = (1 << kFailureBits) - 1;
inline constexpr int64_t kMostFound = (int64_t{1} << (30 - kFailureBits)) - 1;

constexpr int32_t FailureNumber(int32_t code) { return code & kMostFailures; }
constexpr bool TellsFound(int32_t code) { return code >> kFailureBits != 0; }
constexpr int64_t FoundIn(int32_t code) { return (code >> kFailureBits) - (kMostFound + 1); }

// ---- GPUs ----
//
// A kernel runs in work-groups; a launch's grid counts them. The device lays the groups out in two dimensions
// as its limits ask, so there may be more groups than points of the grid: a group's flat index is id.x + id.y
// * groups.x, and groups at or past the number of points return at once.
//
// Arguments, in this order: the status, the buffers, the i64 scalars, and last the i64 number of grid points.
//
// The status is a 32-bit word that is 0 when the launch begins. A kernel that fails exchanges 0 for its code
// (compare and swap: the first failure wins) and returns; the codes are those of KernelFunction.
//
// OpenCL C 1.2 (KernelForm::kOpenClC): one source text, in which each kernel is
//   __kernel __attribute__((reqd_work_group_size(X, Y, Z)))
//   void symbol(__global uchar* status, ulong status_offset, __global uchar* b0, ulong o0, ...,
//               long s0, ..., long points)
// Offsets are in bytes, because memory is suballocated from large blocks. An argument may name the same block
// as another one. The text may use __builtin names of no vendor; extensions that it enables must be in
// TargetInfo.
//
// Vulkan (KernelForm::kSpirV): a library of modules, see spirv_library.h. Each module has the entry point
// "main", a constant work-group size, no descriptors and one push-constant block. Arguments are 64-bit words:
// addresses of the status and the buffers (the offset is added already) and the numbers. Where they do not
// fit, the push constants are one word: the address of memory that holds them, aligned to 16 bytes, read-only
// to the kernel.

inline constexpr size_t kPushConstantBytes = 128;  // what every Vulkan device has

// 64-bit words of the arguments of a kernel with that many buffers and scalars.
constexpr size_t GpuArgumentWords(size_t buffers, size_t scalars) { return 1 + buffers + scalars + 1; }

// Whether a Vulkan kernel's arguments lie in the push constants themselves.
constexpr bool ArgumentsArePushed(size_t buffers, size_t scalars) {
  return GpuArgumentWords(buffers, scalars) * sizeof(uint64_t) <= kPushConstantBytes;
}

}  // namespace tvmvm
