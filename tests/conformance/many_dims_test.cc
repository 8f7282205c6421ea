// Tensors of up to 32 dims on every device: cases/ranks.json, and what a case does not tell: dims that all
// have elements, control flow, strings, and what is said of one dim more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "cli/compare.h"
#include "tests/conformance/case_model.h"
#include "tests/folders.h"
#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using ir::DimText;
using ir::GraphText;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Place {
  std::string device;
  bool has_symbols;
};

void PrintTo(const Place& place, std::ostream* out) {
  *out << place.device << (place.has_symbols ? " with symbols" : "");
}

class ManyDims : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    if (device() == "cpu") return;
    auto opened = OpenDevice(device(), {});
    if (!opened) TVMVM_SKIP_WITHOUT(device(), opened.error().message);
    opened_.push_back(*opened);
  }

  const std::string& device() const { return GetParam().device; }

  // The outputs, or none and a failure.
  std::vector<Tensor> Run(const std::string& model, const std::vector<Tensor>& inputs) {
    CompileOptions options;
    options.devices = {device()};
    if (device() != "cpu") options.devices.push_back("cpu");
    options.prefer_gpu = true;
    options.targets = {"host"};
    auto compiled = GetCompiler().CompileBytes(ir::BytesOf(model), options);
    if (!compiled) {
      ADD_FAILURE() << compiled.error().message;
      return {};
    }
    VmOptions vm_options{.threads = 2};
    vm_options.devices = opened_;
    auto vm = Vm::Create(compiled->program, vm_options);
    if (!vm) {
      ADD_FAILURE() << vm.error().message;
      return {};
    }
    std::vector<Tensor> outputs(compiled->program->main().outputs.size());
    Status status = (*vm)->NewInvocation().Run(inputs, outputs);
    EXPECT_TRUE(status) << status.error().message;
    return outputs;
  }

  std::vector<std::shared_ptr<Device>> opened_;
};

// What the CPU gives is operator_cases_test.cc's. Of products there are many kernels, for which drivers take
// their time where every dim is a size of its own: those of 12 dims stand for them.
bool IsForGpus(const std::string& name, bool has_symbols) {
  if (!has_symbols) return name.ends_with("_17") || name.ends_with("_32");
  return name.ends_with(name.starts_with("matmul") ? "_12" : "_32");
}

class ManyDimsOnGpus : public ManyDims {};

TEST_P(ManyDimsOnGpus, OperatorsGiveTheReferenceNumbers) {
  std::ifstream file(SourcePath("tests/conformance/cases/ranks.json"));
  const json cases = json::parse(file, nullptr, false);
  ASSERT_TRUE(cases.is_array() && !cases.empty());
  for (const json& text : cases) {
    const std::string name = text["name"];
    if (!IsForGpus(name, GetParam().has_symbols)) continue;
    SCOPED_TRACE(name);
    CaseModel model = ModelOfCase(text, GetParam().has_symbols);
    std::vector<Tensor> outputs = Run(model.bytes, model.inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      auto difference = cli::FindDifference(outputs[i], model.outputs[i], {1e-4, 1e-5});
      EXPECT_FALSE(difference) << "output " << i << ": " << *difference;
    }
  }
}

// 32 dims, of which every other one, the second and the last have two elements.
class Halves {
 public:
  static constexpr int kDims = 32, kBits = 18;
  static bool IsWide(int axis) { return axis % 2 == 0 || axis == 1 || axis == 31; }
  static Shape Dims(bool (*is_kept)(int axis)) {
    Shape shape;
    for (int axis = 0; axis < kDims; ++axis) shape.push_back(IsWide(axis) && is_kept(axis) ? 2 : 1);
    return shape;
  }
  // The elements count from 0.
  static Tensor Counting(const Shape& shape) {
    Tensor tensor = *Tensor::Allocate(DType::kF32, shape);
    auto* numbers = static_cast<float*>(tensor.data());
    std::iota(numbers, numbers + tensor.element_count(), 0.0f);
    return tensor;
  }
};
static_assert(kMaxRank == Halves::kDims);

std::vector<DimText> TextsOf(const Shape& shape, const std::string& name, bool has_symbols) {
  std::vector<DimText> dims;
  for (int axis = 0; axis < shape.rank(); ++axis)
    dims.push_back(has_symbols ? DimText(name + std::to_string(axis)) : DimText(shape[axis]));
  return dims;
}

