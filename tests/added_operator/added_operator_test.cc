// Adding an elementwise operator takes a function, a row and a line of operator_forms.txt: this program is
// the compiler with two such operators more (add.cmake), and shows that they are imported, fused with their
// neighbours, placed and differentiated. Where this needs another line, docs/adding_an_op.md is no longer
// true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "compiler/autodiff/differentiate.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/evaluate.h"
#include "compiler/onnx/ops/onnx_op.h"
#include "tests/compiler/onnx/importer/onnx_writer.h"
#include "tests/conformance/operator_forms.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using testing::HasSubstr;

constexpr const char* kDomain = "com.example";
// Squareplus loses digits to cancellation far below 0; log(cosh) is to stay finite far from it.
const std::vector<float> kNearPoints = {-3, -2.5, -0.5, 0.25, 1, 2},
                         kFarPoints = {-200, -2.5, -0.5, 0.25, 1, 20};

double LogCosh(double x) { return std::abs(x) + std::log1p(std::exp(-2 * std::abs(x))) - std::log(2); }
double Squareplus(double x) { return (x + std::sqrt(x * x + 4)) / 2; }

// The core operator between others.
const char kCoreModel[] = R"(func @main {
  input "x" = %0: tensor<f32,[6]>
  %1: tensor<f32,[6]> = neg(%0)
  %2: tensor<f32,[6]> = log_cosh(%1)
  %3: tensor<f32,[6]> = mul(%2, %0)
  output "y" = %3
}
)";

// The ONNX operator between others, y = Squareplus(-x) * x; or dx, the gradient of its sum.
std::string OnnxModel(bool is_gradient) {
  ir::GraphText graph{{{"Neg", {"x"}, {"a"}},
                       {"Squareplus", {"a"}, {"b"}, {}, "squareplus", kDomain},
                       {"Mul", {"b", "x"}, {"y"}}},
                      {ir::ValueMessage("x", 1, {int64_t{6}})},
                      {ir::ValueMessage(is_gradient ? "dx" : "y", 1, {int64_t{6}})}};
  if (is_gradient)
    graph.nodes.push_back({"Gradient",
                           {"x"},
                           {"dx"},
                           {ir::TextsAttribute("xs", {"x"}), ir::TextAttribute("y", "y")},
                           "gradient",
                           "ai.onnx.preview.training"});
  return ir::Message([&](auto& w) {
    w.add_int64(1, 10);
    w.add_message(7, ir::GraphMessage(graph));
    w.add_message(8, ir::OpsetMessage("", 21));
    w.add_message(8, ir::OpsetMessage(kDomain, 1));
    w.add_message(8, ir::OpsetMessage("ai.onnx.preview.training", 1));
  });
}

CompileResult Compiled(const std::string& model, CompileOptions options = {}) {
  options.targets = {"host"};
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(model)), options);
  EXPECT_TRUE(compiled) << compiled.error().message;
  return compiled ? *compiled : CompileResult();
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// One kernel on the CPU, and one on a GPU with nothing left on the CPU.
void ExpectOneKernel(const std::string& model) {
  std::string printed;
  CompileOptions options;
  options.print_after = {"fuse-groups"};
  options.print = [&](const std::string& text) { printed += text; };
  Compiled(model, options);
  EXPECT_EQ(Count(printed, "= fused("), 1) << printed;
  printed.clear();
  options.print_after.clear();
  options.print_placement = options.strict = true;
  options.devices = {"vulkan", "cpu"};
  Compiled(model, options);
  EXPECT_THAT(printed, HasSubstr("has a kernel"));
}

void ExpectRuns(const std::string& model, std::vector<float> x, const std::function<double(double)>& wanted) {
  const CompileResult compiled = Compiled(model);
  ASSERT_NE(compiled.program, nullptr);
  auto vm = Vm::Create(compiled.program);
  ASSERT_TRUE(vm) << vm.error().message;
  std::vector<Tensor> inputs{Tensor::Borrow(DType::kF32, {6}, x.data())}, outputs(1);
  Status status = (*vm)->NewInvocation().Run(inputs, outputs);
  ASSERT_TRUE(status) << status.error().message;
  const auto* y = static_cast<const float*>(outputs[0].data());
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(y[i], wanted(x[i]), 2e-6 * std::max(1.0, std::abs(wanted(x[i])))) << x[i];
}

TEST(AddedOnnxOperator, IsImportedWithTheTypesOfItsRow) {
  const ir::OnnxOp* row = ir::FindOnnxOp(kDomain, "Squareplus", 1);
  ASSERT_NE(row, nullptr);
  int seen = 0;
  for (const OperatorForm& form : ReadOperatorForms()) {
    if (form.domain != kDomain) continue;
    ++seen;
    std::vector<DType> types;
    for (int i = 1; i < kDTypeCount; ++i)
      if (row->types.set.contains(static_cast<DType>(i))) types.push_back(static_cast<DType>(i));
    const CompileResult compiled = Compiled(ModelOf(form, types));
    ASSERT_NE(compiled.program, nullptr);
    EXPECT_EQ(compiled.program->main().outputs.size(), types.size());
  }
  EXPECT_EQ(seen, 1);
}

TEST(AddedOnnxOperator, IsFusedAndPlaced) {
  ExpectOneKernel(OnnxModel(false));
  ExpectRuns(OnnxModel(false), kNearPoints, [](double x) { return Squareplus(-x) * x; });
}

TEST(AddedOnnxOperator, IsDifferentiated) {
  ExpectRuns(OnnxModel(true), kNearPoints,
             [](double x) { return Squareplus(-x) - x * (1 - x / std::sqrt(x * x + 4)) / 2; });
}

TEST(AddedCoreOperator, IsFusedAndPlaced) {
  ExpectOneKernel(kCoreModel);
  ExpectRuns(kCoreModel, kFarPoints, [](double x) { return LogCosh(-x) * x; });
}

TEST(AddedCoreOperator, HasTheTraitsOfElementwiseOperators) {
  const ir::CoreOp &added = ir::GetCoreOp("log_cosh"), &known = ir::GetCoreOp("erf");
  EXPECT_EQ(added.kind, known.kind);
  EXPECT_EQ(added.traits.axes, known.traits.axes);
  EXPECT_EQ(added.traits.reorder, known.traits.reorder);
  EXPECT_EQ(added.requirements, known.requirements);
}

// The derivative of log(cosh(x)) is tanh(x): nothing but the element tells.
TEST(AddedCoreOperator, IsDifferentiated) {
  ir::Module module;
  ir::Function& main = module.functions.emplace_back();
  main.body = main.AddRegion();
  ir::OpBuilder b(&module, &main, main.body);
  const ir::ValueId x = main.AddValue(ir::Type::Tensor(DType::kF32, {6}));
  main.region(main.body).parameters = {x};
  const ir::ValueId y = b.Emit("log_cosh", {x});
  main.region(main.body).results = autodiff::Gradients(b, y, {x});
  ASSERT_FALSE(b.failed()) << b.TakeError()->message;
  const ir::TensorData data = ir::TensorData::FromVector(DType::kF32, {6}, kFarPoints);
  auto gradients = ir::EvaluateFunction(main, std::span(&data, 1));
  ASSERT_TRUE(gradients) << gradients.error().message;
  std::vector<float> got(kFarPoints.size());
  std::memcpy(got.data(), (*gradients)[0].bytes.data(), got.size() * sizeof(float));
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], std::tanh(kFarPoints[i]), 1e-6) << kFarPoints[i];
}

}  // namespace
}  // namespace tvmvm
