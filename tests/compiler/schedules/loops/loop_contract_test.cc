// Contracts of loops that became one kernel: whatever launch fulfils one stays within the bytes that it
// names.
#include <gmock/gmock.h>

#include "compiler/graph/control.h"
#include "compiler/graph/parser.h"
#include "compiler/graph/storage.h"
#include "compiler/pipeline.h"
#include "compiler/schedules/launch_contract.h"
#include "compiler/schedules/loops/outline_loop.h"
#include "tests/compiler/schedules/contract_attacker.h"
#include "tests/compiler/schedules/loops/loop_texts.h"

namespace tvmvm {
namespace {

using lowering::LoopArgumentKind;
using testing::HasSubstr;

// The first loop of a module as one kernel.
class ContractedLoop {
 public:
  explicit ContractedLoop(const std::string& text) : module_(ir::ParseModule(text)) {
    if (!module_) {
      ADD_FAILURE() << module_.error().message << "\n" << text;
      return;
    }
    const std::vector<TargetInfo> targets{TargetInfoFor(CpuLevel::kX86_64_V3)};
    for (const passes::Pass& pass : PassPipeline())
      if (Status status = pass.run(*module_, {.targets = targets}); !status)
        ADD_FAILURE() << pass.name << ": " << status.error().message << "\n" << text;
    ranges = module_->Ranges();
    Outline(module_->functions[0], targets);
    if (kernel.call == nullptr) ADD_FAILURE() << text;
  }

  tensor::ContractedKernel kernel;
  ir::Dims facts;
  ir::RangeLookup ranges;

 private:
  void Outline(const ir::Function& function, const std::vector<TargetInfo>& targets) {
    ir::CompileCounters counters;
    tensor::ScheduleCache schedules(&counters);
    const lowering::Views views(function);
    for (const ir::NodeId id : function.region(function.body).nodes) {
      if (!ir::IsLoop(function.node(id))) continue;
      std::optional<lowering::OutlinedLoop> loop =
          lowering::OutlineLoop(function, id, views, ranges, targets, &schedules);
      if (!loop) return;
      call_.kernel = std::move(loop->kernels[0]);
      kernel = {&call_, tensor::LaunchScalars(call_.kernel), std::move(loop->bytes), ""};
      for (size_t i = 0; i < loop->arguments.size(); ++i)
        if (loop->arguments[i].kind == LoopArgumentKind::kPacked) {
          const lowering::PackedOfGroup& packed = loop->packed[loop->arguments[i].number];
          kernel.bytes[i] = static_cast<int64_t>(packed.pack(packed.constants).bytes.size());
        }
      facts = std::move(loop->facts);
      auto [contract, told] = tensor::LaunchContractOf({{&call_}, kernel.scalars, kernel.bytes, facts},
                                                       ranges, [](const ir::Dim&) { return true; });
      kernel.contract = std::move(contract);
      kernel.scalars.insert(kernel.scalars.end(), told.begin(), told.end());
      return;
    }
  }

  Expected<ir::Module> module_;
  tensor::KernelCall call_;
};

TEST(LoopContract, KeepsRandomLoopsWithinTheirBuffers) {
  std::mt19937 random(17);
  int ran = 0, honest = 0;
  for (int round = 0; round < 40 && !testing::Test::HasFailure(); ++round) {
    std::string text = RandomLoop(random);
    if (round % 2 == 1) text = WithSymbolicWidth(std::move(text));
    const ContractedLoop loop(text);
    ASSERT_NE(loop.kernel.contract, "") << text;
    tensor::Attacker attacker(loop.kernel, loop.facts, loop.ranges);
    for (int i = 0; i < 20 && !testing::Test::HasFailure(); ++i) attacker.Attack();
    ran += attacker.ran;
    honest += attacker.honest;
  }
  EXPECT_GT(honest, 40);
  EXPECT_GT(ran, honest);
}

constexpr std::string_view kThreeResults =
    "%14: tensor<f32,[24]>, %15: tensor<f32,[24]>, %16: tensor<f32,[24]>";

TEST(LoopContract, SaysHowFarStepsReach) {
  const ContractedLoop loop(LoopOf(
      "    %8: tensor<f32,[1,24]> = slice(%0) {dims = dims[1, 24], starts = dims[i, 0], steps = dims[1, 1]}\n"
      "    %9: tensor<f32,[24]> = reshape(%8) {dims = dims[24]}\n"
      "    %10: tensor<f32,[24]> = add(%5, %9)\n    yield %10, %6, %7, %10\n",
      std::string(kThreeResults) + ", %17: tensor<f32,[m,24]>", std::string(kCounted),
      "  output \"a\" = %14\n  output \"y\" = %17\n"));
  EXPECT_THAT(loop.kernel.contract, HasSubstr("s1*96")) << "x and y";
  EXPECT_THAT(loop.kernel.contract, HasSubstr("le(0, s0)"));
}

// Where a row lies is what memory says, which is compared in the kernel and not brought between bounds.
TEST(LoopContract, PositionsOutOfMemoryHaveNone) {
  const ContractedLoop loop(
      LoopOf("    %12: tensor<i64,[1]> = slice(%4) {dims = dims[1], starts = dims[i], steps = dims[1]}\n"
             "    define_dims(%12) {symbols = strings[\"q\"]}\n"
             "    %10: tensor<f32,[1,24]> = slice(%0) {dims = dims[1, 24], starts = dims[q, 0], steps = "
             "dims[1, 1]}\n"
             "    %11: tensor<f32,[24]> = reshape(%10) {dims = dims[24]}\n"
             "    %13: tensor<f32,[24]> = add(%5, %11)\n    yield %13, %6, %7\n",
             std::string(kThreeResults), std::string(kCounted), "  output \"a\" = %14\n"));
  EXPECT_EQ(loop.kernel.contract, "");
}

}  // namespace
}  // namespace tvmvm
