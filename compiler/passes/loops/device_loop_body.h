// The body of a loop with what scalar bytecode read from the device computed there, too. For PollLoops.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/op_builder.h"
#include "compiler/passes/loops/device_loop.h"
#include "compiler/passes/region_edit.h"

namespace tvmvm::passes {

// What PollLoops knows of a function, found once for all its loops.
struct PolledFunction {
  ir::Module& module;
  ir::Function& function;
  UseLists uses{&function};
  ir::SymbolSet mentioned = MentionedSymbols(function);
};

// Builds nodes apart from the regions, to be put where they belong.
class NodeMaker {
 public:
  NodeMaker(PolledFunction* in, std::string source)
      : in_(*in), region_(in->function.AddRegion()), builder_(&in->module, &in->function, region_) {
    builder_.SetSource(std::move(source));
  }
  ir::OpBuilder& builder() { return builder_; }
  // The nodes made since the last call.
  std::vector<ir::NodeId> Take() {
    std::vector<ir::NodeId> nodes = std::exchange(in_.function.region(region_).nodes, {});
    for (ir::NodeId node : nodes) in_.uses.Add(node);
    return nodes;
  }

 private:
  PolledFunction& in_;
  ir::RegionId region_;
  ir::OpBuilder builder_;
};

class DeviceLoopBody {
 public:
  DeviceLoopBody(PolledFunction* in, ir::NodeId loop, const DeviceLoop& plan);

  // Reads, slices and tensors of dims become tensors of the device; the region gets a parameter and a result
  // for each carried symbol of the device, behind the carried values. Where the loop polls, another pair
  // follows: a counter. It is the number of steps so far while the loop goes on, and minus that afterwards.
  // What is used after a loop that polls does not change once it has ended.
  // Errors: kInternal.
  Status Rewrite();

 private:
  void RewriteRegion(ir::RegionId region);
  void Read(const ir::Node& node);
  ir::ValueId Tensor(const ir::Node& dims_tensor);
  ir::ValueId Gather(const ir::Node& slice);
  ir::ValueId Number(const ir::Dim& dim);
  ir::ValueId Goes(const ir::Dims& dims);
  void CheckWhileItGoes(ir::NodeId check);
  void Hold();
  void HoldValue(size_t number);
  void AddCarried(ir::ValueId parameter, ir::ValueId result);
  void ForgetElements(ir::RegionId region);

  PolledFunction& in_;
  ir::Function& function_;
  const ir::NodeId loop_;
  const ir::RegionId region_;
  const DeviceLoop& plan_;
  NodeMaker maker_;
  std::unordered_map<ir::SymbolId, ir::ValueId> tensors_;  // i64 scalars
  std::vector<ir::ValueId> parameters_;                    // of the carried symbols
  ir::ValueId counter_;
};

}  // namespace tvmvm::passes
