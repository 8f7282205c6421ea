// Code for each of several ranks or lengths that only running tells apart, each built once.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/graph/op_builder.h"

namespace tvmvm::ir {

class ChoiceBranches {
 public:
  ChoiceBranches(OpBuilder* b, const std::vector<int>& choices);

  size_t size() const { return branches_.size(); }
  int choice(size_t branch) const { return branches_[branch].choice; }

  // Builds more nodes in a branch. Where that fails it stays as it was, and the error comes back;
  // `unreadable` as OpBuilder::TakeError gives it.
  std::optional<Error> Build(size_t branch, const std::function<void()>& build,
                             ValueId* unreadable = nullptr);
  // Takes back what the last Build added to the branch.
  void Undo(size_t branch);
  // Takes branches out of the choice: at run time they are an error of whoever narrows the value.
  void Keep(const std::vector<size_t>& branches);
  // The nodes that the last Build added to the branch.
  std::vector<NodeId> Added(size_t branch) const;

  // Joins the branches in the region that the builder is in: nested `if`s on `decision`; the last one needs
  // no test. `results` are those of each branch.
  std::vector<ValueId> Join(const Dim& decision, const std::vector<std::vector<ValueId>>& results);

 private:
  struct Branch {
    int choice = 0;
    RegionId region;
    OpBuilder::Definitions known, known_before;  // what it read, and before the last Build
    size_t nodes_before = 0;
  };

  std::vector<ValueId> JoinFrom(size_t first, const Dim& decision,
                                const std::vector<std::vector<ValueId>>& results);
  std::vector<ValueId> Put(size_t branch, const std::vector<std::vector<ValueId>>& results);

  OpBuilder& b_;
  std::vector<Branch> branches_;
};

}  // namespace tvmvm::ir
