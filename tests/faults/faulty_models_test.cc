#include "tests/faults/faulty_models.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <numeric>

#include "devices/null/null_device.h"
#include "tests/program_texts.h"
#include "tests/vm/host_program.h"
#if TVMVM_HAS_COMPILER
#include "tests/compiler/onnx/importer/onnx_writer.h"
#include "tvm-vm/compiler.h"
#endif

namespace tvmvm::testing {
namespace {

Value SomeInts(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 1);
  return Value(Ints(numbers));
}

FaultyModel FromText(std::string_view text, std::vector<Value> inputs) {
  FaultyModel model;
  auto program = Assemble(text);
  EXPECT_TRUE(program) << program.error().message;
  if (!program) return model;
  auto with_library = std::make_shared<Program>(**program);
  static const std::byte kBitcode[64] = {};
  KernelLibrarySpec library;
  library.form = KernelForm::kBitcode;
  library.target = "host";
  library.bytes = kBitcode;
  with_library->libraries.push_back(library);
  model.program = with_library;
  model.inputs = std::move(inputs);
  model.options = TestOptions();
  return model;
}

constexpr std::string_view kOnDevice = R"---(
entry @main
entry [1, 0] @gpu
kernel @k gpu symbol "k" scalars 0 buffers [read_aligned, write]
func @main("x": i64[2]) -> ("y": i64[2]) frame 4, 4 {
  i0 = const 2
  r1 = output 0, [i0]
  return [], [r1]
}
func @gpu("x": i64[2]) -> ("y": i64[2]) frame 12, 8 {
  i0 = const 0
  i1 = const 1
  i2 = const 2
  i3 = const 16
  i4 = const 8
  r2 = arena.on 1, i3
  copy [r2, r0], i3
  r3 = alloc.on 1, i64, [i2]
  r5 = arena.on 1, i3
  copy [r3, r2], i3
  launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [r3+i4, r5]
  i5 = load r3, i0, i64
  r1 = output 0, [i2]
  copy [r1, r3], i3
  return [], [r1]
}
)---";

FaultyModel OnDevice() {
  FaultyModel model = FromText(kOnDevice, {Value(Ints({3, 4}))});
  model.options.devices = {CreateNullDevice({})};
  return model;
}

FaultyModel Sequences() {
  const Value sequence = Value::Sequence({SomeInts(100), Value(Ints({})), SomeInts(7)});
  return FromText(
      HostProgram(R"(("x": i64[k], "s": sequence<i64[n]>) -> ("y": i64[m], "z": sequence<i64[n]>))", R"(
  i0 = const 0
  i1 = const 1
  [], [r3] = host sequence.construct, [], [r0, r0]
  [], [r3] = host sequence.insert, [i0, i1], [r3, r0]
  [], [r4] = host sequence.construct, [], [r3]
  [], [r5] = host sequence.at, [i0], [r4]
  [], [r9] = host sequence.concat, [i0, i0], [r5]
  return [], [r9, r1])"),
      {SomeInts(50), sequence});
}

FaultyModel Texts() {
  Tensor words = Tensor::FromStrings(Shape{2}, {"a text that is longer than what fits in place", "b"});
  return FromText(HostProgram(R"(("x": string[k]) -> ("y": string[k], "z": i64[k]))", R"(
  [], [r5] = host string.concat, [], [r0, r0]
  [], [r6] = host string.ids, [], [r5]
  return [], [r5, r6])"),
                  {Value(words)});
}

// RE2 throws where there is no memory, and loses what it held.
FaultyModel Patterns() {
  Tensor words = Tensor::FromStrings(Shape{2}, {"a text that is longer than what fits in place", "b"});
  Tensor pattern = Tensor::FromStrings(Shape{1}, {"a.*"});
  FaultyModel model =
      FromText(HostProgram(R"(("x": string[k], "p": string[1]) -> ("y": bool[k], "z": string[k]))", R"(
  [], [r5] = host string.match, [], [r0, r1]
  [], [r6] = host string.concat, [], [r0, r0]
  return [], [r5, r6])"),
               {Value(words), Value(pattern)});
  model.loses_memory = true;
  return model;
}

