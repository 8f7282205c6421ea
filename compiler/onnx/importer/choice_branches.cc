#include "compiler/onnx/importer/choice_branches.h"

#include "compiler/onnx/ops/onnx_control.h"

namespace tvmvm::ir {

ChoiceBranches::ChoiceBranches(OpBuilder* b, const std::vector<int>& choices) : b_(*b) {
  for (int choice : choices) branches_.push_back({choice, b_.function().AddRegion(), {}, {}, 0});
}

std::optional<Error> ChoiceBranches::Build(size_t number, const std::function<void()>& build,
                                           ValueId* unreadable) {
  Branch& branch = branches_[number];
  branch.known_before = branch.known;
  branch.nodes_before = b_.function().region(branch.region).nodes.size();
  b_.EnterRegion(branch.region, branch.known);
  build();
  branch.known = b_.LeaveRegion();
  std::optional<Error> error = b_.TakeError(unreadable);
  if (error) Undo(number);
  return error;
}

void ChoiceBranches::Undo(size_t number) {
  Branch& branch = branches_[number];
  branch.known = branch.known_before;
  b_.function().region(branch.region).nodes.resize(branch.nodes_before);
}

void ChoiceBranches::Keep(const std::vector<size_t>& branches) {
  std::vector<Branch> kept;
  for (size_t branch : branches) kept.push_back(std::move(branches_[branch]));
  branches_ = std::move(kept);
}

std::vector<NodeId> ChoiceBranches::Added(size_t number) const {
  const Branch& branch = branches_[number];
  const std::vector<NodeId>& nodes = b_.function().region(branch.region).nodes;
  return {nodes.begin() + static_cast<std::ptrdiff_t>(branch.nodes_before), nodes.end()};
}

std::vector<ValueId> ChoiceBranches::Join(const Dim& decision,
                                          const std::vector<std::vector<ValueId>>& results) {
  return JoinFrom(0, decision, results);
}

std::vector<ValueId> ChoiceBranches::JoinFrom(size_t first, const Dim& decision,
                                              const std::vector<std::vector<ValueId>>& results) {
  if (first + 1 == branches_.size()) return Put(first, results);
  using Results = Expected<std::vector<ValueId>>;
  return BuildIf(
      b_, Equal(decision, branches_[first].choice), [&]() -> Results { return Put(first, results); },
      [&]() -> Results { return JoinFrom(first + 1, decision, results); });
}

// The nodes of the branch in the region that the builder is in.
std::vector<ValueId> ChoiceBranches::Put(size_t branch, const std::vector<std::vector<ValueId>>& results) {
  Function& function = b_.function();
  const std::vector<NodeId> nodes = function.region(branches_[branch].region).nodes;
  std::vector<NodeId>& to = function.region(b_.region()).nodes;
  to.insert(to.end(), nodes.begin(), nodes.end());
  return results[branch];
}

}  // namespace tvmvm::ir
