// What keeps a loop from running on a device without the host: numbers that a step computes there and scalar
// bytecode reads (the condition, carried integers, positions). For PollLoops.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/graph/graph.h"
#include "tvm-vm/status.h"

namespace tvmvm::passes {

struct DeviceLoop {
  // An element of a tensor that the step makes, which a define_dims node of the body reads.
  struct Read {
    ir::ValueId tensor;
    int64_t element = 0;
  };
  std::unordered_map<ir::SymbolId, Read> reads;  // by the symbol that it gave
  // Carried symbols, by their positions in the loop's `symbols`, whose next values depend on what is read.
  std::vector<size_t> carried;
  ir::SymbolSet symbols;  // of both
  // `continue` is the host's part and the device's part.
  ir::Dim host_condition = 1, device_condition = 1;

  bool polls() const { return !device_condition.IsConstant(1); }
  bool Mentions(const ir::Dim& dim) const;
};

// A slice whose position along one axis is read from the device: a gather can read it there. Its axis, or -1.
int DevicePosition(const DeviceLoop& loop, const ir::Node& slice);

// Errors: kUnsupported saying why the steps cannot do without the host, or, where the loop polls, why steps
// after its end could be noticed.
Expected<DeviceLoop> AnalyzeDeviceLoop(const ir::Function& function, ir::NodeId loop,
                                       const ir::RangeLookup& ranges);

}  // namespace tvmvm::passes
