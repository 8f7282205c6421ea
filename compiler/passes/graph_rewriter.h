// Rewrites a function by building it anew, node by node: a pass decides for each node whether to copy it or
// to emit something else in its place. Types and contents of what is emitted are inferred again by the
// OpBuilder.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/op_builder.h"

namespace tvmvm::passes {

class GraphRewriter {
 public:
  // Starts a function with the same name and parameters. The module's function stays as it is until Finish.
  GraphRewriter(ir::Module* module, ir::Function* old);

  const ir::Function& old() const { return *old_; }
  ir::OpBuilder& builder() { return builder_; }
  const ir::Function& fresh() const { return fresh_; }
  // The node that makes a value of the new function, or null.
  const ir::Node* Producer(ir::ValueId fresh) const;
  // The same of the old function; with `op`: null, too, where another operation makes it.
  const ir::Node* OldProducer(ir::ValueId old) const;
  const ir::Node* OldProducer(ir::ValueId old, tensor::ExprOp op) const;

  ir::ValueId Map(ir::ValueId old) const;            // invalid for invalid
  void SetMap(ir::ValueId old, ir::ValueId fresh);   // also carries the name over
  void SetName(ir::ValueId fresh, ir::ValueId old);  // where it has none
  void Copy(ir::NodeId node);
  void Copy(ir::NodeId node, std::vector<ir::ValueId> inputs);  // with other (new) inputs
  // Visits the nodes of the function, those of control regions as parts of their node's copy. `visit` does
  // something about a node and returns true, or leaves it to be copied.
  using Visit = std::function<bool(ir::NodeId)>;
  // Told when the nodes of a control region begin and end.
  using Scope = std::function<void(bool begins)>;
  void Run(Visit visit, Scope scope = nullptr);
  // How often a value of the old function is used, results included.
  int UseCount(ir::ValueId old) const;

  // Maps the results and replaces the old function. Errors: what the builder recorded.
  Status Finish();

 private:
  void VisitNodes(const std::vector<ir::NodeId>& nodes);
  ir::RegionId CopyRegion(ir::RegionId region, bool visited);
  ir::ValueId CopyValue(ir::ValueId value);

  ir::Function* old_;
  ir::Function fresh_;
  ir::OpBuilder builder_;
  std::vector<ir::ValueId> map_;
  std::vector<int> uses_;
  Visit visit_;  // null: regions are copied as they are
  Scope scope_;
};

}  // namespace tvmvm::passes
