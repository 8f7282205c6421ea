// Models whose inputs make no sense at run time: an error with the node's name and the numbers, after which
// the same Invocation runs on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/compiler/onnx/importer/onnx_writer.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using ir::GraphAttribute;
using ir::GraphMessage;
using ir::GraphText;
using ir::kOnnxBool;
using ir::kOnnxFloat;
using ir::kOnnxInt64;
using ir::NodeText;
using ir::ValueMessage;
using ::testing::AllOf;
using ::testing::HasSubstr;

Tensor Numbers(const Shape& shape, std::vector<int64_t> values) {
  Tensor tensor = *Tensor::Allocate(DType::kI64, shape);
  std::ranges::copy(values, static_cast<int64_t*>(tensor.data()));
  return tensor;
}

Tensor Number(int64_t value) { return Numbers({}, {value}); }
Tensor List(std::vector<int64_t> values) { return Numbers({static_cast<int64_t>(values.size())}, values); }

Tensor Rows(int64_t count, int64_t width) {
  Tensor tensor = *Tensor::Allocate(DType::kF32, {count, width});
  std::iota(static_cast<float*>(tensor.data()), static_cast<float*>(tensor.data()) + count * width, 1.0f);
  return tensor;
}

class Model {
 public:
  Model(NodeText node, std::vector<std::string> inputs) {
    GraphText graph;
    for (const std::string& output : node.outputs)
      graph.outputs.push_back(ValueMessage(output, kOnnxFloat, {}));
    node.name = "it";
    graph.nodes = {std::move(node)};
    graph.inputs = std::move(inputs);
    std::string bytes = ModelMessage(graph, 17);
    CompileOptions options;
    options.targets = {"x86-64-v3"};
    auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(bytes)), options);
    if (!compiled) {
      error_ = compiled.error().message;
      return;
    }
    vm_ = *Vm::Create(compiled->program, {.threads = 1});
    invocation_.emplace(vm_->NewInvocation());
  }

  // "" where all is well.
  std::string Run(const std::vector<Tensor>& inputs) {
    if (!error_.empty()) return error_;
    std::vector<Tensor> outputs(vm_->program().main().outputs.size());
    Status status = invocation_->Run(inputs, outputs);
    return status ? "" : status.error().message;
  }

 private:
  std::string error_;
  std::shared_ptr<Vm> vm_;
  std::optional<Invocation> invocation_;
};

auto Says(const std::string& what, const std::string& op) {
  return AllOf(HasSubstr(what), HasSubstr("(node it (" + op + "))"));
}

const std::string kRows = ValueMessage("x", kOnnxFloat, {"rows", int64_t{2}});
std::string NumbersNamed(const std::string& name) { return ValueMessage(name, kOnnxInt64, {"n_" + name}); }
std::string NumberNamed(const std::string& name) { return ValueMessage(name, kOnnxInt64, {}); }
std::string OneNamed(const std::string& name) { return ValueMessage(name, kOnnxInt64, {int64_t{1}}); }

TEST(BadValues, PositionsOutOfRange) {
  Model gather({"Gather", {"x", "k"}, {"y"}}, {kRows, NumbersNamed("k")});
  EXPECT_EQ(gather.Run({Rows(4, 2), List({3, -4})}), "");
  EXPECT_THAT(gather.Run({Rows(4, 2), List({1, 4})}), Says("index 4 is out of range [-4, 4)", "Gather"));
  EXPECT_THAT(gather.Run({Rows(4, 2), List({-5})}), Says("index -5", "Gather"));
  EXPECT_EQ(gather.Run({Rows(5, 2), List({4})}), "");

  // Wherever among many it is: indices are looked at in vectors, and what no vector fills one by one.
  for (size_t count : {1, 5, 31, 32, 33, 100, 5000})
    for (size_t at : {size_t{0}, count / 2, count - 1}) {
      std::vector<int64_t> numbers(count, 2);
      EXPECT_EQ(gather.Run({Rows(4, 2), List(numbers)}), "");
      numbers[at] = -7;
      EXPECT_THAT(gather.Run({Rows(4, 2), List(numbers)}), Says("index -7 is out of range [-4, 4)", "Gather"));
    }

  Model one({"Gather", {"x", "k"}, {"y"}}, {kRows, NumberNamed("k")});
  EXPECT_EQ(one.Run({Rows(4, 2), Number(-4)}), "");
  EXPECT_THAT(one.Run({Rows(4, 2), Number(4)}), Says("4", "Gather"));

  Model scatter({"ScatterND", {"x", "k", "u"}, {"y"}},
                {kRows, ValueMessage("k", kOnnxInt64, {"m", int64_t{1}}),
                 ValueMessage("u", kOnnxFloat, {"m", int64_t{2}})});
  EXPECT_EQ(scatter.Run({Rows(4, 2), Numbers({1, 1}, {3}), Rows(1, 2)}), "");
  EXPECT_THAT(scatter.Run({Rows(4, 2), Numbers({1, 1}, {9}), Rows(1, 2)}), Says("index 9", "ScatterND"));
}

