// The same group with as few axes as its meaning allows: neighbouring axes that every node treats alike
// become one, and reshapes disappear where they can. A chain of elementwise operators on equal shapes becomes
// one-dimensional; a softmax over the last axis has two axes; a transpose of heads has four at most.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

struct CollapsedGroup {
  ir::Function function;  // holds only the group
  ir::NodeId node;
  std::vector<uint32_t>
      inputs;  // for each input of the new group: the input of the old one with the same memory

  // Makes a call of the new group one of the old group.
  void ReadOriginals(KernelCall* call) const;
};

// Outputs keep their order and their bytes; their dims may be other ones.
CollapsedGroup CollapseAxes(const GroupView& group);

}  // namespace tvmvm::tensor
