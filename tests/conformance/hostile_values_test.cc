// Values that no shape, axis, count or limit should have, against what ONNX Runtime says of them:
// hostile/values.json, written by make_hostile_values.py. What it refuses is an error here, too, that says
// why; what it takes gives its numbers. Each value comes as an input of a model whose sizes are symbols, as
// an input where they are known, and as a constant.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/compare.h"
#include "tests/conformance/case_model.h"
#include "tests/folders.h"
#include "tests/sanitizer.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using nlohmann::json;

enum class Form { kSymbols, kKnown, kConstant };

const json& AllProbes() {
  static const json probes = [] {
    std::ifstream file(SourcePath("tests/conformance/hostile/values.json"));
    return json::parse(file, nullptr, false);
  }();
  return probes;
}

// Compiled once for each form and shape of the value; a constant each time.
class Attempts {
 public:
  Attempts(const json& probe, Form form) : probe_(probe), form_(form) {}

  // What is wrong with what the value gives; "" where nothing is.
  std::string Try(const json& attempt) {
    json text = probe_;
    json& input = text["inputs"][probe_["which"].get<size_t>()];
    input = {{"type", probe_["type"]}, {"dims", attempt["dims"]}, {"values", attempt["values"]}};
    if (form_ == Form::kConstant) input["constant"] = true;
    text["outputs"] = json::array();
    for (size_t i = 0; i < probe_["outputs"].get<size_t>(); ++i)
      text["outputs"].push_back({{"type", "f32"}, {"dims", {0}}, {"values", json::array()}});
    CaseModel model = ModelOfCase(text, form_ == Form::kSymbols);
    std::vector<Tensor> outputs(model.outputs.size());
    Status status = Run(model, attempt["dims"], outputs);
    if (attempt.contains("any"))
      return status || !status.error().message.empty() ? "" : "an error without text";
    bool refused = attempt.value("refused", false);
    if (refused && status) return "no error, but " + Describe(outputs[0]);
    if (!status && (status.error().code == Code::kInternal || status.error().message.empty()))
      return "internal: " + status.error().message;
    if (refused) return "";
    if (!status) return attempt.value("or_refused", false) ? "" : "error: " + status.error().message;
    auto difference = cli::FindDifference(outputs[0], TensorOf(attempt["gives"]), {1e-4, 1e-5});
    return difference ? *difference : "";
  }

 private:
  static std::string Describe(const Tensor& tensor) {
    std::string text = "shape";
    for (int64_t dim : tensor.shape().dims()) text += " " + std::to_string(dim);
    return text;
  }

  Status Run(const CaseModel& model, const json& dims, std::span<Tensor> outputs) {
    std::string key = form_ == Form::kSymbols ? "" : dims.dump();
    std::shared_ptr<Vm> vm = form_ == Form::kConstant ? nullptr : compiled_[key];
    if (!vm) {
      CompileOptions options;
      options.targets = {"host"};
      TVMVM_TRY(CompileResult result, GetCompiler().CompileBytes(ir::BytesOf(model.bytes), options));
      VmOptions vm_options;
      vm_options.threads = 1;
      TVMVM_TRY(vm, Vm::Create(result.program, vm_options));
      compiled_[key] = vm;
    }
    Invocation invocation = vm->NewInvocation();
    invocation.SetLimits({.max_bytes = int64_t{1} << 26, .timeout = std::chrono::seconds(20)});
    return invocation.Run(model.inputs, outputs);
  }

  const json& probe_;
  Form form_;
  std::map<std::string, std::shared_ptr<Vm>> compiled_;
};

class HostileValues : public testing::TestWithParam<size_t> {};

TEST_P(HostileValues, AreRefusedOrTakenAsByOnnxRuntime) {
  const json& probe = AllProbes()[GetParam()];
  for (auto [form, name] :
       {std::pair{Form::kSymbols, "symbols"}, {Form::kKnown, "known"}, {Form::kConstant, "constant"}}) {
    if (kSanitized && form == Form::kConstant) continue;  // compiled for each value
    Attempts attempts(probe, form);
    for (const json& attempt : probe["tries"]) {
      std::string problem = attempts.Try(attempt);
      EXPECT_EQ(problem, "") << probe["name"] << ' ' << name << ' ' << attempt["values"].dump() << ": wanted "
                             << (attempt.contains("gives") ? attempt["gives"].dump() : "an error");
    }
  }
}

std::vector<size_t> Numbers() {
  std::vector<size_t> numbers(AllProbes().is_array() ? AllProbes().size() : 0);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  return numbers;
}

INSTANTIATE_TEST_SUITE_P(All, HostileValues, testing::ValuesIn(Numbers()), [](const auto& info) {
  return AllProbes()[info.param]["name"].template get<std::string>();
});

}  // namespace
}  // namespace tvmvm
