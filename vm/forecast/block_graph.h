// A function's code as blocks, in the order of the code.
#pragma once

#include <cstdint>
#include <vector>

#include "tvm-vm/program.h"

namespace tvmvm::forecast {

struct Block {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t begin = 0, end = 0;                  // words
  uint32_t next = kNone, target = kNone;        // the blocks behind it: where control falls to, jumps to
  std::vector<std::pair<uint32_t, bool>> from;  // blocks, and whether it is their target
  bool is_loop_head = false;
};

std::vector<Block> BlocksOf(const FunctionSpec& function);

}  // namespace tvmvm::forecast