#if TVMVM_HAS_COMPILER

using namespace ir;  // NOLINT

FaultyModel FromOnnx(const GraphText& graph, std::vector<Value> inputs) {
  FaultyModel model;
  const std::string bytes = ModelMessage(graph, 17);
  CompileOptions options;
  options.targets = {"x86-64-v3"};
  auto compiled = GetCompiler().CompileBytes(BytesOf(bytes), options);
  EXPECT_TRUE(compiled) << compiled.error().message;
  if (!compiled) return model;
  model.program = compiled->program;
  model.inputs = std::move(inputs);
  model.options.threads = 1;
  return model;
}

Value SomeFloats(const Shape& shape) {
  Tensor tensor = *Tensor::Allocate(DType::kF32, shape);
  auto* data = static_cast<float*>(tensor.data());
  for (int64_t i = 0; i < tensor.element_count(); ++i) data[i] = static_cast<float>(i * 37 % 11) / 8 - 0.5f;
  return Value(tensor);
}

std::string FloatInitializer(const std::string& name, const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 29 % 13) / 16 - 0.3f;
  return TensorMessage(name, kOnnxFloat, dims, RawBytes(values));
}

std::string FloatInput(const std::string& name, const std::vector<DimText>& dims) {
  return ValueMessage(name, kOnnxFloat, dims);
}

FaultyModel Attention() {
  return FromOnnx({.nodes = {{"MatMul", {"x", "w"}, {"q"}},
                             {"Transpose", {"x"}, {"t"}, {IntsAttribute("perm", {0, 2, 1})}},
                             {"MatMul", {"q", "t"}, {"s"}},
                             {"Softmax", {"s"}, {"p"}},
                             {"MatMul", {"p", "x"}, {"y"}}},
                   .inputs = {FloatInput("x", {"batch", "length", int64_t{16}})},
                   .outputs = {FloatInput("y", {"batch", "length", int64_t{16}})},
                   .initializers = {FloatInitializer("w", {16, 16})}},
                  {SomeFloats({2, 5, 16})});
}

FaultyModel Picture() {
  return FromOnnx({.nodes = {{"Conv", {"x", "w"}, {"c"}, {IntsAttribute("pads", {1, 1, 1, 1})}},
                             {"Relu", {"c"}, {"r"}},
                             {"MaxPool", {"r"}, {"p"}, {IntsAttribute("kernel_shape", {2, 2})}},
                             {"GlobalAveragePool", {"p"}, {"y"}}},
                   .inputs = {FloatInput("x", {"n", int64_t{3}, "h", "w"})},
                   .outputs = {FloatInput("y", {"n", int64_t{8}, int64_t{1}, int64_t{1}})},
                   .initializers = {FloatInitializer("w", {8, 3, 3, 3})}},
                  {SomeFloats({1, 3, 9, 7})});
}

FaultyModel Loop() {
  const GraphText body{.nodes = {{"Gather", {"x", "i"}, {"row"}},
                                 {"NonZero", {"row"}, {"found"}},
                                 {"Size", {"found"}, {"size"}},
                                 {"Add", {"sum", "size"}, {"next"}},
                                 {"Identity", {"go"}, {"go_on"}}},
                       .inputs = {ValueMessage("i", kOnnxInt64, {}), ValueMessage("go", kOnnxBool, {}),
                                  ValueMessage("sum", kOnnxInt64, {})},
                       .outputs = {ValueMessage("go_on", kOnnxBool, {}), ValueMessage("next", kOnnxInt64, {}),
                                   ValueMessage("next", kOnnxInt64, {})}};
  return FromOnnx(
      {.nodes = {{"Loop", {"n", "", "zero"}, {"y", "all"}, {GraphAttribute("body", GraphMessage(body))}}},
       .inputs = {ValueMessage("n", kOnnxInt64, {}), FloatInput("x", {"rows", "columns"})},
       .outputs = {ValueMessage("y", kOnnxInt64, {}), ValueMessage("all", kOnnxInt64, {""})},
       .initializers = {TensorMessage("zero", kOnnxInt64, {}, RawBytes<int64_t>({0}))}},
      {Value(Shaped(Ints({6}), {})), SomeFloats({6, 5})});
}

