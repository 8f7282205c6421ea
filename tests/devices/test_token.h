// Tokens for tests of waits.
#pragma once

#include <cstdint>

#include "tvm-vm/device.h"

namespace tvmvm::testing {

// Cancelled when it was asked so often. `deadline_ns`: what it says, and does not go by.
class TestToken final : public CancelToken {
 public:
  explicit TestToken(int asks, int64_t deadline_ns = 0) : asks_(asks), deadline_ns_(deadline_ns) {}
  bool cancelled() const override { return ++asked_ >= asks_; }
  int64_t deadline_ns() const override { return deadline_ns_; }
  int asked() const { return asked_; }

 private:
  const int asks_;
  const int64_t deadline_ns_;
  mutable int asked_ = 0;
};

}  // namespace tvmvm::testing
