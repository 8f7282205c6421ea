// Schedules of small modules: tests/golden/schedules/*.txt hold a module, "----", and for each of its groups
// and each target what Summarize says.
#include "compiler/schedules/schedule_summary.h"

#include <gtest/gtest.h>

#include <map>

#include "compiler/graph/core_op.h"
#include "compiler/graph/parser.h"
#include "compiler/graph/printer.h"
#include "compiler/passes/pass.h"
#include "tests/golden/golden.h"

namespace tvmvm::tensor {
namespace {

std::string OperatorsOf(const ir::Function& function, const ir::Node& node) {
  if (node.regions.empty()) return std::string(node.op->name);
  std::string names;
  for (ir::NodeId id : function.region(node.regions[0]).nodes)
    names += (names.empty() ? "" : " ") + std::string(function.node(id).op->name);
  return names;
}

bool IsLaunched(const ir::Node& node) {
  switch (node.op->kind) {
    case ir::OpKind::kConstant:
    case ir::OpKind::kRequire:
    case ir::OpKind::kDefineDims:
    case ir::OpKind::kDimsTensor:
    case ir::OpKind::kView:
      return false;
    default:
      return true;
  }
}

void MakeConstants(ir::Function* function) {
  ir::Region& body = function->region(function->body);
  std::vector<ir::ValueId> inputs;
  std::vector<std::string> names;
  std::vector<ir::NodeId> constants;
  for (size_t i = 0; i < body.parameters.size(); ++i) {
    const ir::ValueId input = body.parameters[i];
    if (!function->input_names[i].starts_with("w")) {
      inputs.push_back(input);
      names.push_back(function->input_names[i]);
      continue;
    }
    const ir::Type& type = function->type(input);
    std::vector<int64_t> dims;
    for (const ir::Dim& dim : type.dims) dims.push_back(dim.value());
    const auto bytes = static_cast<size_t>(DTypeBytes(type.dtype, Product(type.dims).value()));
    auto data = std::make_shared<const ir::TensorData>(
        ir::TensorData::Owned(type.dtype, dims, std::vector<std::byte>(bytes)));
    ir::Node node{.op = &ir::GetCoreOp("constant"), .outputs = {input}, .attributes = {{"data", data}}};
    constants.push_back(function->AddNode(std::move(node)));
  }
  ir::Region& region = function->region(function->body);
  region.parameters = std::move(inputs);
  function->input_names = std::move(names);
  region.nodes.insert(region.nodes.begin(), constants.begin(), constants.end());
}

std::string Schedules(const std::string& text) {
  Expected<ir::Module> module = ir::ParseModule(text);
  if (!module) return module.error().message + "\n";
  const std::pair<const char*, TargetInfo> targets[] = {
      {"x86-64-v3", TargetInfoFor(CpuLevel::kX86_64_V3)},
      {"x86-64-v4", TargetInfoFor(CpuLevel::kX86_64_V4)},
      {"gpu", GpuTargetInfo(DeviceKind::kVulkan)},
  };
  MakeConstants(&module->main());
  if (Status fused = passes::FuseGroups(*module, {}); !fused) return fused.error().message + "\n";
  const ir::Function& function = module->main();
  std::string result;
  for (ir::NodeId id : function.region(function.body).nodes) {
    const ir::Node& node = function.node(id);
    if (!IsLaunched(node)) continue;
    result += "group: " + OperatorsOf(function, node) + "\n";
    for (const auto& [name, target] : targets) {
      Expected<GroupProgram> program = ScheduleGroup(function, id, target);
      result += std::string("-- ") + name + "\n" +
                (program ? Summarize(*program, target) : program.error().message + "\n");
    }
  }
  return result;
}

TEST(ScheduleSummaryTest, MatchesTheGoldenFiles) { CheckGolden("schedules", Schedules); }

}  // namespace
}  // namespace tvmvm::tensor
