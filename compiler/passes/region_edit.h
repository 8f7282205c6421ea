// Changes to a function in place, for passes on control nodes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace tvmvm::passes {

// What a region and the regions in it define.
class RegionDefinitions {
 public:
  // `owner`: the control node; a loop defines symbols for its region.
  RegionDefinitions(const ir::Function& function, const ir::Node& owner, ir::RegionId region);

  bool Defines(ir::ValueId value) const { return values_.count(value) != 0; }
  bool Mentions(const ir::Dim& dim) const;
  // Whether the node needs anything that is defined inside: inputs, attributes, types of its results.
  bool Needed(const ir::Function& function, const ir::Node& node) const;
  // The node is outside from now on.
  void MoveOut(const ir::Function& function, const ir::Node& node);

 private:
  void Add(const ir::Function& function, ir::RegionId region);

  std::set<ir::ValueId> values_;
  std::set<std::string> symbols_;
};

// Every use of `from`, in the whole function, becomes one of `to`.
void ReplaceUses(ir::Function* function, ir::ValueId from, ir::ValueId to);
// How often each value is used, by its number.
std::vector<int> CountUses(const ir::Function& function);
// Whether a type or a dim of a node mentions the symbol; who defines it does not.
bool IsMentioned(const ir::Function& function, const std::string& symbol);

}  // namespace tvmvm::passes
