// Loops of programs, as one kernel each and as bytecode: the same results, whatever the body carries,
// collects and decides. Bodies are written by hand and made at random.
#include "compiler/schedules/loops/outline_loop.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <random>

#include "compiler/codegen/codegen.h"
#include "compiler/graph/parser.h"
#include "compiler/lowering/lower_module.h"
#include "compiler/pipeline.h"
#include "tests/compiler/schedules/loops/loop_texts.h"
#include "tests/sanitizer.h"
#include "tvm-vm/assembler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

// The module after all passes, the outliner's mark included where `outlined`, as a program.
std::shared_ptr<const Program> Compile(const std::string& text, bool outlined) {
  Expected<ir::Module> module = ir::ParseModule(text);
  if (!module) {
    ADD_FAILURE() << module.error().message << "\n" << text;
    return nullptr;
  }
  lowering::LoweringOptions options;
  options.targets = {TargetInfoFor(CpuLevel::kX86_64_V3)};
  for (const passes::Pass& pass : PassPipeline()) {
    if (pass.name == "outline-loops" && !outlined) continue;
    if (Status status = pass.run(*module, {.targets = options.targets}); !status) {
      ADD_FAILURE() << pass.name << ": " << status.error().message << "\n" << text;
      return nullptr;
    }
  }
  ir::CompileCounters counters;
  tensor::ScheduleCache schedules(&counters);
  Expected<std::shared_ptr<const Program>> program = lowering::LowerModule(*module, options, &schedules);
  if (!program) {
    ADD_FAILURE() << program.error().message << "\n" << text;
    return nullptr;
  }
  return *program;
}

struct Result {
  std::string error;
  std::vector<Shape> shapes;
  std::vector<std::vector<float>> values;
  int launches = 0;
};

Result RunProgram(const std::shared_ptr<const Program>& program, const std::vector<Tensor>& inputs,
                  const Limits& limits = {}) {
  Result result;
  Expected<std::shared_ptr<Vm>> vm = Vm::Create(program, {.threads = 1});
  if (!vm) return {vm.error().message, {}, {}, 0};
  Invocation invocation = (*vm)->NewInvocation();
  invocation.SetLimits(limits);
  invocation.SetLaunchObserver([&](const LaunchRecord&) { ++result.launches; });
  std::vector<Tensor> outputs(program->main().outputs.size());
  if (Status status = invocation.Run(inputs, outputs); !status) result.error = status.error().message;
  if (!result.error.empty()) return result;
  for (const Tensor& output : outputs) {
    result.shapes.push_back(output.shape());
    std::vector<float> values(static_cast<size_t>(output.byte_count()) / 4);
    if (!values.empty()) std::memcpy(values.data(), output.data(), values.size() * 4);
    result.values.push_back(std::move(values));
  }
  return result;
}

template <class T>
Tensor MakeTensor(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
  Expected<Tensor> tensor = Tensor::Allocate(dtype, Shape(dims));
  if (!values.empty()) std::memcpy(tensor->data(), values.data(), values.size() * sizeof(T));
  return *tensor;
}

Tensor RandomFloats(std::vector<int64_t> dims, std::mt19937& random) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random);
  return MakeTensor(DType::kF32, dims, values);
}

void ExpectSame(const Result& wanted, const Result& given, const std::string& text) {
  ASSERT_EQ(wanted.error, given.error) << text;
  ASSERT_EQ(wanted.values.size(), given.values.size());
  for (size_t i = 0; i < wanted.values.size(); ++i) {
    ASSERT_EQ(wanted.shapes[i].ToString(), given.shapes[i].ToString()) << text;
    for (size_t k = 0; k < wanted.values[i].size(); ++k) {
      float want = wanted.values[i][k], got = given.values[i][k];
      ASSERT_TRUE(want == got || std::abs(want - got) <= 1e-5f * std::max(1.0f, std::abs(want)) ||
                  (std::isnan(want) && std::isnan(got)))
          << "output " << i << " element " << k << ": wanted " << want << ", got " << got << "\n"
          << text;
    }
  }
}

std::vector<Tensor> RandomInputs(int64_t m, std::mt19937& random) {
  std::vector<int64_t> stop(static_cast<size_t>(m));
  for (int64_t& value : stop) value = static_cast<int64_t>(random() % 3);
  return {RandomFloats({m, kWidth}, random), RandomFloats({kWidth}, random), RandomFloats({kWidth}, random),
          RandomFloats({kWidth}, random), MakeTensor(DType::kI64, {m}, stop)};
}

TEST(OutlineLoopTest, RandomBodiesGiveTheSameAsBytecode) {
  std::mt19937 random(11);
  for (int round = 0; round < 60 && !testing::Test::HasFailure(); ++round) {
    std::string text = RandomLoop(random);
    if (round % 2 == 1) text = WithSymbolicWidth(std::move(text));
    std::shared_ptr<const Program> stepped = Compile(text, false), outlined = Compile(text, true);
    ASSERT_TRUE(stepped && outlined);
    EXPECT_THAT(Disassemble(*outlined), testing::HasSubstr("kernel @loop_")) << text;
    for (int64_t m : {0, 1, 2, 11}) {
      std::vector<Tensor> inputs = RandomInputs(m, random);
      ExpectSame(RunProgram(stepped, inputs), RunProgram(outlined, inputs), text);
    }
  }
}