FaultyModel Branches() {
  auto branch = [](const NodeText& node) {
    return GraphMessage({.nodes = {node}, .inputs = {}, .outputs = {FloatInput("b", {"", ""})}});
  };
  return FromOnnx(
      {.nodes = {{"ReduceSum", {"x"}, {"sum"}, {IntAttribute("keepdims", 0)}},
                 {"Greater", {"sum", "zero"}, {"is"}},
                 {"If",
                  {"is"},
                  {"y"},
                  {GraphAttribute("then_branch",
                                  branch({"Concat", {"x", "x"}, {"b"}, {IntAttribute("axis", 0)}})),
                   GraphAttribute("else_branch", branch({"MatMul", {"x", "w"}, {"b"}}))}}},
       .inputs = {FloatInput("x", {"n", int64_t{8}})},
       .outputs = {FloatInput("y", {"", ""})},
       .initializers = {FloatInitializer("w", {8, 8}),
                        TensorMessage("zero", kOnnxFloat, {}, RawBytes<float>({0}))}},
      {SomeFloats({3, 8})});
}

FaultyModel Selection() {
  return FromOnnx({.nodes = {{"Unique", {"x"}, {"u", "", "", "counts"}, {IntAttribute("sorted", 1)}},
                             {"Cast", {"u"}, {"s"}, {IntAttribute("to", kOnnxString)}},
                             {"TopK", {"x", "k"}, {"top", "at"}}},
                   .inputs = {FloatInput("x", {"n"})},
                   .outputs = {ValueMessage("s", kOnnxString, {""}), ValueMessage("counts", kOnnxInt64, {""}),
                               FloatInput("top", {""}), ValueMessage("at", kOnnxInt64, {""})},
                   .initializers = {Int64Tensor("k", {3})}},
                  {SomeFloats({40})});
}

FaultyModel Recurrent() {
  return FromOnnx({.nodes = {{"LSTM", {"x", "w", "r"}, {"y", "h", "c"}, {IntAttribute("hidden_size", 4)}}},
                   .inputs = {FloatInput("x", {"steps", "batch", int64_t{3}})},
                   .outputs = {FloatInput("y", {"", "", "", ""}), FloatInput("h", {"", "", ""}),
                               FloatInput("c", {"", "", ""})},
                   .initializers = {FloatInitializer("w", {1, 16, 3}), FloatInitializer("r", {1, 16, 4})}},
                  {SomeFloats({5, 2, 3})});
}

#endif

using Maker = std::function<FaultyModel()>;

const std::map<std::string, Maker>& Makers() {
  static const std::map<std::string, Maker> makers = {
    {"calls", [] { return FromText(kCopyInSteps, {SomeInts(1000)}); }},
    {"recursion", [] { return FromText(kFactorial, {Value(Ints({12}))}); }},
    {"device", OnDevice},
    {"sequences", Sequences},
    {"texts", Texts},
    {"patterns", Patterns},
#if TVMVM_HAS_COMPILER
    {"attention", Attention},
    {"picture", Picture},
    {"loop", Loop},
    {"branches", Branches},
    {"selection", Selection},
    {"recurrent", Recurrent},
#endif
  };
  return makers;
}

}  // namespace

FaultyModel MakeFaultyModel(const std::string& name) {
  FaultyModel model = Makers().at(name)();
  model.name = name;
  return model;
}

std::vector<std::string> FaultyModelNames() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : Makers()) names.push_back(name);
  return names;
}

}  // namespace tvmvm::testing
