// Contracts of kernels: what they say of some groups, and that whatever launch fulfils one stays within the
// bytes that it names, with anything in the buffers.
#include "compiler/schedules/launch_contract.h"

#include <gmock/gmock.h>

#include "compiler/schedules/bounded_indices.h"
#include "tests/compiler/schedules/contract_cases.h"
#include "tests/compiler/schedules/contracted_group.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::ValueId;
using ::testing::ElementsAre;
using Ints = std::vector<int64_t>;

// Of sorts, which go where numbers in their own memory say, on CPUs.
constexpr ContractCase kSortCases[] = {
    {"topk_beside",
     [](GroupBuilder& b) {
       b.Add("topk", {b.Input(DType::kF32, {N(), M() + 2})},
             {{"axis", int64_t{1}}, {"k", Dim(2)}, {"largest", int64_t{1}}});
     }},
    {"topk_any",
     [](GroupBuilder& b) {
       b.Add("topk", {b.Input(DType::kI16, {N(), M(), 2})},
             {{"axis", int64_t{1}}, {"k", Min(K(), M())}, {"largest", int64_t{0}}});
     }},
    {"topk_columns",
     [](GroupBuilder& b) {
       b.Add("topk", {b.Input(DType::kF32, {N(), M() + 2, 19})},
             {{"axis", int64_t{1}}, {"k", Dim(2)}, {"largest", int64_t{0}}});
     }},
    {"topk_few_columns",
     [](GroupBuilder& b) {
       b.Add("topk", {b.Input(DType::kF32, {N(), M() + 2, 3})},
             {{"axis", int64_t{1}}, {"k", Dim(2)}, {"largest", int64_t{1}}});
     }},
    {"topk_any_columns",
     [](GroupBuilder& b) {
       b.Add("topk", {b.Input(DType::kF32, {N(), M() + 2, K()})},
             {{"axis", int64_t{1}}, {"k", Dim(2)}, {"largest", int64_t{0}}});
     }},
    {"topk_short_columns",
     [](GroupBuilder& b) {
       b.Add("topk", {b.Input(DType::kI32, {N(), M() + 20, 19})},
             {{"axis", int64_t{1}}, {"k", Dim(20)}, {"largest", int64_t{1}}});
     }},
    {"topk_many",  // not short
     [](GroupBuilder& b) {
       b.Add("topk", {b.Input(DType::kI16, {N(), M() + 65})},
             {{"axis", int64_t{1}}, {"k", Dim(65)}, {"largest", int64_t{1}}});
     }},
};

class LaunchContractOfGroup : public testing::TestWithParam<ContractCase> {};

TEST_P(LaunchContractOfGroup, KeepsKernelsWithinTheirBuffers) {
  GroupBuilder b;
  GetParam().build(b);
  ContractedGroup group(b, b.Finish());
  int ran = 0, honest = 0;
  for (const ContractedKernel& kernel : group.kernels()) {
    ASSERT_NE(kernel.contract, "") << ToString(kernel.call->kernel);
    Attacker attacker(kernel, group.facts(), AnyRanges());
    for (int i = 0; (i < 60 || (attacker.honest == 0 && i < 2000)) && !HasFatalFailure(); ++i)
      attacker.Attack();
    ran += attacker.ran;
    honest += attacker.honest;
  }
  EXPECT_GT(honest, 0);
  EXPECT_GE(ran, honest);
}

std::string NameOf(const testing::TestParamInfo<ContractCase>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Groups, LaunchContractOfGroup, testing::ValuesIn(kContractCases), NameOf);
INSTANTIATE_TEST_SUITE_P(Sorts, LaunchContractOfGroup, testing::ValuesIn(kSortCases), NameOf);

// It is given k * m, which says nothing of k where m is 0: so it is told k.
TEST(LaunchContractText, SizesThatDoNotFollowAreTold) {
  for (const bool can_tell : {false, true}) {
    GroupBuilder b;
    b.Output(b.Add("slice", {b.Input(DType::kF32, {N(), M()})},
                   {{"starts", Dims{K(), 0}}, {"steps", Dims{1, 1}}, {"dims", Dims{1, M()}}}));
    const ContractedGroup group(b, b.Finish(), AnyRanges(), can_tell);
    for (const ContractedKernel& kernel : group.kernels()) {
      EXPECT_EQ(kernel.contract != "", can_tell);
      EXPECT_EQ(std::ranges::count(kernel.scalars, K()), can_tell ? 1 : 0);
    }
  }
}

