// Ways to hold less where most is held.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/memory/measure.h"
#include "compiler/memory/split.h"

namespace tvmvm::memory {

enum class ChangeKind : uint8_t {
  kMove,       // a node runs later, right before its first user
  kRecompute,  // a cheap node runs a second time for users that come later
  kSplit,      // a chain runs in stretches
};

struct Change {
  ChangeKind kind = ChangeKind::kSplit;
  Chain chain;         // kMove, kRecompute: of one node
  int64_t parts = 0;   // kSplit
  uint32_t after = 0;  // kMove, kRecompute: users from this place in the region's list on get the later value
  int64_t estimate = 0;  // bytes alive at the position afterwards, a guess
};

// What may be done about the position at which most is alive, most promising first. `target`: bytes that
// would do there.
std::vector<Change> FindChanges(const ir::Function& function, const lowering::MemoryOutline& outline,
                                const Measured& measured, int64_t target);

// Does it; false: it cannot be done, and the function is not to be used any more.
bool Apply(const Change& change, ir::Function* function);

// "Conv_29 (Conv) to Conv_49 (Conv) in 3 parts along axis 1"
std::string TextOf(const Change& change, const ir::Function& function);

}  // namespace tvmvm::memory
