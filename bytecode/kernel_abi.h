// The contract between generated CPU kernels and whoever calls them. Plain C layout; part of the file format.
#pragma once

#include <cstdint>

namespace tvmvm {

// All pointers are borrowed for the call. Kernels read and write only the buffers that they declare,
// import nothing, allocate nothing, and are re-entrant.
struct KernelArgs {
  void* const* buffers;    // in the order of the kernel's signature; aligned to their element size at least
  const int64_t* scalars;  // dims and other run-time numbers, in the order of the kernel's signature
  void* scratch;           // private to one worker, 64-byte aligned, as many bytes as the launch asked for
};

// Runs the grid points [grid_begin, grid_end) of the flattened grid. Returns 0, or a nonzero code that the
// kernel's signature gives a message for (an index out of range, a division by zero).
using KernelFunction = int32_t (*)(const KernelArgs* args, int64_t grid_begin, int64_t grid_end);

}  // namespace tvmvm
