#include "compiler/operator_list.h"

#include <algorithm>
#include <tuple>

#include "bytecode/device_kinds.h"
#include "compiler/onnx/ops/missing_operators.h"
#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm {
namespace {

// Operators become tensor programs, which every device runs: none has operators of its own. Functions of the
// host library run beside the CPU.
std::vector<std::string> DevicesOf(const ir::OnnxOp& row) {
  std::vector<std::string> names;
  for (const DeviceKindInfo& device : kDeviceKinds)
    if (device.listing == Listing::kListed &&
        (device.device_class == DeviceClass::kCpu || row.runs == ir::Runs::kAnywhere))
      names.emplace_back(device.name);
  return names;
}

OperatorInfo InfoOf(const ir::OnnxOp& row) {
  OperatorInfo info;
  info.domain = row.domain;
  info.name = row.name;
  info.since = row.since;
  if (row.until < ir::kLatest)
    info.until = row.until;
  else if (row.domain.empty())
    info.until = ir::kNewestOpset;
  info.types = ir::TypeNames(row.types.set);
  info.types_of = row.types.input;
  info.devices = DevicesOf(row);
  return info;
}

}  // namespace

std::vector<OperatorInfo> ListOperators() {
  std::vector<OperatorInfo> operators;
  for (const ir::OnnxOp* row : ir::OnnxOps()) operators.push_back(InfoOf(*row));
  auto key = [](const OperatorInfo& info) { return std::tie(info.domain, info.name, info.since); };
  std::ranges::sort(operators, [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return operators;
}

std::vector<MissingOperatorInfo> ListMissingOperators() {
  std::vector<MissingOperatorInfo> missing;
  for (const ir::MissingOperator& each : ir::MissingOperators())
    missing.push_back({std::string(each.domain), std::string(each.name), std::string(each.reason)});
  return missing;
}

std::vector<ElementTypeSet> ListElementTypeSets() {
  std::vector<ElementTypeSet> sets;
  for (const ir::NamedDTypes& named : ir::kNamedDTypes) {
    ElementTypeSet& set = sets.emplace_back(named.name);
    for (int i = 1; i < kDTypeCount; ++i)
      if (DType type = static_cast<DType>(i); named.types.contains(type)) set.types.push_back(type);
  }
  return sets;
}

}  // namespace tvmvm
