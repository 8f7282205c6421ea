// What a schedule depends on, as text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::tensor {

struct GroupSignature {
  // Operators, attributes, types, known contents and the target. Of the constants that a group is given, the
  // type is enough, as nobody looks into them; but into those of one element, and into codes and what they
  // are decoded with. These, and constants of the group itself, are told apart by their addresses.
  std::string text;
  std::vector<std::shared_ptr<const ir::TensorData>> data;  // of these addresses
};

// Two groups of one signature, of any functions, have one schedule.
GroupSignature SignatureOf(const ir::Function& function, ir::NodeId group, const TargetInfo& target);

}  // namespace tvmvm::tensor
