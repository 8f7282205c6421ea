// Outlined loops against their bodies stepped through call by call: by the evaluator and as machine code of
// every CPU level here, in one piece and in several.
#include "compiler/loops/outline.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "compiler/loops/nest.h"
#include "compiler/loops/simplify_loops.h"
#include "tests/compiler/loops/body_interpreter.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::ValueId;

// The kernel of a group whose inputs are arguments; where sizes choose among several, the one of small sizes.
// Packed constants are given by `packed`.
struct Part {
  std::shared_ptr<const LoopKernel> kernel;
  std::vector<KernelArgument> arguments;
  std::vector<ir::TensorData> packed;
};

Part ScheduleOne(GroupBuilder& builder, ir::NodeId node, CpuLevel level) {
  Expected<GroupProgram> program = ScheduleGroup(builder.function(), node, TargetInfoFor(level));
  const bool has_one = program && (program->calls.size() == 1 || !program->calls[0].when.is_constant());
  if (!has_one) {
    ADD_FAILURE() << (program ? "not one call" : program.error().message);
    return {};
  }
  Part part{std::make_shared<const LoopKernel>(program->calls[0].kernel), program->calls[0].arguments, {}};
  for (const auto& pack : program->packed) part.packed.push_back(pack(ConstantsOf(builder.function(), node)));
  return part;
}

// A call of `part`: inputs, outputs and packed constants in the order of the group.
BodyStep CallOf(const Part& part, std::vector<BufferPart> inputs, std::vector<BufferPart> outputs,
                std::vector<BufferPart> packed = {}) {
  BodyStep step;
  step.kernel = part.kernel;
  for (const KernelArgument& argument : part.arguments)
    step.parts.push_back(argument.kind == ArgumentKind::kInput    ? inputs[argument.index]
                         : argument.kind == ArgumentKind::kOutput ? outputs[argument.index]
                                                                  : packed[argument.index]);
  return step;
}

BodyStep CopyOf(BufferPart from, BufferPart to, Dim elements) {
  BodyStep step;
  step.kind = BodyStepKind::kCopy;
  step.parts = {from, to};
  step.elements = elements;
  return step;
}

BodyStep DefineOf(BufferPart from, const char* symbol) {
  BodyStep step;
  step.kind = BodyStepKind::kDefine;
  step.parts = {from};
  step.symbols = {ir::SymbolId(symbol)};
  return step;
}

LoopBody NewBody() {
  LoopBody body;
  body.name = "loop";
  body.index = ir::SymbolId("i");
  body.begin = ir::SymbolId("begin");
  body.end = ir::SymbolId("end");
  return body;
}

struct Outcome {
  int32_t code = 0;
  std::vector<HostTensor> arguments;
  std::vector<int64_t> state;
};

// Runs `pieces` after each other, each from the end of the one before.
class OutlinedLoopRun {
 public:
  OutlinedLoopRun(const LoopBody& body, CpuLevel level) : body_(body) {
    Expected<LoopKernel> kernel = OutlineLoop(body);
    if (!kernel) {
      ADD_FAILURE() << kernel.error().message;
      return;
    }
    kernel_ = std::make_unique<LoopKernel>(std::move(*kernel));
    Status verified = VerifyLoops(*kernel_);
    EXPECT_TRUE(verified.has_value()) << verified.error().message << "\n" << ToString(*kernel_);
    compiled_ = std::make_unique<codegen::CompiledKernel>(*kernel_, level);
  }

  Outcome Evaluate(Outcome from, Symbols symbols, const std::vector<int64_t>& pieces) {
    return Run(std::move(from), std::move(symbols), pieces, false);
  }
  Outcome Execute(Outcome from, Symbols symbols, const std::vector<int64_t>& pieces) {
    return Run(std::move(from), std::move(symbols), pieces, true);
  }
  const LoopKernel& kernel() const { return *kernel_; }

