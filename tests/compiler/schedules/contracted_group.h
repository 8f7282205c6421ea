// The kernels of a group with their contracts, and groups of all kinds to attack.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/requirements.h"
#include "compiler/graph/storage.h"
#include "compiler/schedules/launch_contract.h"
#include "tests/compiler/schedules/contract_attacker.h"
#include "tests/compiler/schedules/group_builder.h"

namespace tvmvm::tensor {

inline ir::RangeLookup AnyRanges() {
  return [](const ir::SymbolId&) { return ir::DimRange(); };
}

// The kernels of a group and their contracts.
class ContractedGroup {
 public:
  ContractedGroup(GroupBuilder& b, ir::NodeId group, const ir::RangeLookup& ranges = AnyRanges(),
                  bool can_tell = true)
      : ContractedGroup(b, group, ScheduleGroup(b.function(), group, TargetInfoFor(CpuLevel::kX86_64_V3)),
                        ranges, can_tell) {}
  ContractedGroup(GroupBuilder& b, ir::NodeId group, Expected<GroupProgram> program,
                  const ir::RangeLookup& ranges = AnyRanges(), bool can_tell = true) {
    if (!program) {
      ADD_FAILURE() << program.error().message;
      return;
    }
    program_ = std::move(*program);
    for (const ir::Requirement& requirement : RequirementsOf(b.function(), b.function().node(group)))
      facts_.push_back(requirement.condition);
    const ir::Node& node = b.function().node(group);
    auto bytes_of = [&](ir::ValueId value) {
      return lowering::BytesOf(b.function().type(value).dtype, b.function().type(value).dims);
    };
    const GroupConstants constants = ConstantsOf(b.function(), group);
    for (const KernelCall& call : program_.calls) {
      if (ir::Simplify(call.when, ranges).IsConstant(0)) continue;  // programs leave it out
      ContractedKernel kernel{&call, LaunchScalars(call.kernel), {}, ""};
      for (const KernelArgument& argument : call.arguments) {
        switch (argument.kind) {
          case ArgumentKind::kInput:
            kernel.bytes.push_back(bytes_of(node.inputs[argument.index]));
            break;
          case ArgumentKind::kOutput:
            kernel.bytes.push_back(bytes_of(node.outputs[argument.index]));
            break;
          case ArgumentKind::kWorkspace: {
            const Workspace& space = program_.workspaces[argument.index];
            kernel.bytes.push_back(lowering::BytesOf(space.dtype, {space.elements}));
            break;
          }
          case ArgumentKind::kPacked:
            kernel.bytes.push_back(
                static_cast<int64_t>(program_.packed[argument.index](constants).bytes.size()));
        }
      }
      auto [text, told] = LaunchContractOf({{&call}, kernel.scalars, kernel.bytes, facts_}, ranges,
                                           [&](const ir::Dim&) { return can_tell; });
      kernel.contract = std::move(text);
      kernel.scalars.insert(kernel.scalars.end(), told.begin(), told.end());
      kernels_.push_back(std::move(kernel));
    }
  }
  const std::vector<ContractedKernel>& kernels() const { return kernels_; }
  const ir::Dims& facts() const { return facts_; }
  std::vector<std::string> contracts() const {
    std::vector<std::string> texts;
    for (const ContractedKernel& kernel : kernels_) texts.push_back(kernel.contract);
    return texts;
  }

 private:
  GroupProgram program_;
  std::vector<ContractedKernel> kernels_;
  ir::Dims facts_;
};

}  // namespace tvmvm::tensor