TEST_P(ManyDims, EveryDimHasElements) {
  const Tensor x = Halves::Counting(Halves::Dims([](int) { return true; }));
  const Tensor row = Halves::Counting(Halves::Dims([](int axis) { return axis % 4 == 0; }));
  ASSERT_EQ(x.element_count(), 1 << Halves::kBits);
  std::vector<int64_t> summed;  // where the row has one element
  for (int axis = 0; axis < Halves::kDims; ++axis)
    if (axis % 4 != 0) summed.push_back(axis);
  GraphText graph{
      .nodes = {{"Transpose", {"x"}, {"reversed"}},
                {"Add", {"x", "row"}, {"shifted"}},
                {"ReduceSum", {"shifted", "axes"}, {"sums"}, {ir::IntAttribute("keepdims", 1)}}},
      .inputs = {ir::ValueMessage("x", ir::kOnnxFloat, TextsOf(x.shape(), "n", GetParam().has_symbols)),
                 ir::ValueMessage("row", ir::kOnnxFloat, TextsOf(row.shape(), "m", GetParam().has_symbols))},
      .outputs = {ir::UntypedValue("reversed"), ir::UntypedValue("shifted"), ir::UntypedValue("sums")},
      .initializers = {ir::Int64Tensor("axes", summed)}};
  std::vector<Tensor> outputs = Run(ir::ModelMessage(graph, 17), {x, row});
  ASSERT_EQ(outputs.size(), 3u);
  // The bits of a position in x, the last dim's first; those that the row has are put side by side.
  std::vector<double> sums(static_cast<size_t>(row.element_count()));
  const auto* reversed = static_cast<const float*>(outputs[0].data());
  const auto* shifted = static_cast<const float*>(outputs[1].data());
  int wrong = 0;
  for (int64_t at = 0; at < x.element_count(); ++at) {
    int64_t mirrored = 0, row_at = 0;
    for (int axis = 0, bit = Halves::kBits - 1; axis < Halves::kDims; ++axis) {
      if (!Halves::IsWide(axis)) continue;
      const int64_t digit = at >> bit & 1;
      mirrored |= digit << (Halves::kBits - 1 - bit);
      if (axis % 4 == 0) row_at = row_at * 2 + digit;
      --bit;
    }
    const float sum = static_cast<float>(at + row_at);
    wrong += reversed[mirrored] != static_cast<float>(at) || shifted[at] != sum;
    sums[static_cast<size_t>(row_at)] += sum;
  }
  EXPECT_EQ(wrong, 0);
  ASSERT_EQ(outputs[2].shape(), row.shape());
  for (size_t i = 0; i < sums.size(); ++i)
    EXPECT_NEAR(static_cast<const float*>(outputs[2].data())[i], sums[i], sums[i] * 1e-4) << i;
}

// A loop that turns its tensor around and adds to it, inside of a branch.
TEST_P(ManyDims, ControlFlowCarriesThem) {
  Shape shape;
  for (int axis = 0; axis < kMaxRank; ++axis) shape.push_back(axis % 8 == 3 ? 2 : 1);
  Shape turned;
  for (int axis = kMaxRank - 1; axis >= 0; --axis) turned.push_back(shape[axis]);
  const bool has_symbols = GetParam().has_symbols;
  GraphText body{.nodes = {{"Identity", {"go"}, {"go_on"}},
                           {"Transpose", {"carried"}, {"back"}},
                           {"Add", {"back", "x"}, {"sum"}},
                           {"Transpose", {"sum"}, {"next"}}},
                 .inputs = {ir::UntypedValue("i"), ir::UntypedValue("go"), ir::UntypedValue("carried")},
                 .outputs = {ir::UntypedValue("go_on"), ir::UntypedValue("next")}};
  GraphText loop{.nodes = {{"Transpose", {"x"}, {"start"}},
                           {"Loop",
                            {"steps", "", "start"},
                            {"y"},
                            {ir::GraphAttribute("body", ir::GraphMessage(body))}}},
                 .inputs = {},
                 .outputs = {ir::UntypedValue("y")}};
  GraphText other{.nodes = {{"Transpose", {"x"}, {"z"}}}, .inputs = {}, .outputs = {ir::UntypedValue("z")}};
  GraphText graph{
      .nodes = {{"If",
                 {"choice"},
                 {"y"},
                 {ir::GraphAttribute("then_branch", ir::GraphMessage(loop)),
                  ir::GraphAttribute("else_branch", ir::GraphMessage(other))}}},
      .inputs = {ir::ValueMessage("choice", ir::kOnnxBool, {}), ir::ValueMessage("steps", ir::kOnnxInt64, {}),
                 ir::ValueMessage("x", ir::kOnnxFloat, TextsOf(shape, "n", has_symbols))},
      .outputs = {ir::UntypedValue("y")}};
  Tensor choice = *Tensor::Allocate(DType::kBool, {}), steps = *Tensor::Allocate(DType::kI64, {});
  *static_cast<bool*>(choice.data()) = true;
  *static_cast<int64_t*>(steps.data()) = 4;
  std::vector<Tensor> outputs = Run(ir::ModelMessage(graph, 17), {choice, steps, Halves::Counting(shape)});
  ASSERT_EQ(outputs.size(), 1u);
  ASSERT_EQ(outputs[0].shape(), turned);
  std::vector<float> wanted(16);
  for (unsigned at = 0; at < 16; ++at)
    wanted[at] = 5 * static_cast<float>((at & 1) << 3 | (at & 2) << 1 | (at & 4) >> 1 | at >> 3);
  EXPECT_EQ(
      std::vector<float>(static_cast<float*>(outputs[0].data()), static_cast<float*>(outputs[0].data()) + 16),
      wanted);
}