 private:
  Outcome Run(Outcome at, Symbols symbols, const std::vector<int64_t>& pieces, bool is_compiled) {
    int64_t begin = 0;
    for (int64_t end : pieces) {
      symbols["begin"] = begin;
      symbols["end"] = end;
      begin = end;
      auto lookup = [&](const ir::SymbolId& symbol) -> std::optional<int64_t> {
        return symbols.at(symbol.name());
      };
      std::vector<std::span<std::byte>> spans;
      for (HostTensor& tensor : at.arguments)
        spans.push_back(std::span(tensor.bytes).first(tensor.bytes.size() - 64));
      if (body_.has_state()) spans.push_back(std::as_writable_bytes(std::span(at.state)));
      if (is_compiled) {
        std::vector<void*> pointers;
        for (std::span<std::byte> span : spans) pointers.push_back(span.data());
        std::vector<std::byte> scratch(static_cast<size_t>(ValueOf(kernel_->scratch_bytes, symbols)) + 64);
        auto address = (reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64;
        at.code = compiled_->Run(pointers, lookup, reinterpret_cast<void*>(address));
      } else {
        Expected<int32_t> code = EvaluateLoops(*kernel_, spans, lookup, {.eager_select = true});
        EXPECT_TRUE(code.has_value()) << code.error().message << "\n" << ToString(*kernel_);
        at.code = code.value_or(-1);
      }
      if (at.code != 0) break;
    }
    return at;
  }

  const LoopBody& body_;
  std::unique_ptr<LoopKernel> kernel_;
  std::unique_ptr<codegen::CompiledKernel> compiled_;
};

void ExpectSame(const Outcome& wanted, const Outcome& given, const LoopBody& body, const char* what) {
  EXPECT_EQ(wanted.code != 0, given.code != 0) << what;
  if (wanted.code != 0) return;
  EXPECT_EQ(wanted.state, given.state) << what;
  for (size_t a = 0; a < wanted.arguments.size(); ++a)
    for (int64_t k = 0; k < wanted.arguments[a].count(); ++k) {
      Scalar want = wanted.arguments[a].at(k), got = given.arguments[a].at(k);
      bool is_near = IsFloat(wanted.arguments[a].dtype) ? std::abs(want.number - got.number) <= 1e-4
                                                        : want.integer == got.integer;
      ASSERT_TRUE(is_near) << what << ": '" << body.buffers[a].name << "' element " << k << ": wanted "
                           << want.number << " " << want.integer << ", got " << got.number << " "
                           << got.integer;
    }
}

void CheckBody(const LoopBody& body, CpuLevel level, const Outcome& start, const Symbols& symbols,
               int64_t steps) {
  Outcome wanted = start;
  if (!BodyInterpreter(body, &wanted.arguments, &wanted.state, symbols).Run(0, steps)) wanted.code = 1;
  OutlinedLoopRun run(body, level);
  std::vector<int64_t> pieces = {1, 2, std::max<int64_t>(2, steps / 2), steps};
  ExpectSame(wanted, run.Evaluate(start, symbols, {steps}), body, "evaluated");
  ExpectSame(wanted, run.Evaluate(start, symbols, pieces), body, "evaluated in pieces");
  ExpectSame(wanted, run.Execute(start, symbols, {steps}), body, "compiled");
  ExpectSame(wanted, run.Execute(start, symbols, pieces), body, "compiled, in pieces");
  if (testing::Test::HasFailure()) ADD_FAILURE() << ToString(run.kernel());
}

HostTensor Numbers(std::vector<int64_t> dims, unsigned seed, DType dtype = DType::kF32) {
  std::mt19937 random(seed);
  return HostTensor::Random(dtype, std::move(dims), random);
}

class OutlineTest : public testing::TestWithParam<CpuLevel> {};

// v = tanh(v * c + x), in place.
LoopBody Recurrence(CpuLevel level, Dim elements) {
  GroupBuilder g;
  ValueId v = g.Input(DType::kF32, {elements}), c = g.Input(DType::kF32, {elements}),
          x = g.Input(DType::kF32, {elements});
  g.Output(g.Add("tanh", {g.Add("add", {g.Add("mul", {v, c}), x})}));
  Part step = ScheduleOne(g, g.Finish(), level);
  EXPECT_TRUE(CanUpdateInPlace(*step.kernel, 0, 3)) << ToString(*step.kernel);
  LoopBody body = NewBody();
  body.vector_bits = TargetInfoFor(level).vector_bits;
  body.buffers = {{"v", DType::kF32, true, Access::kReadWrite, 0},
                  {"c", DType::kF32, true, Access::kRead, 0},
                  {"x", DType::kF32, true, Access::kRead, 0}};
  body.steps = {CallOf(step, {{0}, {1}, {2}}, {{0}})};
  return body;
}

TEST_P(OutlineTest, ElementwiseInPlace) {
  for (int64_t n : {1, 3, 16, 100}) {
    Outcome start{0, {Numbers({n}, 1), Numbers({n}, 2), Numbers({n}, 3)}, {}};
    CheckBody(Recurrence(GetParam(), n), GetParam(), start, {}, 7);
    CheckBody(Recurrence(GetParam(), Dim::Symbol("n")), GetParam(), start, {{"n", n}}, 7);
  }
}

// The step of 16 numbers is a few vectors: no loop is left but the one over steps.
TEST_P(OutlineTest, ConstantGridsAndShortLoopsVanish) {
  LoopBody body = Recurrence(GetParam(), 16);
  OutlinedLoopRun run(body, GetParam());
  EXPECT_THAT(ToString(run.kernel()), testing::Not(testing::HasSubstr("for i0")));
}

// h = tanh(h W + x[i]); y[i] = h. The product reads all of h: the next value is made elsewhere and copied.
TEST_P(OutlineTest, RecurrentProductAndCollectedValues) {
  constexpr int64_t kWidth = 40;
  for (bool has_symbol : {false, true}) {
    Dim rows = has_symbol ? Dim::Symbol("n") : Dim(2);
    GroupBuilder g;
    ValueId h = g.Input(DType::kF32, {rows, kWidth}), x = g.Input(DType::kF32, {rows, kWidth}),
            w = g.Constant(DType::kF32, {kWidth, kWidth});
    ValueId product = g.Add("contract", {h, w},
                            {{"lhs_batch", std::vector<int64_t>{}},
                             {"rhs_batch", std::vector<int64_t>{}},
                             {"lhs_contract", std::vector<int64_t>{1}},
                             {"rhs_contract", std::vector<int64_t>{0}},
                             {"dtype", DType::kF32}});
    g.Output(g.Add("tanh", {g.Add("add", {product, x})}));
    Part step = ScheduleOne(g, g.Finish(), GetParam());
    LoopBody body = NewBody();
    Dim size = rows * Dim(kWidth), at = Dim::Symbol("i") * size;
    body.buffers = {{"h", DType::kF32, true, Access::kReadWrite, 0},
                    {"x", DType::kF32, true, Access::kRead, 0},
                    {"w", DType::kF32, true, Access::kRead, 0},
                    {"y", DType::kF32, true, Access::kReadWrite, 0},
                    {"unused", DType::kF32, false, Access::kReadWrite, size * 2}};
    body.steps = {CallOf(step, {{0}, {1, at}, {}}, {{3, at}}, {{2}}), CopyOf({3, at}, {0}, size)};
    HostTensor packed = HostTensor::Zeros(DType::kF32, step.packed[0].dims);
    std::copy(step.packed[0].bytes.begin(), step.packed[0].bytes.end(), packed.bytes.begin());
    Outcome start{0,
                  {Numbers({2, kWidth}, 1), Numbers({5, 2, kWidth}, 2), packed,
                   HostTensor::Zeros(DType::kF32, {5, 2, kWidth})},
                  {}};
    CheckBody(body, GetParam(), start, {{"n", 2}}, 5);
  }
}

// s = s + t[s]: stops when the sum passes 30; the positions are collected.
TEST_P(OutlineTest, CarriedSymbolsAndEarlyExit) {
  LoopBody body = NewBody();
  body.buffers = {{"t", DType::kI64, true, Access::kRead, 0},
                  {"seen", DType::kI32, true, Access::kReadWrite, 0}};
  Dim s = Dim::Symbol("s"), d = Dim::Symbol("d");
  BodyStep store;
  store.kind = BodyStepKind::kStore;
  store.parts = {{1, Dim::Symbol("i")}};
  store.values = {s};
  body.steps = {DefineOf({0, s}, "d"), store};
  body.symbols = {ir::SymbolId("s")};
  body.next = {s + d};
  body.go_on = LessEqual(s + d, 30);
  HostTensor table = HostTensor::Zeros(DType::kI64, {64});
  for (int64_t k = 0; k < 64; ++k) table.set(k, {k % 5 + 1, 0});
  Outcome start{0, {table, HostTensor::Zeros(DType::kI32, {20})}, {0, 1, 3}};
  CheckBody(body, GetParam(), start, {}, 20);
  start.state[1] = 0;
  CheckBody(body, GetParam(), start, {}, 20);
}

// Even steps take one branch, odd ones the other; a symbol comes out of each; a position is required.
TEST_P(OutlineTest, BranchesAndRequirements) {
  LoopBody body = NewBody();
  body.buffers = {{"x", DType::kF32, true, Access::kRead, 0},
                  {"y", DType::kF32, true, Access::kReadWrite, 0},
                  {"at", DType::kI32, true, Access::kRead, 0}};
  BodyStep branch;
  branch.kind = BodyStepKind::kIf;
  branch.condition = Equal(FloorMod(Dim::Symbol("i"), 2), 0);
  branch.symbols = {ir::SymbolId("to")};
  branch.then = {DefineOf({2, Dim::Symbol("i")}, "place"), CopyOf({0, Dim::Symbol("place")}, {1, 0}, 3)};
  branch.otherwise = {CopyOf({0, 2}, {1, 5}, 2)};
  branch.then_values = {Dim::Symbol("place") + 1};
  branch.else_values = {9};
  BodyStep require;
  require.kind = BodyStepKind::kRequire;
  require.condition = Less(Dim::Symbol("to"), 12);
  require.message = "too far";
  body.steps = {branch, require, CopyOf({0, 1}, {1, Dim::Symbol("to")}, 1)};
  HostTensor places = HostTensor::Zeros(DType::kI32, {6});
  for (int64_t k = 0; k < 6; ++k) places.set(k, {2 * k, 0});
  Outcome start{0, {Numbers({16}, 1), Numbers({16}, 2), places}, {}};
  CheckBody(body, GetParam(), start, {}, 5);
  places.set(4, {11, 0});
  start.arguments[2] = places;
  CheckBody(body, GetParam(), start, {}, 5);
}

INSTANTIATE_TEST_SUITE_P(Levels, OutlineTest, testing::ValuesIn(codegen::LevelsHere()), [](const auto& info) {
  std::string name = CpuLevelName(info.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(CanUpdateInPlaceTest, OnlyElementByElement) {
  auto check = [](auto make, uint32_t read, uint32_t written) {
    GroupBuilder g;
    make(g);
    Part part = ScheduleOne(g, g.Finish(), CpuLevel::kX86_64_V3);
    return part.kernel && CanUpdateInPlace(*part.kernel, read, written);
  };
  EXPECT_TRUE(check(
      [](GroupBuilder& g) {
        ValueId x = g.Input(DType::kF32, {7, 33}), y = g.Input(DType::kF32, {33});
        g.Output(g.Add("exp", {g.Add("add", {x, y})}));
      },
      0, 2));
  // The second input is read by every row.
  EXPECT_FALSE(check(
      [](GroupBuilder& g) {
        ValueId x = g.Input(DType::kF32, {7, 33}), y = g.Input(DType::kF32, {33});
        g.Output(g.Add("exp", {g.Add("add", {x, y})}));
      },
      1, 2));
  EXPECT_FALSE(check(
      [](GroupBuilder& g) {
        ValueId x = g.Input(DType::kF32, {9, 9});
        g.Output(g.Add("neg", {g.Add("transpose", {x}, {{"perm", std::vector<int64_t>{1, 0}}})}));
      },
      0, 1));
  EXPECT_FALSE(check(
      [](GroupBuilder& g) {
        ValueId x = g.Input(DType::kF32, {9});
        g.Output(g.Add("neg", {x}));
        g.Output(
            g.Add("exp", {g.Add("slice", {x},
                                {{"starts", ir::Dims{8}}, {"steps", ir::Dims{-1}}, {"dims", ir::Dims{9}}})}));
      },
      0, 1));
}

TEST(CanUpdateInPlaceTest, RowsAreLookedThroughBeforeTheyAreWritten) {
  GroupBuilder g;
  ValueId x = g.Input(DType::kF32, {ir::Dim::Symbol("n"), 300});
  ValueId most = g.Add("reduce", {x}, {{"kind", "max"}, {"flags", ir::Dims{0, 1}}});
  g.Output(g.Add("sub", {x, most}));
  Part part = ScheduleOne(g, g.Finish(), CpuLevel::kX86_64_V3);
  ASSERT_TRUE(part.kernel);
  EXPECT_FALSE(CanUpdateInPlace(*part.kernel, 0, 1));
  EXPECT_TRUE(CanUpdateRowsInPlace(*part.kernel, 0, 1)) << ToString(*part.kernel);
}

// Of 40 columns the last tile begins at column 24 where two of 16 are done already: what they share is
// computed twice, and would be added twice.
TEST(CanUpdateInPlaceTest, NotWhereTilesMeet) {
  LoopKernel kernel;
  const uint32_t from = kernel.AddArgument("from", DType::kF32, Access::kRead),
                 to = kernel.AddArgument("to", DType::kF32, Access::kWrite);
  for (bool meets : {false, true}) {
    Nest nest(&kernel);
    Expr tile = Variable(nest.Grid(0, "tile", 3)) * IntConstant(16);
    nest.Grid(1, "y", 1);
    nest.Grid(2, "z", 1);
    Expr first =
        nest.Let("first", meets ? Min(tile, DimValue(ir::Dim::Symbol("n")) - IntConstant(16)) : tile);
    Expr at = first + Variable(nest.Open("i", IntConstant(0), IntConstant(16)));
    nest.Add(Store(to, at, Load(from, DType::kF32, at) + FloatConstant(1)));
    nest.Close();
    kernel.body = nest.Finish();
    EXPECT_EQ(CanUpdateInPlace(kernel, from, to), !meets) << ToString(kernel);
  }
}

TEST(CanUpdateInPlaceTest, ScatterCopiesBeforeItUpdates) {
  GroupBuilder g;
  ValueId x = g.Input(DType::kF32, {Dim::Symbol("n"), 5}), i = g.Input(DType::kI64, {1, 1}),
          u = g.Input(DType::kF32, {1, 5});
  g.Add("scatter_nd", {x, i, u}, {{"reduction", std::string("none")}});
  Part part = ScheduleOne(g, g.FinishAlone(), CpuLevel::kX86_64_V3);
  ASSERT_TRUE(part.kernel);
  EXPECT_TRUE(CanUpdateInPlace(*part.kernel, 0, 3)) << ToString(*part.kernel);
  EXPECT_FALSE(CanUpdateInPlace(*part.kernel, 2, 3));
  // In place nothing is copied: no loop over all of x remains.
  LoopBody body = NewBody();
  body.buffers = {{"x", DType::kF32, true, Access::kReadWrite, 0},
                  {"i", DType::kI64, true, Access::kRead, 0},
                  {"u", DType::kF32, true, Access::kRead, 0}};
  body.steps = {CallOf(part, {{0}, {1}, {2}}, {{0}})};
  Expected<LoopKernel> kernel = OutlineLoop(body);
  ASSERT_TRUE(kernel.has_value());
  EXPECT_THAT(ToString(*kernel), testing::Not(testing::HasSubstr("n*5")));
}

TEST(SimplifyLoopsTest, ConstantsDecide) {
  LoopKernel kernel;
  uint32_t out = kernel.AddArgument("out", DType::kI64, Access::kWrite);
  VariableId a = kernel.NewVariable("a"), b = kernel.NewVariable("b"), c = kernel.NewVariable("c");
  Expr n = DimValue(Dim::Symbol("n"));
  StmtPtr root = Block(
      {Let(a, IntConstant(2)),
       For(b, IntConstant(3), IntConstant(4), Store(out, Variable(b), Variable(a) * Variable(b))),
       For(b, IntConstant(3), IntConstant(3), Store(out, Variable(b), Variable(a))),
       For(b, IntConstant(0), IntConstant(3), Store(out, Variable(b) + n, Variable(a))),
       If(Less(Variable(a), IntConstant(2)), Store(out, n, IntConstant(0)), Store(out, n, IntConstant(1))),
       For(c, IntConstant(0), n, Store(out, Variable(c), Load(out, DType::kI64, Variable(c))))});
  kernel.body = SimplifyLoops(root);
  std::string text = ToString(kernel);
  EXPECT_THAT(text, testing::HasSubstr("out[3] = 6"));
  EXPECT_THAT(text, testing::HasSubstr("unroll"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("if")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("for c")));
  EXPECT_EQ(SimplifyLoops(For(c, IntConstant(0), n, Store(out, n, Load(out, DType::kI64, n)))), nullptr);
}

}  // namespace
}  // namespace tvmvm::tensor
