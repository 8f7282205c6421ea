// Changes to a function in place, for passes on control nodes.
#pragma once

#include <deque>
#include <set>
#include <vector>

#include "compiler/graph/graph.h"

namespace tvmvm::passes {

// What a region and the regions in it define.
class RegionDefinitions {
 public:
  // `owner`: the control node; a loop defines symbols for its region.
  RegionDefinitions(const ir::Function& function, const ir::Node& owner, ir::RegionId region);

  bool Defines(ir::ValueId value) const { return values_.count(value) != 0; }
  bool Defines(const ir::SymbolId& symbol) const { return symbols_.contains(symbol); }
  bool Mentions(const ir::Dim& dim) const;
  // Whether the node needs anything that is defined inside: inputs, attributes, types of its results.
  bool Needed(const ir::Function& function, const ir::Node& node) const;
  // The node is outside from now on.
  void MoveOut(const ir::Function& function, const ir::Node& node);

 private:
  void Add(const ir::Function& function, ir::RegionId region);

  std::set<ir::ValueId> values_;
  ir::SymbolSet symbols_;
};

// Who uses which value, found once for a function and kept up to date by the pass that changes it: so that a
// replacement costs as much as there are uses.
class UseLists {
 public:
  // Of the regions that run and the groups in them.
  explicit UseLists(ir::Function* function);

  int Count(ir::ValueId value) const { return uses_[value.index].count; }
  // Every use of `from` becomes one of `to`.
  void Replace(ir::ValueId from, ir::ValueId to);
  // A node that was added or got other inputs, with its regions.
  void Add(ir::NodeId node);
  // A use of the value is gone.
  void Drop(ir::ValueId value);
  // All that a region uses and the regions in it are gone.
  void DropRegion(ir::RegionId region);

 private:
  struct User {
    bool is_region = false;  // its results
    uint32_t index = 0;
  };
  struct Uses {
    int count = 0;
    std::vector<User> users;  // all of them, and perhaps some that are none any more
  };

  void AddUse(ir::ValueId value, User user);
  void AddRegion(ir::RegionId region);

  ir::Function& function_;
  std::deque<Uses> uses_;  // by value
};

// The symbols that types and dims of nodes mention, those in groups included; who defines them does not.
ir::SymbolSet MentionedSymbols(const ir::Function& function);

// Takes out what nobody uses, as the pass eliminate-dead does.
void DropDead(ir::Function* function);

}  // namespace tvmvm::passes