// Positions that the compiler knows, in tensors whose sizes it does not.
TEST(BadValues, ConstantPositionsOutOfRange) {
  NodeText constant{"Constant", {}, {"k"}, {ir::IntsAttribute("value_ints", {0, 5, -6})}};
  GraphText graph{.nodes = {constant, {"Gather", {"x", "k"}, {"y"}, {}, "it"}},
                  .inputs = {kRows},
                  .outputs = {ValueMessage("y", kOnnxFloat, {"", int64_t{2}})}};
  std::string bytes = ModelMessage(graph, 17);
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(bytes)), {});
  ASSERT_TRUE(compiled) << compiled.error().message;
  auto vm = *Vm::Create(compiled->program, {.threads = 1});
  Invocation invocation = vm->NewInvocation();
  std::vector<Tensor> inputs{Rows(6, 2)}, outputs(1);
  EXPECT_TRUE(invocation.Run(inputs, outputs));
  inputs[0] = Rows(5, 2);
  Status status = invocation.Run(inputs, outputs);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, Says("index 5 is out of range [-5, 5)", "Gather"));
}

TEST(BadValues, StepsOfZero) {
  Model range({"Range", {"a", "b", "c"}, {"y"}}, {NumberNamed("a"), NumberNamed("b"), NumberNamed("c")});
  EXPECT_EQ(range.Run({Number(0), Number(5), Number(2)}), "");
  EXPECT_EQ(range.Run({Number(5), Number(0), Number(-1)}), "");
  EXPECT_THAT(range.Run({Number(0), Number(5), Number(0)}), Says("delta is 0", "Range"));
  Model slice({"Slice", {"x", "a", "b", "axes", "by"}, {"y"}},
              {kRows, OneNamed("a"), OneNamed("b"), OneNamed("axes"), OneNamed("by")});
  EXPECT_EQ(slice.Run({Rows(4, 2), List({3}), List({0}), List({0}), List({-2})}), "");
  EXPECT_THAT(slice.Run({Rows(4, 2), List({0}), List({3}), List({0}), List({0})}),
              Says("step 0 is 0", "Slice"));
}

TEST(BadValues, SizesThatCannotBe) {
  Model fill({"ConstantOfShape", {"k"}, {"y"}}, {ValueMessage("k", kOnnxInt64, {int64_t{2}})});
  EXPECT_EQ(fill.Run({List({2, 0})}), "");
  EXPECT_THAT(fill.Run({List({int64_t{1} << 40, int64_t{1} << 40})}),
              Says("[1099511627776, 1099511627776]", "ConstantOfShape"));
  EXPECT_THAT(fill.Run({List({-1, 4})}), Says("element 0 of the shape is -1", "ConstantOfShape"));
  Model tile({"Tile", {"x", "k"}, {"y"}}, {kRows, ValueMessage("k", kOnnxInt64, {int64_t{2}})});
  EXPECT_THAT(tile.Run({Rows(4, 2), List({int64_t{1} << 62, 1})}), Says("64 bits", "Tile"));
}

// Each step collects the positions of its row's nonzero numbers.
TEST(BadValues, StepsThatCollectDifferentSizes) {
  GraphText body{
      .nodes = {{"Gather", {"x", "i"}, {"row"}},
                {"NonZero", {"row"}, {"found"}},
                {"Identity", {"go"}, {"go_on"}}},
      .inputs = {ValueMessage("i", kOnnxInt64, {}), ValueMessage("go", kOnnxBool, {})},
      .outputs = {ValueMessage("go_on", kOnnxBool, {}), ValueMessage("found", kOnnxInt64, {"", ""})}};
  Model loop({"Loop", {"n", ""}, {"y"}, {GraphAttribute("body", GraphMessage(body))}},
             {NumberNamed("n"), kRows});
  Tensor x = Rows(3, 2);
  EXPECT_EQ(loop.Run({Number(3), x}), "");
  static_cast<float*>(x.data())[3] = 0;
  EXPECT_THAT(loop.Run({Number(3), x}),
              Says("step 1 collects a size of 1, the steps before it one of 2", "Loop"));
  EXPECT_EQ(loop.Run({Number(1), x}), "");
  EXPECT_THAT(loop.Run({Number(4), Rows(3, 2)}), HasSubstr("the axis has size 3"));
}

}  // namespace
}  // namespace tvmvm
