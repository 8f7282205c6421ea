// How much a model runs: its groups, the kernels that are launched for them and the bytes and operations that
// these state, for a CPU and for a GPU. tests/golden/models/work.txt holds the numbers, so that a fusion that
// gets lost is seen. TVMVM_UPDATE_GOLDEN=1 rewrites it.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "compiler/graph/core_op.h"
#include "compiler/onnx/importer/onnx_importer.h"
#include "compiler/pipeline.h"
#include "compiler/schedules/group.h"
#include "tests/folders.h"
#include "tests/golden/golden.h"
#include "tests/require.h"

namespace tvmvm {
namespace {

// What symbols are taken for.
constexpr int64_t kSize = 16;

int64_t ValueOf(const ir::Dim& dim) {
  return ir::Evaluate(dim, [](const ir::SymbolId&) { return std::optional<int64_t>(kSize); }).value_or(0);
}

struct Work {
  int64_t groups = 0, launches = 0, bytes = 0, flops = 0;
};

class WorkCounter {
 public:
  WorkCounter(const ir::Function& function, const TargetInfo& target)
      : function_(function), target_(target) {}

  Work Count() {
    Region(function_.body);
    return work_;
  }

 private:
  void Region(ir::RegionId region) {
    for (ir::NodeId id : function_.region(region).nodes) Node(id);
  }

  void Node(ir::NodeId id) {
    const ir::Node& node = function_.node(id);
    switch (node.op->kind) {
      case ir::OpKind::kConstant:
      case ir::OpKind::kRequire:
      case ir::OpKind::kDefineDims:
      case ir::OpKind::kDimsTensor:
      case ir::OpKind::kTransfer:
      case ir::OpKind::kView:
      case ir::OpKind::kHost:
        return;
      default:
        break;
    }
    if (IsControl(*node.op) && node.op->kind != ir::OpKind::kFused) {
      for (ir::RegionId region : node.regions) Region(region);
      return;
    }
    ++work_.groups;
    Expected<tensor::GroupProgram> program = tensor::ScheduleGroup(function_, id, target_);
    if (!program) return;  // it stays on the CPU
    for (const tensor::KernelCall& call : program->calls) {
      if (ValueOf(call.when) == 0) continue;
      ++work_.launches;
      work_.bytes += ValueOf(call.kernel.bytes);
      work_.flops += ValueOf(call.kernel.flops);
    }
  }

  const ir::Function& function_;
  const TargetInfo& target_;
  Work work_;
};

std::string WorkOf(const std::filesystem::path& path) {
  auto file = ir::MappedFile::Open(path.string());
  if (!file) return file.error().message;
  Expected<ir::OnnxModel> model = ir::ReadOnnxFile(path.string(), *file);
  if (!model) return model.error().message;
  Expected<ir::Module> module = ir::ImportOnnx(*model, {});
  if (!module) return module.error().message;
  const TargetInfo cpu = TargetInfoFor(CpuLevel::kX86_64_V3), gpu = GpuTargetInfo(DeviceKind::kVulkan);
  CompileOptions options;
  options.verify_passes = true;
  std::ostringstream text;
  for (const auto& [name, target] : {std::pair{"cpu", &cpu}, std::pair{"gpu", &gpu}}) {
    ir::Module passed = *module;
    PassRunner runner{.options = &options, .context = {.targets = {cpu}, .for_gpus = target == &gpu}};
    bool stopped = false;
    for (passes::PassStage stage : {passes::PassStage::kModel, passes::PassStage::kDevice})
      if (Status status = runner.Run(stage, passed, &stopped); !status) return status.error().message;
    Work sum;
    for (const ir::Function& function : passed.functions) {
      const Work work = WorkCounter(function, *target).Count();
      sum.groups += work.groups;
      sum.launches += work.launches;
      sum.bytes += work.bytes;
      sum.flops += work.flops;
    }
    text << "  " << name << ": " << sum.groups << " groups, " << sum.launches << " launches, " << sum.bytes
         << " bytes, " << sum.flops << " flops\n";
  }
  return text.str();
}

TEST(ModelWork, IsAsBefore) {
  const std::filesystem::path folder = SharedPath("models");
  if (!std::filesystem::exists(folder)) TVMVM_SKIP_WITHOUT("onnx", "no " << folder << " beside the project");
  std::set<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (std::filesystem::exists(entry.path() / "model.onnx")) paths.insert(entry.path());
  std::string found =
      "Groups, launches and stated work of models; dims known only at run time count as 16.\n";
  for (const std::filesystem::path& path : paths)
    found += path.filename().string() + "\n" + WorkOf(path / "model.onnx");
  const std::filesystem::path golden = SourcePath("tests/golden/models/work.txt");
  if (UpdateGolden()) {
    std::ofstream(golden, std::ios::binary) << found;
  } else {
    EXPECT_EQ(ReadText(golden), found);
  }
}

}  // namespace
}  // namespace tvmvm
