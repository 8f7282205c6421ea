// What a schedule depends on, as text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::tensor {

struct GroupSignature {
  // Operators, attributes, types, known contents and the target. Constants are told apart by their addresses.
  std::string text;
  std::vector<std::shared_ptr<const ir::TensorData>> data;  // of these addresses
};

// Two groups of one signature, of any functions, have one schedule.
GroupSignature SignatureOf(const ir::Function& function, ir::NodeId group, const TargetInfo& target);

}  // namespace tvmvm::tensor
