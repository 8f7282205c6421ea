// What a launch of a kernel must fulfil so that the kernel stays within its buffers (KernelSpec::contract).
//
// A schedule is right for all values of the group's symbols that its facts allow. So a launch is safe that
// the program itself could make for some of these values: its scalars and its grid follow from them, its
// buffers have the bytes of the group's values, and nothing that is in the buffers becomes an address
// unbounded. The contract says that in terms of the launch.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

// A call as it is launched.
struct ContractedCall {
  std::vector<const KernelCall*> variants;  // as scheduled for each target
  std::span<const ir::Dim> scalars;
  ir::Dims bytes;  // of each buffer
  ir::Dims facts;  // must not be 0: what the group takes for granted
};

struct CallContract {
  std::string text;  // "" where none can be said: memory decides where the kernel reads or writes
  // What a launch has to pass behind the call's scalars: sizes that do not follow from what the kernel uses.
  ir::Dims told;
};

// `can_tell`: whether a launch could pass the dim.
CallContract LaunchContractOf(const ContractedCall& call, const ir::RangeLookup& ranges,
                              const std::function<bool(const ir::Dim&)>& can_tell);

}  // namespace tvmvm::tensor
