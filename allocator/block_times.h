// BlockTimes: how long it takes to get memory from a driver, and whether there is time for that. Drivers of
// GPUs clear what they give, which nothing can interrupt: what would end behind a deadline is not begun.
#pragma once

#include <cstdint>

#include "tvm-vm/status.h"

namespace tvmvm {

// Times are in nanoseconds. Not thread-safe.
class BlockTimes {
 public:
  // Blocks below this teach nothing: a call takes its time whatever the size is.
  static constexpr int64_t kTelling = 16 << 20;

  // `megabyte_ns`: what 2^20 bytes take until blocks were measured, rather too much than too little. 0: no
  // block takes long, whatever is measured.
  explicit BlockTimes(int64_t megabyte_ns) : megabyte_ns_(megabyte_ns) {}

  int64_t megabyte_ns() const { return megabyte_ns_; }
  // What a block takes about.
  int64_t Estimate(int64_t bytes) const;
  // A block took so long. One that was held up by something else changes little.
  void Learn(int64_t bytes, int64_t nanoseconds);
  // Whether a block can be had in the time that is left. Errors: kDeadlineExceeded with the bytes, what they
  // take and what is left.
  Status Check(int64_t bytes, int64_t left_ns) const;

 private:
  int64_t megabyte_ns_;
};

}  // namespace tvmvm
