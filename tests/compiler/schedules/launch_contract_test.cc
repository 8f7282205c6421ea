// Contracts of kernels: what they say of some groups, and that whatever launch fulfils one stays within the
// bytes that it names, with anything in the buffers.
#include "compiler/schedules/launch_contract.h"

#include <gmock/gmock.h>

#include "compiler/graph/requirements.h"
#include "compiler/graph/storage.h"
#include "compiler/schedules/bounded_indices.h"
#include "tests/compiler/schedules/contract_attacker.h"
#include "tests/compiler/schedules/group_builder.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::ValueId;
using ::testing::ElementsAre;
using Ints = std::vector<int64_t>;

ir::RangeLookup AnyRanges() {
  return [](const ir::SymbolId&) { return ir::DimRange(); };
}

// The kernels of a group and their contracts.
class ContractedGroup {
 public:
  ContractedGroup(GroupBuilder& b, ir::NodeId group, const ir::RangeLookup& ranges = AnyRanges(),
                  bool can_tell = true) {
    auto program = ScheduleGroup(b.function(), group, TargetInfoFor(CpuLevel::kX86_64_V3));
    if (!program) {
      ADD_FAILURE() << program.error().message;
      return;
    }
    program_ = std::move(*program);
    for (const ir::Requirement& requirement : RequirementsOf(b.function(), b.function().node(group)))
      facts_.push_back(requirement.condition);
    const ir::Node& node = b.function().node(group);
    auto bytes_of = [&](ValueId value) {
      return lowering::BytesOf(b.function().type(value).dtype, b.function().type(value).dims);
    };
    const GroupConstants constants = ConstantsOf(b.function(), group);
    for (const KernelCall& call : program_.calls) {
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
                                           [&](const Dim&) { return can_tell; });
      kernel.contract = std::move(text);
      kernel.scalars.insert(kernel.scalars.end(), told.begin(), told.end());
      kernels_.push_back(std::move(kernel));
    }
  }
  const std::vector<ContractedKernel>& kernels() const { return kernels_; }
  const Dims& facts() const { return facts_; }
  std::vector<std::string> contracts() const {
    std::vector<std::string> texts;
    for (const ContractedKernel& kernel : kernels_) texts.push_back(kernel.contract);
    return texts;
  }

 private:
  GroupProgram program_;
  std::vector<ContractedKernel> kernels_;
  Dims facts_;
};

struct Case {
  const char* name;
  void (*build)(GroupBuilder& b);
};

// The kernel counts through n * m elements of rows of four, and is not told n.
void AddParts(GroupBuilder& b) {
  ValueId negated = b.Add("neg", {b.Input(DType::kF32, {N(), M()})});
  const Dims fours{FloorDiv(N() * M(), 4), 4};
  b.Output(b.Add("add", {b.Add("reshape", {negated}, {{"dims", fours}}), b.Input(DType::kF32, fours)}));
}