std::vector<std::string> ContractsOf(std::string_view name) {
  for (const ContractCase& group : kContractCases) {
    if (group.name != name) continue;
    GroupBuilder b;
    group.build(b);
    return ContractedGroup(b, b.Finish()).contracts();
  }
  return {};
}

TEST(LaunchContractText, SaysWhatSizesAre) {
  EXPECT_THAT(ContractsOf("fixed"), ElementsAre("0; 60; 20; 60; eq(x, 1); eq(y, 1); eq(z, 1)"));
}

TEST(LaunchContractText, RangesOfSymbolsAreConditions) {
  GroupBuilder b;
  b.Output(b.Add("neg", {b.Input(DType::kF32, {N()})}));
  const ContractedGroup group(b, b.Finish(), [](const ir::SymbolId&) { return ir::DimRange{2, 512}; });
  ASSERT_EQ(group.kernels().size(), 1u);
  EXPECT_THAT(group.contracts()[0],
              testing::AllOf(testing::HasSubstr("le(2, s0)"), testing::HasSubstr("le(s0, 512)")));
}

// A number that the kernel knows parts of and cannot be told, indices that another kernel has checked.
TEST(LaunchContractText, WhatCannotBeSaidIsNone) {
  GroupBuilder parts;
  AddParts(parts);
  EXPECT_THAT(ContractedGroup(parts, parts.Finish(), AnyRanges(), false).contracts(), testing::Each(""));
  GroupBuilder clamped;
  ValueId x = clamped.Input(DType::kF32, {N(), M()}), i = clamped.Input(DType::kI64, {N(), M()});
  clamped.Output(clamped.Add("gather_elements", {x, i}, {{"axis", int64_t{0}}, {"inside", int64_t{0}}}));
  EXPECT_THAT(ContractedGroup(clamped, clamped.Finish()).contracts(), testing::Each(testing::Ne("")));
}

// ---- indices that depend on memory ----

// Stores to y at an index made of what x says.
bool IsBounded(Expr (*index)(Expr loaded)) {
  LoopKernel kernel;
  const uint32_t x = kernel.AddArgument("x", DType::kI64, Access::kRead);
  const uint32_t y = kernel.AddArgument("y", DType::kI64, Access::kWrite);
  const Expr loaded = Load(x, DType::kI64, IntConstant(0));
  kernel.body = Block({Store(y, index(loaded), loaded)});
  return IndicesAreBounded(kernel);
}

