// What calls of small models cost in instructions at x86-64-v3, which are the same on every machine, unlike
// times: kernels.json has the models, tests/golden/kernel_costs.txt the numbers. TVMVM_UPDATE_GOLDEN=1 writes
// them anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "cli/elements.h"
#include "cli/random_data.h"
#include "tests/cli/scratch.h"
#include "tests/compiler/onnx/importer/onnx_writer.h"
#include "tests/conformance/case_text.h"
#include "tests/count_instructions.h"
#include "tests/folders.h"
#include "tests/golden/golden.h"
#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kTolerance = 0.05;
const std::string kGolden = SourcePath("tests/golden/kernel_costs.txt");

std::string CompilerName() { return fmt::format("gcc {}", __GNUC__); }

std::vector<std::string> Words(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) words.push_back(word);
  return words;
}

// "f32[n=3,4] = 1 2": element type, dims (a name makes one symbolic), and numbers of a constant.
struct TensorText {
  DType dtype = DType::kInvalid;
  std::vector<ir::DimText> dims;
  std::vector<int64_t> sizes;
  std::vector<double> values;  // empty: random
};

TensorText ParseTensor(const std::string& text) {
  TensorText tensor;
  const size_t open = text.find('['), close = text.find(']');
  tensor.dtype = DTypeFromName(text.substr(0, open)).value_or(DType::kInvalid);
  for (const std::string& dim : Words(text.substr(open + 1, close - open - 1), ',')) {
    const size_t equals = dim.find('=');
    tensor.sizes.push_back(std::stoll(dim.substr(equals == std::string::npos ? 0 : equals + 1)));
    if (equals == std::string::npos)
      tensor.dims.emplace_back(tensor.sizes.back());
    else
      tensor.dims.emplace_back(dim.substr(0, equals));
  }
  if (const size_t values = text.find("= ", close); values != std::string::npos)
    for (const std::string& value : Words(text.substr(values + 2), ' '))
      tensor.values.push_back(std::stod(value));
  return tensor;
}

std::string ConstantMessage(const std::string& name, const TensorText& text) {
  Tensor tensor = *cli::MakeRandomTensor(text.dtype, Shape(text.sizes), 7);
  for (size_t i = 0; i < text.values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    if (IsFloat(text.dtype))
      cli::WriteFloat(tensor, at, text.values[i]);
    else
      cli::WriteInteger(tensor, at, static_cast<int64_t>(text.values[i]));
  }
  return ir::TensorMessage(name, DTypeToOnnx(text.dtype), text.sizes, BytesOfTensor(tensor));
}

// A node is [operator, inputs, outputs, attributes]; names are apart by a space, an absent one is empty.
ir::NodeText NodeOf(const Json& text) {
  ir::NodeText node{text[0], Words(text[1], ' '), Words(text[2], ' ')};
  if (text.size() > 3)
    for (const auto& [name, value] : text[3].items())
      node.attributes.push_back(AttributeOf(name, nlohmann::json(value)));
  return node;
}

// The model of a case; the outputs of its last node come out.
std::string ModelOf(const Json& text) {
  ir::GraphText graph;
  for (const auto& [name, input] : text["inputs"].items()) {
    const TensorText tensor = ParseTensor(input);
    graph.inputs.push_back(ir::ValueMessage(name, DTypeToOnnx(tensor.dtype), tensor.dims));
  }
  if (text.contains("constants"))
    for (const auto& [name, constant] : text["constants"].items())
      graph.initializers.push_back(ConstantMessage(name, ParseTensor(constant)));
  for (const Json& node : text["nodes"]) graph.nodes.push_back(NodeOf(node));
  for (const std::string& output : graph.nodes.back().outputs)
    graph.outputs.push_back(ir::UntypedValue(output));
  return ir::ModelMessage(graph, 20, 9);
}

// What kernel_costs reads.
void WriteCase(const Json& text, const std::string& path) {
  CompileOptions options;
  options.targets = {"x86-64-v3"};
  options.threads = 1;
  const std::string model = ModelOf(text);
  auto compiled = GetCompiler().CompileBytes(ir::BytesOf(model), options);
  ASSERT_TRUE(compiled) << compiled.error().message;
  ASSERT_TRUE(SaveProgram(*compiled->program, path + ".vmexe"));
  std::string lines;
  for (const auto& [name, input] : text["inputs"].items())
    lines += fmt::format("{}\n", fmt::join(ParseTensor(input).sizes, " "));
  cli::WriteBytes(path + ".dims", lines);
}

// Runs all cases in one process, RunOnce() counted in each; empty where there is no valgrind.
std::vector<int64_t> Count(const std::string& folder, const std::vector<std::string>& names) {
  const std::string out = folder + "/counts";
  const std::string command = fmt::format(
      "valgrind --tool=callgrind --callgrind-out-file='{}' --collect-atstart=no --toggle-collect=RunOnce "
      "--dump-after=RunOnce '{}/kernel_costs' '{}' {} >'{}/log' 2>&1",
      out, BuildPath(), folder, fmt::join(names, " "), folder);
  if (std::system(command.c_str()) != 0) return {};
  std::vector<int64_t> counts;
  for (size_t i = 1; i <= names.size(); ++i) {
    const std::string dump = ReadText(fmt::format("{}.{}", out, i));
    const size_t at = dump.find("\nsummary: ");
    counts.push_back(at == std::string::npos ? 0 : std::stoll(dump.substr(at + 10)));
  }
  return counts;
}

void Compare(const std::map<std::string, int64_t>& found) {
  std::istringstream golden(ReadText(kGolden));
  std::string compiler, name;
  int64_t wanted = 0;
  std::getline(golden, compiler);
  if (compiler != CompilerName())
    GTEST_SKIP() << "the numbers are of " << compiler << ", not of " << CompilerName();
  size_t seen = 0;
  for (; golden >> name >> wanted; ++seen) {
    ASSERT_TRUE(found.contains(name)) << name;
    const auto count = static_cast<double>(found.at(name));
    EXPECT_LE(std::abs(count / static_cast<double>(wanted) - 1), kTolerance)
        << name << ": " << count << ", wanted " << wanted;
  }
  EXPECT_EQ(seen, found.size());
}

TEST(KernelCosts, StayWhatTheyAre) {
  if (const std::string why = WhyNotCounted(); !why.empty()) GTEST_SKIP() << why;
  if (std::system("valgrind --version >/dev/null 2>&1") != 0)
    TVMVM_SKIP_WITHOUT("valgrind", "there is no valgrind");
  const Json cases = Json::parse(ReadText(SourcePath("tests/costs/kernels.json")));
  const cli::ScratchFolder scratch;
  std::vector<std::string> names;
  for (const Json& text : cases) {
    names.push_back(text["name"]);
    SCOPED_TRACE(names.back());
    WriteCase(text, scratch / names.back());
    if (HasFatalFailure()) return;
  }
  const std::vector<int64_t> counts = Count(scratch.path(), names);
  ASSERT_EQ(counts.size(), names.size()) << ReadText(scratch / "log");
  std::map<std::string, int64_t> found;
  for (size_t i = 0; i < names.size(); ++i) found[names[i]] = counts[i];
  if (!UpdateGolden()) return Compare(found);
  std::ofstream golden(kGolden);
  golden << CompilerName() << "\n";
  for (const auto& [name, count] : found) golden << name << " " << count << "\n";
}

}  // namespace
}  // namespace tvmvm