TEST_P(ManyDims, OfStrings) {
  Shape shape;
  for (int axis = 0; axis < kMaxRank; ++axis) shape.push_back(axis == 2 ? 2 : axis == 30 ? 3 : 1);
  Shape turned;
  for (int axis = kMaxRank - 1; axis >= 0; --axis) turned.push_back(shape[axis]);
  turned[1] = 2;  // two of three
  GraphText graph{
      .nodes = {{"Transpose", {"s"}, {"turned"}},
                {"Gather", {"turned", "picked"}, {"few"}, {ir::IntAttribute("axis", 1)}},
                {"Concat", {"few", "few"}, {"y"}, {ir::IntAttribute("axis", -1)}}},
      .inputs = {ir::ValueMessage("s", ir::kOnnxString, TextsOf(shape, "n", GetParam().has_symbols))},
      .outputs = {ir::UntypedValue("y")},
      .initializers = {ir::Int64Tensor("picked", {2, 0})}};
  std::vector<Tensor> outputs =
      Run(ir::ModelMessage(graph, 17), {Tensor::FromStrings(shape, {"a", "b", "c", "d", "e", "f"})});
  ASSERT_EQ(outputs.size(), 1u);
  turned[kMaxRank - 1] = 2;
  EXPECT_EQ(outputs[0].shape(), turned);
  EXPECT_THAT(outputs[0].strings(), ElementsAre("c", "c", "f", "f", "a", "a", "d", "d"));
}

std::string NameOf(const testing::TestParamInfo<Place>& info) {
  return info.param.device + (info.param.has_symbols ? "Symbols" : "");
}

const Place kPlaces[] = {{"cpu", false},   {"cpu", true},     {"opencl", false},
                         {"opencl", true}, {"vulkan", false}, {"vulkan", true}};

INSTANTIATE_TEST_SUITE_P(Devices, ManyDims, testing::ValuesIn(kPlaces), NameOf);
INSTANTIATE_TEST_SUITE_P(Devices, ManyDimsOnGpus, testing::ValuesIn(std::span(kPlaces).subspan(2)), NameOf);

std::string ErrorOf(const GraphText& graph) {
  auto compiled = GetCompiler().CompileBytes(ir::BytesOf(ir::ModelMessage(graph, 17)), {});
  return compiled ? "no error" : compiled.error().message;
}

TEST(TooManyDims, AreAnErrorThatNamesTheTensor) {
  const std::vector<DimText> many(32, DimText(int64_t{1})), more(33, DimText(int64_t{1}));
  GraphText graph{.nodes = {{"Identity", {"x"}, {"y"}}},
                  .inputs = {ir::ValueMessage("x", ir::kOnnxFloat, more)},
                  .outputs = {ir::UntypedValue("y")}};
  EXPECT_THAT(ErrorOf(graph), HasSubstr("'x' has 33 dimensions, at most 32 are supported"));
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, many)};
  EXPECT_EQ(ErrorOf(graph), "no error");
  graph.nodes = {{"Unsqueeze", {"x", "axis"}, {"wide"}, {}, "widen"}, {"Squeeze", {"wide", "axis"}, {"y"}}};
  graph.initializers = {ir::Int64Tensor("axis", {7})};
  EXPECT_THAT(
      ErrorOf(graph),
      AllOf(HasSubstr("widen"), HasSubstr("the output 'wide' has 33 dimensions, at most 32 are supported")));
  graph.nodes = {{"Add", {"x", "w"}, {"y"}}};
  graph.initializers = {ir::TensorMessage("w", ir::kOnnxFloat, std::vector<int64_t>(33, 1), "1234")};
  EXPECT_THAT(ErrorOf(graph), HasSubstr("tensor 'w': 33 dimensions, at most 32 are supported"));
}

}  // namespace
}  // namespace tvmvm
