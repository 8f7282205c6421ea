// Which nodes of a graph or of a function's body make what is wanted, and in what order they can run.
//
// A file may list nodes in any order, and nodes that nothing needs: neither says anything about the model.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/onnx/model/onnx_model.h"
#include "tvm-vm/status.h"

namespace tvmvm::ir {

// Views into the model.
struct NodeOrder {
  // That make what is wanted, each behind those whose results it reads, else as in the file.
  std::vector<size_t> nodes;
  std::vector<size_t> unused;                 // the others
  bool is_sorted = true;                      // the file lists `nodes` in this order
  std::unordered_set<std::string_view> used;  // names that `nodes` read or that are wanted
  std::vector<std::string_view> captured;     // those of `used` that nothing in here defines
};

// Finds orders in time linear in the nodes, once for each graph and each choice of a function's results.
class NodeOrders {
 public:
  // Errors of both: kInvalidArgument, a cycle with the nodes that it is made of, a name that is read and that
  // two nodes make. The graph or function must outlive this object.
  Expected<const NodeOrder*> Of(const OnnxGraph& graph);
  // `wanted`: which of its outputs; may be shorter than these, the rest is not wanted.
  Expected<const NodeOrder*> Of(const OnnxFunction& function, const std::vector<bool>& wanted);

 private:
  friend class NodeSorter;

  std::map<const OnnxGraph*, std::unique_ptr<NodeOrder>> graphs_;
  std::map<std::pair<const OnnxFunction*, std::vector<bool>>, std::unique_ptr<NodeOrder>> functions_;
};

// "'name' (Relu)"; where it has no name "the Relu at position 3".
std::string DescribeNode(const OnnxNode& node, size_t position);

}  // namespace tvmvm::ir