// Carried values change places: each next value is read before any is overwritten.
TEST(OutlineLoopTest, CarriedValuesRotate) {
  std::string text =
      LoopOf("    yield %6, %7, %5\n", "%14: tensor<f32,[24]>, %15: tensor<f32,[24]>, %16: tensor<f32,[24]>",
             std::string(kCounted), "  output \"a\" = %14\n  output \"b\" = %15\n");
  std::mt19937 random(3);
  std::vector<Tensor> inputs = RandomInputs(4, random);
  Result result = RunProgram(Compile(text, true), inputs);
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(std::memcmp(result.values[0].data(), inputs[2].data(), kWidth * 4), 0);
  EXPECT_EQ(std::memcmp(result.values[1].data(), inputs[3].data(), kWidth * 4), 0);
}

std::string Endless() {
  std::string attributes(kCounted);
  attributes.replace(attributes.find("trip = dim(m)"), 13, "trip = dim(9223372036854775807)");
  return LoopOf("    %10: tensor<f32,[24]> = tanh(%5)\n    yield %10, %6, %7\n",
                "%14: tensor<f32,[24]>, %15: tensor<f32,[24]>, %16: tensor<f32,[24]>", attributes,
                "  output \"a\" = %14\n");
}

// One launch for many steps, and yet limits are looked at.
TEST(OutlineLoopTest, LimitsEndALoopThatNeverEnds) {
  std::shared_ptr<const Program> program = Compile(Endless(), true);
  ASSERT_TRUE(program);
  std::mt19937 random(3);
  std::vector<Tensor> inputs = RandomInputs(1, random);
  Limits limits;
  limits.max_steps = 500;
  Result stopped = RunProgram(program, inputs, limits);
  EXPECT_NE(stopped.error, "");
  EXPECT_LE(stopped.launches, 500);
  limits.max_steps = 0;
  limits.timeout = std::chrono::milliseconds(20);
  auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(RunProgram(program, inputs, limits).error,
              testing::HasSubstr("the limit of 20000 microseconds"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kHang);
}

// A position that a step computes is checked in the kernel; the message names the node.
TEST(OutlineLoopTest, APositionOutOfRangeIsAnError) {
  std::string body =
      "    %12: tensor<i64,[1]> = slice(%4) {dims = dims[1], starts = dims[i], steps = dims[1]}\n"
      "    define_dims(%12) {symbols = strings[\"q\"]}\n"
      "    %10: tensor<f32,[1,24]> = slice(%0) {dims = dims[1, 24], starts = dims[q, 0], steps = dims[1, 1]} "
      "from "
      "\"row (Gather)\"\n"
      "    %11: tensor<f32,[24]> = reshape(%10) {dims = dims[24]}\n"
      "    %13: tensor<f32,[24]> = add(%5, %11)\n    yield %13, %6, %7\n";
  std::string text = LoopOf(body, "%14: tensor<f32,[24]>, %15: tensor<f32,[24]>, %16: tensor<f32,[24]>",
                            std::string(kCounted), "  output \"a\" = %14\n");
  std::mt19937 random(5);
  std::vector<Tensor> inputs = RandomInputs(3, random);
  inputs[4] = MakeTensor<int64_t>(DType::kI64, {3}, {2, 0, 1});
  ExpectSame(RunProgram(Compile(text, false), inputs), RunProgram(Compile(text, true), inputs), text);
  inputs[4] = MakeTensor<int64_t>(DType::kI64, {3}, {2, 3, 1});
  EXPECT_THAT(RunProgram(Compile(text, true), inputs).error, testing::HasSubstr("node row (Gather)"));
}

// What is no small pure body stays bytecode.
TEST(OutlineLoopTest, BigStepsStayBytecode) {
  std::string text =
      "symbol i: [0, inf]\nfunc @main {\n  input \"a\" = %0: tensor<f32,[512,512]>\n  input \"b\" = %1: "
      "tensor<f32,[512,512]>\n  %2: tensor<f32,[512,512]> = loop(%0) {continue = dim(1), count = \"\", "
      "finals = "
      "strings[], index = \"i\", initial = dims[], next = dims[], start = dim(1), symbols = strings[], trip "
      "= "
      "dim(3)} (%3: tensor<f32,[512,512]>) {\n    %4: tensor<f32,[512,512]> = contract(%3, %1) {dtype = f32, "
      "lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}\n    yield %4\n  }\n  output "
      "\"y\" "
      "= %2\n}\n";
  std::shared_ptr<const Program> program = Compile(text, true);
  ASSERT_TRUE(program);
  EXPECT_THAT(Disassemble(*program), testing::Not(testing::HasSubstr("kernel @loop_")));
}

TEST(OutlineLoopTest, CodeIsOneLaunchInALoop) {
  std::shared_ptr<const Program> program = Compile(Endless(), true);
  ASSERT_TRUE(program);
  std::string text = Disassemble(*program);
  std::string code = text.substr(text.find("L0:"));
  EXPECT_EQ(code, R"(L0:
  i9 = add i5, i8
  i10 = min i9, i2
  i6 = move i10
  i11 = sub i6, i5
  i13 = mul i12, i11
  i15 = mul i14, i11
  launch @loop_0, 0, [i3, i3, i3, i7, i13, i15], [i5, i6], [r5]
  i5 = move i6
  i16 = lt i5, i2
  branch.if i16, L0
L1:
  return [], [r5]
}
)");
}

}  // namespace
}  // namespace tvmvm
