// What a function holds at certain sizes, and what it costs: estimates of its outline.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/lowering/memory_outline.h"

namespace tvmvm::memory {

struct Measured {
  int64_t peak_bytes = 0;       // of a run: planned arenas, and what has memory of its own
  std::vector<int64_t> alive;   // bytes by position
  std::vector<int64_t> sizes;   // of the outline's places
  double flops = 0, bytes = 0;  // computed; read and written by kernels
  double nanoseconds = 0;

  // The position at which most is alive, the first one of them.
  uint32_t Fullest() const;
  // How far positions are beyond `bytes`: a high power of the part by which each is, so that a high one
  // counts more than several low ones. 0: nowhere. Of one position, and the sum of all.
  double Pressure(int64_t bytes, size_t position) const;
  double Pressure(int64_t bytes) const;
};

// At the largest sizes that the module's symbols may have. Errors: kInvalidArgument naming a dimension of the
// inputs that nothing bounds, kUnsupported naming what has a size that only running tells.
Expected<Measured> Measure(const ir::Module& module, const ir::Function& function,
                           const lowering::MemoryOutline& outline);
// Where all symbols are `size`, as far as they may be. What has a size that only running tells is not among
// it. Errors: kInvalidArgument, a size leaves 64 bits.
Expected<Measured> MeasureAt(int64_t size, const ir::Module& module, const ir::Function& function,
                             const lowering::MemoryOutline& outline);

}  // namespace tvmvm::memory