Case kCases[] = {
    {"elementwise",
     [](GroupBuilder& b) {
       b.Output(b.Add("add", {b.Input(DType::kF32, {N(), M()}), b.Input(DType::kF32, {N(), M()})}));
     }},
    {"fixed",
     [](GroupBuilder& b) {
       b.Output(b.Add("add", {b.Input(DType::kF32, {3, 5}), b.Input(DType::kF32, {5})}));
     }},
    {"bias",
     [](GroupBuilder& b) {
       b.Output(b.Add("add", {b.Input(DType::kF32, {N(), M()}), b.Input(DType::kF32, {M()})}));
     }},
    {"outer",
     [](GroupBuilder& b) {
       b.Output(b.Add("mul", {b.Input(DType::kF32, {N(), 1, K()}), b.Input(DType::kF32, {1, M(), 1})}));
     }},
    {"transpose",
     [](GroupBuilder& b) {
       b.Output(b.Add("transpose", {b.Input(DType::kF32, {N(), M(), 4})}, {{"perm", Ints{1, 0, 2}}}));
     }},
    {"narrow",
     [](GroupBuilder& b) {
       b.Output(b.Add("neg", {b.Input(DType::kI8, {N() * 2 + 1, 3})}));
     }},
    {"slice",
     [](GroupBuilder& b) {
       b.Output(b.Add("slice", {b.Input(DType::kF32, {N() + 3, 7, M()})},
                      {{"starts", Dims{2, 5, 0}}, {"steps", Dims{1, -2, 1}}, {"dims", Dims{N(), 3, M()}}}));
     }},
    {"concat",
     [](GroupBuilder& b) {
       b.Output(
           b.Add("exp", {b.Add("concat", {b.Input(DType::kF32, {N(), M()}), b.Input(DType::kF32, {N(), K()})},
                               {{"axis", int64_t{1}}})}));
     }},
    {"reduce",
     [](GroupBuilder& b) {
       b.Output(b.Add("reduce", {b.Input(DType::kF32, {N(), M()})},
                      {{"flags", Dims{1, 0}}, {"kind", std::string("sum")}}));
     }},
    {"softmax",
     [](GroupBuilder& b) {
       ValueId x = b.Input(DType::kF32, {N(), M()});
       ValueId most = b.Add("reduce", {x}, {{"flags", Dims{0, 1}}, {"kind", std::string("max")}});
       ValueId e = b.Add("exp", {b.Add("sub", {x, most})});
       ValueId sum = b.Add("reduce", {e}, {{"flags", Dims{0, 1}}, {"kind", std::string("sum")}});
       b.Output(b.Add("div", {e, sum}));
     }},
    {"product",
     [](GroupBuilder& b) {
       b.Output(b.Add("contract", {b.Input(DType::kF32, {N(), K()}), b.Input(DType::kF32, {K(), M()})},
                      {{"lhs_batch", Ints{}},
                       {"lhs_contract", Ints{1}},
                       {"rhs_batch", Ints{}},
                       {"rhs_contract", Ints{0}},
                       {"dtype", DType::kF32}}));
     }},
    {"product_of_constant",
     [](GroupBuilder& b) {
       b.Output(b.Add("contract", {b.Input(DType::kF32, {N(), 24}), b.Constant(DType::kF32, {24, 40})},
                      {{"lhs_batch", Ints{}},
                       {"lhs_contract", Ints{1}},
                       {"rhs_batch", Ints{}},
                       {"rhs_contract", Ints{0}},
                       {"dtype", DType::kF32}}));
     }},
    {"gather",
     [](GroupBuilder& b) {
       b.Output(b.Add("gather", {b.Input(DType::kF32, {N(), M()}), b.Input(DType::kI64, {K()})},
                      {{"axis", int64_t{0}}}));
     }},
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
    {"topk_many",  // not short
     [](GroupBuilder& b) {
       b.Add("topk", {b.Input(DType::kI16, {N(), M() + 65})},
             {{"axis", int64_t{1}}, {"k", Dim(65)}, {"largest", int64_t{1}}});
     }},
    {"gather_inside",
     [](GroupBuilder& b) {
       b.Output(b.Add("gather_elements", {b.Input(DType::kF32, {N(), M()}), b.Input(DType::kI64, {N(), K()})},
                      {{"axis", int64_t{1}}, {"inside", int64_t{1}}}));
     }},
    {"slice_anywhere",
     [](GroupBuilder& b) {
       b.Output(b.Add("slice", {b.Input(DType::kF32, {N() + 3, M()})},
                      {{"starts", Dims{Min(K(), N()), 0}}, {"steps", Dims{1, 1}}, {"dims", Dims{1, M()}}}));
     }},
    {"parts", AddParts},
    {"strided_convolution",
     [](GroupBuilder& b) {
       const Dims picture{1, 2, N(), M()};
       b.Output(b.Add("conv",
                      {b.Add("neg", {b.Input(DType::kF32, picture)}), b.Constant(DType::kF32, {2, 2, 3, 3})},
                      {{"strides", Ints{2, 2}},
                       {"dilations", Ints{1, 1}},
                       {"low", Dims{1, 1}},
                       {"high", Dims{1, 1}},
                       {"groups", int64_t{1}},
                       {"dtype", DType::kF32}}));
     }},
    {"scan",
     [](GroupBuilder& b) {
       b.Output(b.Add("scan", {b.Input(DType::kF32, {N(), M()})},
                      {{"axis", int64_t{0}}, {"kind", std::string("sum")}, {"exclusive", int64_t{1}}}));
     }},
    {"other_sizes",
     [](GroupBuilder& b) {
       b.Output(
           b.Add("reshape", {b.Add("neg", {b.Input(DType::kF32, {N(), M()})})}, {{"dims", Dims{K(), 4}}}));
     }},
};

class LaunchContractOfGroup : public testing::TestWithParam<Case> {};

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

INSTANTIATE_TEST_SUITE_P(Groups, LaunchContractOfGroup, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

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
  for (const Case& group : kCases) {
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
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {N(), M()}), i = b.Input(DType::kI64, {N(), M()});
  b.Output(b.Add("gather_elements", {x, i}, {{"axis", int64_t{0}}, {"inside", int64_t{1}}}));
  EXPECT_THAT(ContractedGroup(b, b.Finish()).contracts(), testing::Each(""));
  GroupBuilder clamped;
  x = clamped.Input(DType::kF32, {N(), M()}), i = clamped.Input(DType::kI64, {N(), M()});
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
}

}  // namespace
}  // namespace tvmvm::tensor
