// ONNX models: refused, or compiled, with all passes and with as few as there may be, into programs that run
// under limits with their kernels, and that give the same results.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "cli/compare.h"
#include "cli/signature.h"
#include "tests/fuzz/run_program.h"
#include "tests/fuzz/targets/target.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm::fuzz {
namespace {

using ProgramPointer = std::shared_ptr<const Program>;

// Where two roundings of a number may lie on both sides of a step, results are different ones and both are
// right: of models with these operators types and shapes alone are compared. Random numbers are not among
// them, they are the same with and without passes (docs/random_numbers.md), but what draws by probabilities
// is.
constexpr std::array<std::string_view, 14> kSteps = {
    "ArgMax",         "ArgMin",  "Bernoulli", "Ceil",       "DynamicQuantizeLinear",
    "Floor",          "Hardmax", "Mod",       "Round",      "NonMaxSuppression",
    "QuantizeLinear", "TopK",    "Unique",    "Multinomial"};

// As a node of an ONNX file names its operator.
bool HasSteps(std::string_view model) {
  return std::ranges::any_of(kSteps, [&](std::string_view name) {
    const std::string field = {'\x22', static_cast<char>(name.size())};
    return model.find(field + std::string(name)) != model.npos;
  });
}

// Sums of numbers of very different sizes depend on their order, and what is not finite or close to nothing
// on more than that.
template <class T>
bool IsTame(std::span<const std::byte> bytes) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    const T size = std::fabs(number);
    if (!(size == 0 || std::isinf(size) || (size > T(1e-30) && size < T(1e4)))) return false;
  }
  return true;
}
bool HasTameConstants(const Program& program) {
  return std::ranges::all_of(program.constants, [](const ConstantSpec& constant) {
    if (constant.dtype == DType::kF32) return IsTame<float>(constant.bytes);
    if (constant.dtype == DType::kF64) return IsTame<double>(constant.bytes);
    return constant.dtype != DType::kBF16 && !IsComplex(constant.dtype);
  });
}

// Inputs of the signature, whose dims that have names are `size`. None where there are none within limits.
std::vector<Value> InputsFor(const FunctionSpec& main, int64_t size) {
  cli::InputArguments arguments;
  for (const ParameterSpec& input : main.inputs)
    for (const DimSpec& dim : input.type.dims)
      if (!dim.symbol.empty()) arguments.dims[dim.symbol] = {size, size};
  auto inputs = cli::MakeInputs(main, arguments, kMostBytes / 4);
  return inputs ? *std::move(inputs) : std::vector<Value>();
}

Expected<std::vector<Value>> RunOnce(const ProgramPointer& program, std::span<const Value> inputs) {
  VmOptions options;
  options.threads = 1;
  TVMVM_TRY(std::shared_ptr<Vm> vm, Vm::Create(program, options));
  Invocation invocation = vm->NewInvocation();
  TVMVM_CHECK_OK(invocation.SetLimits(RunLimits()));
  std::vector<Value> outputs(program->main().outputs.size());
  TVMVM_CHECK_OK(invocation.Run(inputs, outputs));
  return outputs;
}

// What a limit ends, ends elsewhere in another program.
bool IsLimit(const Error& error) {
  return error.code == Code::kOutOfMemory || error.code == Code::kDeadlineExceeded ||
         error.code == Code::kUnsupported;
}

// What the one gives without passes the other one gives, too; what fails there may be what no output needs.
void Compare(const ProgramPointer& with_passes, const ProgramPointer& without, bool shape_only) {
  for (const int64_t size : {1, 3}) {
    const std::vector<Value> inputs = InputsFor(without->main(), size);
    if (inputs.size() != without->main().inputs.size()) return;
    const auto want = RunOnce(without, inputs);
    if (!want) continue;
    const auto got = RunOnce(with_passes, inputs);
    if (!got && IsLimit(got.error())) continue;
    Require(got.has_value(), "passes make it fail:", got ? "" : got.error().message.c_str());
    Require(got->size() == want->size(), "passes change the number of outputs");
    const cli::Tolerance tolerance{.rtol = 1e-3, .atol = 1e-4, .of_largest = 1e-4, .shape_only = shape_only};
    for (size_t i = 0; i < want->size(); ++i)
      if (const auto difference = cli::FindDifference((*got)[i], (*want)[i], tolerance))
        Require(false, "passes change a result:", difference->c_str());
  }
}

}  // namespace
}  // namespace tvmvm::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  std::vector<ProgramPointer> programs;
  for (const bool with_passes : {true, false}) {
    CompileOptions options;
    options.targets = {"host"};
    options.threads = 1;
    if (!with_passes) options.disabled_passes = {"all"};
    const auto compiled = GetCompiler().CompileBytes(BytesOf(data, size), options);
    RequireProper(compiled);
    if (!compiled) return 0;
    Choices choices(1);
    if (Status status = RunUnderLimits(compiled->program, choices, false); !status)
      RequireProper(status.error());
    programs.push_back(compiled->program);
  }
  const std::string_view model(reinterpret_cast<const char*>(data), size);
  Compare(programs[0], programs[1], HasSteps(model) || !HasTameConstants(*programs[1]));
  return 0;
}
