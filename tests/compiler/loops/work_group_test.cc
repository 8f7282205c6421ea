// Loop IR whose grid points are work-groups: text, rules, evaluation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "compiler/loops/evaluate_loops.h"

namespace tvmvm::tensor {
namespace {

using testing::HasSubstr;

constexpr int kItems = 8;

struct Parts {
  LoopKernel kernel;
  uint32_t in = 0, out = 0, partial = 0;
  Expr group, item;
};

Parts Begin() {
  Parts p;
  p.kernel.name = "sum";
  p.in = p.kernel.AddArgument("in", DType::kI32, Access::kRead);
  p.out = p.kernel.AddArgument("out", DType::kI32, Access::kWrite);
  p.partial = p.kernel.AddLocal("partial", DType::kI32, Memory::kShared, kItems);
  for (VariableId& axis : p.kernel.grid) axis = p.kernel.NewVariable("g");
  for (VariableId& axis : p.kernel.thread) axis = p.kernel.NewVariable("t");
  p.kernel.grid_size[0] = ir::Dim::Symbol("n");
  p.kernel.group_size[0] = kItems;
  p.group = Variable(p.kernel.grid[0]);
  p.item = Variable(p.kernel.thread[0]);
  return p;
}

// out[g] = the sum of kItems numbers, by halving in shared memory.
LoopKernel TreeSum(bool has_barrier = true) {
  Parts p = Begin();
  auto partial = [&](const Expr& at) { return Load(p.partial, DType::kI32, at); };
  std::vector<StmtPtr> body = {
      Allocate(p.partial),
      Store(p.partial, p.item, Load(p.in, DType::kI32, p.group * IntConstant(kItems) + p.item))};
  for (int half = kItems / 2; half > 0; half /= 2) {
    if (has_barrier) body.push_back(Barrier());
    body.push_back(If(Less(p.item, IntConstant(half)),
                      Store(p.partial, p.item, partial(p.item) + partial(p.item + IntConstant(half)))));
  }
  body.push_back(If(Equal(p.item, IntConstant(0)), Store(p.out, p.group, partial(IntConstant(0)))));
  p.kernel.body = Block(std::move(body));
  return p.kernel;
}

std::string Defect(const std::function<StmtPtr(Parts&)>& build) {
  Parts p = Begin();
  p.kernel.body = build(p);
  p.kernel.error_messages = {"failed"};
  Status status = VerifyLoops(p.kernel);
  return status ? "" : status.error().message;
}

TEST(WorkGroup, TextNamesGroupMemoryAndBarriers) {
  EXPECT_EQ(
      ToString(TreeSum()).substr(0, 261),
      "kernel sum(in in: i32, out out: i32) grid(g < n, g.1 < 1, g.2 < 1) group(t < 8, t.1 < 1, t.2 < 1) {\n"
      "  shared partial: i32[8]\n"
      "  partial[t] = in[((g * 8) + t)]\n"
      "  barrier\n"
      "  if (t < 4) {\n"
      "    partial[t] = (partial[t] + partial[(t + 4)])\n"
      "  }\n"
      "  barrier\n"
      "  if (t < 2) {\n");
}

TEST(WorkGroup, CanonicalTextTellsGroupSizesApart) {
  LoopKernel a = TreeSum(), b = TreeSum();
  EXPECT_EQ(CanonicalText(a), CanonicalText(b));
  b.group_size[1] = 2;
  EXPECT_NE(CanonicalText(a), CanonicalText(b));
}

TEST(WorkGroup, VerifierWantsBarriersThatAllReach) {
  EXPECT_EQ(Defect([](Parts&) { return Barrier(); }), "");
  EXPECT_EQ(Defect([](Parts& p) { return If(Less(p.group, IntConstant(4)), Barrier()); }), "");
  EXPECT_THAT(Defect([](Parts& p) { return If(Less(p.item, IntConstant(4)), Barrier()); }),
              HasSubstr("under a condition that differs"));
  EXPECT_THAT(Defect([](Parts& p) {
                VariableId let = p.kernel.NewVariable("let"), i = p.kernel.NewVariable("i");
                return Block({Let(let, p.item + p.group), For(i, IntConstant(0), Variable(let), Barrier())});
              }),
              HasSubstr("in a loop that differs"));
  EXPECT_THAT(Defect([](Parts& p) {
                return Block({Barrier(), If(Less(p.item, p.group), Fail(1))});
              }),
              HasSubstr("can fail and has barriers"));
}

TEST(WorkGroup, VerifierChecksSizes) {
  EXPECT_THAT(Defect([](Parts& p) {
                p.kernel.group_size[1] = 1000;
                return Block({});
              }),
              HasSubstr("8000 work-items"));
  EXPECT_THAT(Defect([](Parts& p) {
                p.kernel.AddLocal("big", DType::kF32, Memory::kShared, 20'000);
                return Block({});
              }),
              HasSubstr("bytes of shared memory"));
  EXPECT_THAT(Defect([](Parts& p) {
                p.kernel.AddLocal("place", DType::kF32, Memory::kScratch, 0, IntConstant(0));
                return Block({});
              }),
              HasSubstr("scratch buffer 'place'"));
  EXPECT_THAT(Defect([](Parts& p) {
                p.kernel.group_size[0] = 1;  // then there is no `thread`
                return Store(p.out, p.item, IntConstant(1, DType::kI32));
              }),
              HasSubstr("unbound variable"));
}

Expected<int32_t> Evaluate(const LoopKernel& kernel, std::vector<int32_t> in, std::vector<int32_t>* out) {
  std::vector<std::span<std::byte>> buffers = {std::as_writable_bytes(std::span(in)),
                                               std::as_writable_bytes(std::span(*out))};
  int64_t groups = static_cast<int64_t>(out->size());
  return EvaluateLoops(kernel, buffers, [&](const ir::SymbolId&) { return std::optional(groups); });
}

TEST(WorkGroup, EvaluatorRunsGroupsInStep) {
  std::vector<int32_t> in(3 * kItems), out(3);
  std::iota(in.begin(), in.end(), 1);
  Expected<int32_t> code = Evaluate(TreeSum(), in, &out);
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(*code, 0);
  EXPECT_EQ(out, (std::vector<int32_t>{36, 100, 164}));
}

TEST(WorkGroup, EvaluatorFindsRaces) {
  std::vector<int32_t> in(kItems), out(1);
  Expected<int32_t> code = Evaluate(TreeSum(false), in, &out);
  ASSERT_FALSE(code);
  EXPECT_THAT(code.error().message, HasSubstr("work-items race for 'partial' at 4"));
}

TEST(WorkGroup, EvaluatorKeepsPrivateVariablesApart) {
  Parts p = Begin();
  uint32_t own = p.kernel.AddLocal("own", DType::kI32, Memory::kLocal, 1);
  VariableId twice = p.kernel.NewVariable("twice");
  Expr zero = IntConstant(0);
  p.kernel.body = Block({Allocate(own), Let(twice, Cast(DType::kI32, p.item + p.item)),
                         Store(own, zero, Variable(twice, DType::kI32)), Barrier(),
                         Store(p.out, p.item, Load(own, DType::kI32, zero) + Variable(twice, DType::kI32))});
  std::vector<int32_t> out(kItems);
  LoopKernel kernel = p.kernel;
  kernel.grid_size[0] = 1;
  Expected<int32_t> code = Evaluate(kernel, {0}, &out);
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(out, (std::vector<int32_t>{0, 4, 8, 12, 16, 20, 24, 28}));
}

TEST(SerializeWorkGroup, BarriersPartLoopsOverItems) {
  EXPECT_EQ(ToString(SerializeWorkGroup(TreeSum())),
            R"(kernel sum(in in: i32, out out: i32) grid(g < n, g.1 < 1, g.2 < 1) {
  let t = 0
  let t.1 = 0
  local partial: i32[8]
  for t.2 in 0 .. 8 {
    partial[t.2] = in[((g * 8) + t.2)]
  }
  for t.2 in 0 .. 4 {
    if (t.2 < 4) {
      partial[t.2] = (partial[t.2] + partial[(t.2 + 4)])
    }
  }
  for t.2 in 0 .. 2 {
    if (t.2 < 2) {
      partial[t.2] = (partial[t.2] + partial[(t.2 + 2)])
    }
  }
  for t.2 in 0 .. 8 {
    if (t.2 < 1) {
      partial[t.2] = (partial[t.2] + partial[(t.2 + 1)])
    }
    if (t.2 == 0) {
      out[g] = partial[0]
    }
  }
}
)");
}

TEST(SerializeWorkGroup, GivesWhatTheGroupGives) {
  std::vector<int32_t> in(3 * kItems), out(3);
  std::iota(in.begin(), in.end(), 1);
  Expected<int32_t> code = Evaluate(SerializeWorkGroup(TreeSum()), in, &out);
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(out, (std::vector<int32_t>{36, 100, 164}));
}

// Variables and buffers of an item, before, in and behind a loop with barriers: a running sum, where each
// item adds what its right neighbour wrote.
LoopKernel Neighbours() {
  Parts p = Begin();
  uint32_t own = p.kernel.AddLocal("own", DType::kI32, Memory::kRegisters, 2);
  uint32_t brief = p.kernel.AddLocal("brief", DType::kI32, Memory::kRegisters, 1);
  VariableId right = p.kernel.NewVariable("right"), first = p.kernel.NewVariable("first"),
             step = p.kernel.NewVariable("step"), same = p.kernel.NewVariable("same");
  auto number = [](const Expr& e) { return Cast(DType::kI32, e); };
  Expr zero = IntConstant(0), one = IntConstant(1);
  auto own_at = [&](const Expr& at) { return Load(own, DType::kI32, at); };
  Expr seen = Load(p.partial, DType::kI32, Variable(right));
  p.kernel.body = Block(
      {Allocate(p.partial), Let(right, FloorMod(p.item + one, IntConstant(kItems))),
       Let(first, Load(p.in, DType::kI32, p.group * IntConstant(kItems) + p.item)), Allocate(own),
       Store(own, zero, IntConstant(0, DType::kI32)), Store(own, one, Variable(first, DType::kI32)),
       For(step, zero, IntConstant(3),
           Block(
               {Store(p.partial, p.item, own_at(one) + number(Variable(step))), Barrier(),
                Let(same, Load(p.partial, DType::kI32, one)), Allocate(brief), Store(brief, zero, seen),
                Store(own, zero, own_at(zero) + Load(brief, DType::kI32, zero) + Variable(same, DType::kI32)),
                Barrier()})),
       Store(p.out, p.group * IntConstant(kItems) + p.item, own_at(zero) + Variable(first, DType::kI32))});
  return p.kernel;
}

TEST(SerializeWorkGroup, KeepsWhatItemsHoldAcrossBarriers) {
  LoopKernel kernel = Neighbours();
  kernel.grid_size[0] = 2;
  std::vector<int32_t> in(2 * kItems), grouped(2 * kItems), serial(2 * kItems);
  std::iota(in.begin(), in.end(), 1);
  Expected<int32_t> code = Evaluate(kernel, in, &grouped);
  ASSERT_TRUE(code) << code.error().message;
  LoopKernel changed = SerializeWorkGroup(kernel);
  code = Evaluate(changed, in, &serial);
  ASSERT_TRUE(code) << code.error().message << ToString(changed);
  EXPECT_EQ(serial, grouped);
  EXPECT_EQ(grouped[0], 3 * 2 + 3 + 3 * 2 + 3 + 1);
  // What is cheap is computed again, what was read is kept, what is the same for all is computed once.
  EXPECT_EQ(ToString(changed), R"(kernel sum(in in: i32, out out: i32) grid(g < 2, g.1 < 1, g.2 < 1) {
  let t = 0
  let t.1 = 0
  local first: i32[8]
  local partial: i32[8]
  local own: i32[16]
  for t.2 in 0 .. 8 {
    let right = ((t.2 + 1) % 8)
    let first = in[((g * 8) + t.2)]
    first[t.2] = first
    own[(t.2 * 2)] = 0:i32
    own[((t.2 * 2) + 1)] = first
  }
  for step in 0 .. 3 {
    for t.2 in 0 .. 8 {
      partial[t.2] = (own[((t.2 * 2) + 1)] + i32(step))
    }
    let same = partial[1]
    for t.2 in 0 .. 8 {
      registers brief: i32[1]
      let right = ((t.2 + 1) % 8)
      brief[0] = partial[right]
      own[(t.2 * 2)] = ((own[(t.2 * 2)] + brief[0]) + same)
    }
  }
  for t.2 in 0 .. 8 {
    let first = first[t.2]
    out[((g * 8) + t.2)] = (own[(t.2 * 2)] + first)
  }
}
)");
}

// out[g] = numbers of the group's items combined, as one statement.
LoopKernel Combined(ExprOp combine, int items = kItems) {
  Parts p = Begin();
  p.kernel.group_size[0] = items;
  VariableId all = p.kernel.NewVariable("all");
  p.kernel.body =
      Block({GroupReduce(all, combine, Load(p.in, DType::kI32, p.group * IntConstant(items) + p.item)),
             If(Equal(p.item, IntConstant(0)), Store(p.out, p.group, Variable(all, DType::kI32)))});
  return p.kernel;
}

TEST(GroupReduce, HasAText) {
  EXPECT_EQ(
      ToString(Combined(ExprOp::kMax)),
      "kernel sum(in in: i32, out out: i32) grid(g < n, g.1 < 1, g.2 < 1) group(t < 8, t.1 < 1, t.2 < 1) {\n"
      "  let all = group max of in[((g * 8) + t)]\n"
      "  if (t == 0) {\n"
      "    out[g] = all\n"
      "  }\n"
      "}\n");
  EXPECT_NE(CanonicalText(Combined(ExprOp::kMax)), CanonicalText(Combined(ExprOp::kMin)));
}

TEST(GroupReduce, IsWhereAllItemsGetOnce) {
  auto reduce = [](Parts& p) { return GroupReduce(p.kernel.NewVariable("all"), ExprOp::kAdd, p.item); };
  EXPECT_EQ(Defect([&](Parts& p) { return reduce(p); }), "");
  EXPECT_THAT(Defect([&](Parts& p) { return If(Less(p.item, IntConstant(4)), reduce(p)); }),
              HasSubstr("under a condition that differs"));
  EXPECT_THAT(Defect([&](Parts& p) {
                return For(p.kernel.NewVariable("i"), IntConstant(0), IntConstant(4), reduce(p));
              }),
              HasSubstr("reduces in the group in a loop"));
  EXPECT_THAT(
      Defect([&](Parts& p) { return GroupReduce(p.kernel.NewVariable("all"), ExprOp::kSub, p.item); }),
      HasSubstr("combines in no way"));
}

TEST(GroupReduce, IsATreeAndTheSameInALoopOverItems) {
  const std::vector<int32_t> in = {3, -1, 4, 1, -5, 9, 2, 6, 5, 3, 5, 8};
  const std::pair<ExprOp, std::vector<int32_t>> kCases[] = {
      {ExprOp::kAdd, {11, 29}}, {ExprOp::kMul, {540, 7200}}, {ExprOp::kMin, {-5, 2}},
      {ExprOp::kMax, {9, 8}},   {ExprOp::kAnd, {0, 0}},      {ExprOp::kOr, {-1, 15}}};
  for (const auto& [combine, wanted] : kCases) {
    const LoopKernel kernel = Combined(combine, 6);  // halves of 6 are odd
    for (const LoopKernel& form : {kernel, LowerGroupReduce(kernel), SerializeWorkGroup(kernel)}) {
      std::vector<int32_t> out(2);
      Expected<int32_t> code = Evaluate(form, in, &out);
      ASSERT_TRUE(code) << code.error().message;
      EXPECT_EQ(out, wanted) << ToString(form);
    }
    EXPECT_TRUE(HasGroupReduce(LowerGroupReduce(kernel, true))) << "subgroups can do it";
    EXPECT_FALSE(HasGroupReduce(LowerGroupReduce(kernel)));
  }
}

TEST(GroupReduce, SubgroupsTakeWhatNeedsNoRounding) {
  auto stays = [](DType dtype, ExprOp combine) {
    Parts p = Begin();
    p.kernel.body = GroupReduce(p.kernel.NewVariable("all"), combine, Cast(dtype, p.item));
    return HasGroupReduce(LowerGroupReduce(p.kernel, true));
  };
  for (DType dtype : {DType::kF32, DType::kI32, DType::kU32}) EXPECT_TRUE(stays(dtype, ExprOp::kAdd));
  for (DType dtype : {DType::kF64, DType::kI64, DType::kF16, DType::kI8, DType::kBool})
    EXPECT_FALSE(stays(dtype, ExprOp::kAdd)) << DTypeName(dtype);
  EXPECT_TRUE(stays(DType::kF16, ExprOp::kMax));
  EXPECT_FALSE(stays(DType::kF64, ExprOp::kMax));
}

TEST(SerializeWorkGroup, GroupsOfTwoAxes) {
  Parts p = Begin();
  p.kernel.grid_size[0] = 1;
  p.kernel.group_size[0] = 2;
  p.kernel.group_size[2] = 4;
  Expr flat = Variable(p.kernel.thread[2]) * IntConstant(2) + p.item + Variable(p.kernel.thread[1]);
  p.kernel.body =
      Block({Allocate(p.partial), Store(p.partial, flat, Load(p.in, DType::kI32, flat)), Barrier(),
             Store(p.out, flat, Load(p.partial, DType::kI32, IntConstant(kItems - 1) - flat))});
  std::vector<int32_t> in = {1, 2, 3, 4, 5, 6, 7, 8}, out(kItems);
  Expected<int32_t> code = Evaluate(SerializeWorkGroup(p.kernel), in, &out);
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(out, (std::vector<int32_t>{8, 7, 6, 5, 4, 3, 2, 1}));
}

}  // namespace
}  // namespace tvmvm::tensor