TEST(BoundedIndices, AreBroughtBetweenBounds) {
  EXPECT_TRUE(IsBounded([](Expr) { return IntConstant(3) + DimValue(N()); }));
  EXPECT_FALSE(IsBounded([](Expr x) { return x; }));
  EXPECT_FALSE(IsBounded([](Expr x) { return Min(x, IntConstant(9)); }));
  EXPECT_FALSE(IsBounded([](Expr x) { return Max(x, IntConstant(0)); }));
  EXPECT_TRUE(IsBounded([](Expr x) { return Max(Min(x, DimValue(N())), IntConstant(0)); }));
  EXPECT_TRUE(IsBounded(
      [](Expr x) { return Min(Max(x, IntConstant(0)), DimValue(N())) * DimValue(M()) + IntConstant(1); }));
  EXPECT_FALSE(IsBounded([](Expr x) { return Max(Min(x, DimValue(N())), IntConstant(0)) + x; }));
  EXPECT_FALSE(IsBounded([](Expr x) { return IntConstant(0) - Min(x, IntConstant(9)); }));
  EXPECT_FALSE(IsBounded([](Expr x) { return Max(Min(x, x + IntConstant(1)), IntConstant(0)); }));
  EXPECT_FALSE(IsBounded([](Expr x) { return Min(Max(x, IntConstant(0)) + IntConstant(1), IntConstant(9)); }))
      << "the sum may wrap";
  EXPECT_FALSE(
      IsBounded([](Expr x) { return Max(IntConstant(-1) - Max(x, IntConstant(0)), IntConstant(0)); }));
  EXPECT_TRUE(IsBounded([](Expr x) { return FloorMod(x, DimValue(N())); }));
  EXPECT_FALSE(IsBounded([](Expr x) { return FloorMod(IntConstant(7), x); }));
  EXPECT_TRUE(IsBounded([](Expr x) { return Binary(ExprOp::kAnd, x, IntConstant(255)); }));
  EXPECT_FALSE(IsBounded([](Expr x) { return Binary(ExprOp::kAnd, x, IntConstant(-256)); }));
  EXPECT_FALSE(IsBounded([](Expr x) { return Binary(ExprOp::kAnd, x, DimValue(N())); }));
  EXPECT_TRUE(
      IsBounded([](Expr x) { return Select(Less(x, IntConstant(0)), IntConstant(4), IntConstant(5)); }));
  EXPECT_FALSE(IsBounded([](Expr x) { return Select(Less(x, IntConstant(0)), IntConstant(4), x); }));
  EXPECT_TRUE(IsBounded([](Expr x) { return Cast(DType::kI64, Less(x, IntConstant(0))); }));
  EXPECT_FALSE(IsBounded([](Expr x) { return Cast(DType::kI64, Cast(DType::kI32, x)); }));
  EXPECT_FALSE(IsBounded([](Expr x) {
    return Cast(DType::kI64, Max(Min(Cast(DType::kF32, x), FloatConstant(9)), FloatConstant(0)));
  })) << "NaN";
}

TEST(BoundedIndices, LoopsAndNamesCarryThem) {
  for (const bool is_clamped : {false, true}) {
    LoopKernel kernel;
    const uint32_t x = kernel.AddArgument("x", DType::kI64, Access::kRead);
    const uint32_t y = kernel.AddArgument("y", DType::kI64, Access::kWrite);
    Expr end = Load(x, DType::kI64, IntConstant(0));
    if (is_clamped) end = Min(end, DimValue(N()));
    const VariableId named = kernel.NewVariable("end"), i = kernel.NewVariable("i");
    kernel.body = Block(
        {Let(named, end), For(i, IntConstant(0), Variable(named), Store(y, Variable(i), IntConstant(1)))});
    EXPECT_EQ(IndicesAreBounded(kernel), is_clamped);
  }
}

// A kernel stores to y where its local buffer says, after the buffer was filled.
bool IsBoundedBy(const std::function<StmtPtr(uint32_t local, const Expr& i, const Expr& loaded)>& fill) {
  LoopKernel kernel;
  const uint32_t x = kernel.AddArgument("x", DType::kI64, Access::kRead);
  const uint32_t y = kernel.AddArgument("y", DType::kI64, Access::kWrite);
  const uint32_t local = kernel.AddLocal("local", DType::kI64, Memory::kLocal, 4);
  const VariableId i = kernel.NewVariable("i");
  const Expr zero = IntConstant(0), loaded = Load(x, DType::kI64, Variable(i));
  kernel.body = Block({Allocate(local), Store(local, zero, zero),
                       For(i, zero, DimValue(N()), fill(local, Variable(i), loaded)),
                       Store(y, Load(local, DType::kI64, zero), IntConstant(1))});
  return IndicesAreBounded(kernel);
}

