// Every kernel of every form of every operator (operator_forms.txt) says what it costs, on the CPU and on
// GPUs: threads, cancelling and placement go by that.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/storage.h"
#include "compiler/onnx/importer/onnx_importer.h"
#include "compiler/onnx/model/onnx_model.h"
#include "compiler/pipeline.h"
#include "compiler/schedules/group.h"
#include "tests/compiler/onnx/importer/onnx_writer.h"
#include "tests/conformance/operator_forms.h"
#include "tests/sanitizer.h"

namespace tvmvm {
namespace {

using ir::OpKind;

constexpr int64_t kUnknownSize = 3;  // of what only running tells

int64_t ValueOf(const ir::Dim& dim) {
  auto assume = [](const ir::SymbolId&) { return std::optional<int64_t>(kUnknownSize); };
  return ir::Evaluate(dim, assume).value_or(-1);
}

bool IsLaunched(const ir::Function& function, const ir::Node& node) {
  switch (node.op->kind) {
    case OpKind::kConstant:
    case OpKind::kDefineDims:
    case OpKind::kRequire:
    case OpKind::kDimsTensor:
    case OpKind::kTransfer:
    case OpKind::kHost:
      return false;
    case OpKind::kIf:
    case OpKind::kLoop:
    case OpKind::kCall:
      return false;
    default:
      return !lowering::Views::IsView(function, node);
  }
}

// Whether the kernel has anything to do: points, and bytes to touch.
bool Works(const tensor::KernelCall& call) {
  if (ValueOf(call.when) == 0) return false;
  for (const ir::Dim& size : call.kernel.grid_size)
    if (ValueOf(size) == 0) return false;
  return true;
}

bool IsEmpty(const ir::Function& function, const ir::Node& node) {
  auto is_empty = [&](ir::ValueId value) {
    return !value.valid() || ValueOf(Product(function.type(value).dims)) == 0;
  };
  return std::ranges::all_of(node.outputs, is_empty) && std::ranges::all_of(node.inputs, is_empty);
}

struct Counts {
  int kernels = 0;
};

void CheckModule(const ir::Module& module, const TargetInfo& target, Counts* counts) {
  for (const ir::Function& function : module.functions) {
    for (ir::RegionId region : ir::RunningRegions(function)) {
      for (ir::NodeId id : function.region(region).nodes) {
        const ir::Node& node = function.node(id);
        if (!IsLaunched(function, node) || IsEmpty(function, node)) continue;
        Expected<tensor::GroupProgram> program = tensor::ScheduleGroup(function, id, target);
        if (!program) {
          EXPECT_TRUE(IsGpu(target)) << program.error().message;
          continue;
        }
        for (const tensor::KernelCall& call : program->calls) {
          if (!Works(call)) continue;
          ++counts->kernels;
          EXPECT_GT(ValueOf(call.kernel.flops) + ValueOf(call.kernel.bytes), 0) << ToString(call.kernel);
          EXPECT_GT(ValueOf(call.kernel.bytes), 0) << ToString(call.kernel);
          EXPECT_GE(ValueOf(call.kernel.flops), 0) << call.kernel.flops.ToString();
        }
      }
    }
  }
}

// After all passes. The module refers to the bytes.
Expected<ir::Module> Prepared(const std::string& bytes, const TargetInfo& target) {
  TVMVM_TRY(ir::OnnxModel model, ir::ReadOnnxBytes(ir::BytesOf(bytes)));
  TVMVM_TRY(ir::Module module, ir::ImportOnnx(model, {}));
  CompileOptions options;
  PassRunner runner{.options = &options, .context = {.targets = {target}}};
  bool stopped = false;
  for (passes::PassStage stage : {passes::PassStage::kModel, passes::PassStage::kDevice})
    TVMVM_CHECK_OK(runner.Run(stage, module, &stopped));
  return module;
}

TEST(KernelWork, EveryKernelOfEveryFormStatesIt) {
  Counts counts;
  int index = 0;
  const TargetInfo cpu = TargetInfoFor(CpuLevel::kX86_64_V3);
  for (const OperatorForm& form : ReadOperatorForms()) {
    if (kSanitized && index++ % 4 != 0) continue;
    SCOPED_TRACE(form.text);
    bool is_imported = false;
    // Kernels depend on types by their width and by what computes in them: one of each kind that there is.
    for (DType type : {DType::kF32, DType::kF16, DType::kI64, DType::kU8, DType::kBool, DType::kI4,
                       DType::kString, DType::kF64, DType::kC64}) {
      const std::string bytes = ModelOf(form, {type});
      Expected<ir::Module> module = Prepared(bytes, cpu);
      if (!module) continue;
      is_imported = true;
      CheckModule(*module, cpu, &counts);
      CheckModule(*module, GpuTargetInfo(DeviceKind::kVulkan), &counts);
    }
    if (!is_imported) {
      for (int i = 1; i < kDTypeCount && !is_imported; ++i) {
        const std::string bytes = ModelOf(form, {static_cast<DType>(i)});
        Expected<ir::Module> module = Prepared(bytes, cpu);
        if (!module) continue;
        is_imported = true;
        CheckModule(*module, cpu, &counts);
      }
    }
    EXPECT_TRUE(is_imported);
  }
  EXPECT_GT(counts.kernels, kSanitized ? 1500 : 6000);
}

TEST(KernelWork, EveryRowWithLoopsHasARule) {
  for (const ir::CoreOp* op : ir::CoreOps()) {
    EXPECT_EQ(op->work != nullptr, ir::BuildsLoops(op->kind)) << op->name;
    EXPECT_EQ(op->loops != nullptr, ir::BuildsLoops(op->kind)) << op->name;
  }
}

}  // namespace
}  // namespace tvmvm
