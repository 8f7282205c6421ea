// Which groups share a schedule: those that differ in nothing that a schedule looks at.
#include "compiler/schedules/schedule_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/compiler/schedules/group_builder.h"

namespace tvmvm::tensor {
namespace {

using ir::ValueId;
using Ints = std::vector<int64_t>;

class Cache : public testing::Test {
 protected:
  std::shared_ptr<const GroupProgram> Of(GroupBuilder& b, ir::NodeId group) {
    auto program = cache_.Schedule(b.function(), group, TargetInfoFor(CpuLevel::kX86_64_V3));
    EXPECT_TRUE(program) << program.error().message;
    return *program;
  }

 private:
  ir::CompileCounters counters_;
  ScheduleCache cache_{&counters_};
};

ValueId Product(GroupBuilder& b, ValueId x, ValueId w) {
  return b.Add("contract", {x, w},
               {{"lhs_batch", Ints{}},
                {"rhs_batch", Ints{}},
                {"lhs_contract", Ints{1}},
                {"rhs_contract", Ints{0}},
                {"dtype", DType::kF32}});
}

TEST_F(Cache, ProductsWithOtherWeightsShareAScheduleAndPackTheirOwn) {
  GroupBuilder builders[2];
  std::shared_ptr<const GroupProgram> programs[2];
  std::vector<ir::TensorData> packed;
  for (unsigned i = 0; i < 2; ++i) {
    GroupBuilder& b = builders[i];
    ValueId x = b.Input(DType::kF32, {ir::Dim::Symbol("m"), 8});
    ValueId w = b.Constant(DType::kF32, {8, 32}, i);
    b.Output(Product(b, x, w));
    const ir::NodeId group = b.Finish();
    programs[i] = Of(b, group);
    ASSERT_EQ(programs[i]->packed.size(), 1u);
    packed.push_back(programs[i]->packed[0](ConstantsOf(b.function(), group)));
    // Panels of 16 columns: the second begins with the weights' column 16.
    const auto* panels = reinterpret_cast<const float*>(packed[i].bytes.data());
    const auto* weights = reinterpret_cast<const float*>(ConstantsOf(b.function(), group)[1]->bytes.data());
    EXPECT_EQ(panels[8 * 16], weights[16]);
  }
  EXPECT_EQ(programs[0], programs[1]);
  EXPECT_FALSE(std::ranges::equal(packed[0].bytes, packed[1].bytes));
}

TEST_F(Cache, AConstantIsNotAnInput) {
  GroupBuilder with, without;
  ValueId x = with.Input(DType::kF32, {5, 8});
  with.Output(Product(with, x, with.Constant(DType::kF32, {8, 32})));
  x = without.Input(DType::kF32, {5, 8});
  without.Output(Product(without, x, without.Input(DType::kF32, {8, 32})));
  EXPECT_NE(Of(with, with.Finish()), Of(without, without.Finish()));
}

// One element is part of the kernel.
TEST_F(Cache, NumbersAreLookedAt) {
  std::shared_ptr<const GroupProgram> programs[3];
  for (unsigned i = 0; i < 3; ++i) {
    GroupBuilder b;
    ValueId x = b.Input(DType::kF32, {100});
    b.Output(b.Add("mul", {x, b.Constant(DType::kF32, {1}, i == 2 ? 7 : 3)}));
    programs[i] = Of(b, b.Finish());
  }
  EXPECT_EQ(programs[0], programs[1]);
  EXPECT_NE(programs[0], programs[2]);
}

// Whether there is one zero point for all decides what the kernel does.
TEST_F(Cache, WhatCodesAreDecodedWithIsLookedAt) {
  std::shared_ptr<const GroupProgram> programs[2];
  std::vector<GroupBuilder> builders(2);
  for (unsigned i = 0; i < 2; ++i) {
    GroupBuilder& b = builders[i];
    ValueId x = b.Input(DType::kF32, {5, 32});
    ValueId codes = b.Constant(DType::kU8, {32, 16}), scales = b.Constant(DType::kF32, {2, 16});
    ValueId zeros = b.Constant(DType::kU8, {2, 16}, i);
    ValueId w = b.Add("dequantize", {codes, scales, zeros}, {{"blocks", Ints{16, 1}}});
    b.Output(Product(b, x, w));
    programs[i] = Of(b, b.Finish());
  }
  EXPECT_NE(programs[0], programs[1]);
}

}  // namespace
}  // namespace tvmvm::tensor
