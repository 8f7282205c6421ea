// Basic blocks of one function whose layout is verified.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/verifier/checks.h"

namespace tvmvm::verifier {

class ControlFlow {
 public:
  struct Block {
    uint32_t begin = 0;  // positions in FunctionContext::starts
    uint32_t end = 0;
  };

  explicit ControlFlow(const FunctionContext& context);

  // In the order of the code; block 0 is the entry.
  std::span<const Block> blocks() const { return blocks_; }
  std::span<const uint32_t> predecessors(uint32_t block) const {
    return std::span(predecessors_)
        .subspan(first_predecessor_[block], first_predecessor_[block + 1] - first_predecessor_[block]);
  }

 private:
  std::vector<Block> blocks_;
  std::vector<uint32_t> first_predecessor_;  // into predecessors_, one more than blocks
  std::vector<uint32_t> predecessors_;
};

}  // namespace tvmvm::verifier