TEST(BoundedIndices, WhatTheKernelKeepsIsFollowed) {
  const Expr zero = IntConstant(0), one = IntConstant(1);
  auto kept = [&](uint32_t local) { return Load(local, DType::kI64, zero); };
  auto clamped = [&](const Expr& e) { return Max(Min(e, DimValue(N())), zero); };
  using Index = const Expr&;
  EXPECT_TRUE(IsBoundedBy([&](uint32_t local, Index i, Index) { return Store(local, zero, i); }));
  EXPECT_TRUE(
      IsBoundedBy([&](uint32_t local, Index, Index) { return Store(local, zero, kept(local) + one); }));
  EXPECT_TRUE(IsBoundedBy([&](uint32_t local, Index, Index x) { return Store(local, zero, clamped(x)); }));
  EXPECT_FALSE(IsBoundedBy([&](uint32_t local, Index, Index x) { return Store(local, zero, x); }));
  EXPECT_FALSE(IsBoundedBy([&](uint32_t local, Index, Index x) {
    return Store(local, zero, kept(local) + clamped(x));
  })) << "a sum of what is found";
  EXPECT_FALSE(IsBoundedBy([&](uint32_t local, Index, Index x) {
    return If(Less(zero, x), Store(local, zero, kept(local) + one));
  })) << "a counter of what is found";
  EXPECT_FALSE(IsBoundedBy([&](uint32_t local, Index, Index x) {
    return Store(local, zero, kept(local) + Cast(DType::kI64, Less(zero, x)));
  })) << "the same without a branch";
  EXPECT_TRUE(IsBoundedBy([&](uint32_t local, Index, Index x) {
    return If(Less(zero, x), Store(local, zero, clamped(kept(local) + one)));
  })) << "a counter that has bounds of its own";
  EXPECT_FALSE(IsBoundedBy([&](uint32_t local, Index, Index x) {
    return If(Less(zero, x), Store(local, zero, Min(kept(local) - one, DimValue(N()))));
  })) << "bounds on one side";
  EXPECT_TRUE(IsBoundedBy([&](uint32_t local, Index, Index x) {
    return If(Less(zero, x), Store(local, zero, Select(Equal(kept(local), zero), one, zero)));
  })) << "one of two numbers";
  EXPECT_FALSE(IsBoundedBy([&](uint32_t local, Index, Index x) {
    return Store(local, zero, Max(kept(local) + clamped(x), kept(local)));
  })) << "what was kept is no bound";
  EXPECT_TRUE(IsBoundedBy([&](uint32_t local, Index i, Index x) {
    return Store(local, zero, Select(Less(zero, x), i, kept(local)));
  })) << "the place of what was found";
  EXPECT_FALSE(IsBoundedBy([&](uint32_t local, Index, Index x) {
    return Store(local, zero, Select(Less(zero, x), kept(local) + one, kept(local)));
  })) << "a counter that chooses";
  EXPECT_TRUE(IsBoundedBy([&](uint32_t local, Index, Index x) {
    return If(Less(zero, x), Store(local, zero, Min(kept(local) + one, DimValue(N()))));
  })) << "a counter with a bound where it grows";
  // With `compare` of what is kept, and the branch.
  auto counts_within = [&](const std::function<Expr(const Expr& place)>& compare, bool otherwise = false) {
    return IsBoundedBy([&](uint32_t local, Index, Index x) {
      constexpr VariableId kPlace = 77;
      const Expr place = Variable(kPlace);
      StmtPtr store = Store(local, zero, place + one);
      const Expr condition = And(Less(zero, x), compare(place));
      return Block({Let(kPlace, kept(local)), otherwise ? If(condition, Block({}), std::move(store))
                                                        : If(condition, std::move(store))});
    });
  };
  EXPECT_TRUE(counts_within([&](Index place) { return Less(place, DimValue(N())); }));
  EXPECT_TRUE(counts_within([&](Index place) { return LessEqual(place, IntConstant(9)); }));
  EXPECT_FALSE(counts_within([&](Index place) { return Less(zero, place); })) << "bounds on the other side";
  EXPECT_FALSE(counts_within([&](Index place) { return Less(place, place + one); })) << "it bounds itself";
  EXPECT_FALSE(counts_within([&](Index place) { return Less(place, DimValue(N())); }, true))
      << "it does not hold";
  EXPECT_TRUE(IsBoundedBy([&](uint32_t local, Index, Index x) {
    return Store(local, zero, Min(kept(local) + clamped(x), DimValue(N())));
  })) << "a sum with one";
  EXPECT_FALSE(IsBoundedBy([&](uint32_t local, Index, Index x) {
    return Store(local, zero, Min(kept(local) + Min(x, one), DimValue(N())));
  })) << "a sum of numbers that may be negative";
  EXPECT_FALSE(IsBoundedBy([&](uint32_t local, Index, Index x) {
    return Store(local, zero, Min(kept(local) + Max(x, zero), DimValue(N())));
  })) << "a sum that may wrap";
}

}  // namespace
}  // namespace tvmvm::tensor
