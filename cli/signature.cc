#include "cli/signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/random_data.h"
#include "cli/value_files.h"
#include "cli/value_text.h"

namespace tvmvm::cli {
namespace {

std::string InputNames(const FunctionSpec& main) {
  std::vector<std::string> names;
  for (const ParameterSpec& input : main.inputs) names.push_back(input.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// The dims for a random input: as asked for, else from the signature, --dim, and 1.
Expected<Shape> RandomShape(const ParameterSpec& input, const InputSpec& spec, const DimBounds& bounds) {
  if (spec.dims) {
    if (spec.dims->size() > kMaxRank)
      return MakeError(Code::kInvalidArgument, fmt::format("input '{}': {} dims, at most {}", input.name,
                                                           spec.dims->size(), kMaxRank));
    return Shape(*spec.dims);
  }
  Shape shape;
  if (input.type.dims.size() > kMaxRank)
    return MakeError(Code::kUnsupported, fmt::format("input '{}': {} dims, at most {}", input.name,
                                                     input.type.dims.size(), kMaxRank));
  for (const DimSpec& dim : input.type.dims) {
    auto given = bounds.find(dim.symbol);
    if (dim.value >= 0) {
      shape.push_back(dim.value);
    } else if (!dim.symbol.empty() && given != bounds.end()) {
      shape.push_back(given->second.low);
    } else {
      shape.push_back(std::clamp<int64_t>(1, dim.low, dim.high));
    }
  }
  return shape;
}

Expected<Value> MakeInput(const ParameterSpec& input, const InputSpec& spec, const DimBounds& bounds,
                          uint64_t seed, int64_t max_bytes) {
  if (!spec.path.empty()) return ReadValueFile(spec.path, input.type, max_bytes);
  const TypeSpec& type = input.type;
  if (spec.absent) {
    if (type.kind == ValueKind::kOptional) return Value();
    return MakeError(Code::kInvalidArgument,
                     fmt::format("input '{}' is {}, which cannot be none", input.name, FormatType(type)));
  }
  if (type.kind == ValueKind::kOptional)
    return MakeInput({input.name, type.elements[0]}, spec, bounds, seed, max_bytes);
  if (type.kind == ValueKind::kSequence) {
    constexpr uint64_t kElements = 3;
    std::vector<Value> elements;
    for (uint64_t i = 0; i < kElements; ++i) {
      TVMVM_TRY(Value element, MakeInput({input.name, type.elements[0]}, spec, bounds, seed + i, max_bytes));
      elements.push_back(std::move(element));
    }
    return Value::Sequence(std::move(elements));
  }
  if (type.kind != ValueKind::kTensor)
    return MakeError(Code::kUnsupported, fmt::format("input '{}' is {}, which is not made at random",
                                                     input.name, FormatType(type)));
  TVMVM_TRY(Shape shape, RandomShape(input, spec, bounds));
  TVMVM_TRY(Tensor tensor, MakeRandomTensor(type.dtype, shape, seed));
  return Value(std::move(tensor));
}

// The spec for each input, by name where one was given and else in order.
Expected<std::vector<InputSpec>> AssignInputs(const FunctionSpec& main, const std::vector<InputSpec>& given) {
  std::vector<const InputSpec*> assigned(main.inputs.size(), nullptr);
  auto place = [&](size_t index, const InputSpec& spec) -> Status {
    if (assigned[index])
      return MakeError(Code::kInvalidArgument,
                       fmt::format("input '{}' is given twice", main.inputs[index].name));
    assigned[index] = &spec;
    return {};
  };
  for (const InputSpec& spec : given) {
    if (spec.name.empty()) continue;
    auto found = std::ranges::find(main.inputs, spec.name, &ParameterSpec::name);
    if (found == main.inputs.end())
      return MakeError(Code::kInvalidArgument, fmt::format("the model has no input '{}'; its inputs are: {}",
                                                           spec.name, InputNames(main)));
    TVMVM_CHECK_OK(place(found - main.inputs.begin(), spec));
  }
  size_t next = 0;
  for (const InputSpec& spec : given) {
    if (!spec.name.empty()) continue;
    while (next < assigned.size() && assigned[next]) ++next;
    if (next == assigned.size())
      return MakeError(Code::kInvalidArgument,
                       fmt::format("{} inputs are given, the model takes {}: {}", given.size(),
                                   main.inputs.size(), InputNames(main)));
    TVMVM_CHECK_OK(place(next, spec));
  }
  std::vector<InputSpec> result;
  for (size_t i = 0; i < assigned.size(); ++i) {
    if (!assigned[i] && !given.empty())
      return MakeError(Code::kInvalidArgument, fmt::format("input '{}' ({}) is missing", main.inputs[i].name,
                                                           FormatType(main.inputs[i].type)));
    result.push_back(assigned[i] ? *assigned[i] : InputSpec{});
  }
  return result;
}

// A --dim that names no dimension of the inputs is a slip of the pen.
Status CheckDimNames(const FunctionSpec& main, const DimBounds& bounds) {
  for (const auto& [name, bound] : bounds) {
    bool known = std::ranges::any_of(main.inputs, [&name = name](const ParameterSpec& input) {
      return std::ranges::any_of(input.type.dims, [&](const DimSpec& dim) { return dim.symbol == name; });
    });
    if (!known)
      return MakeError(Code::kInvalidArgument,
                       fmt::format("the model's inputs have no dimension named '{}'", name));
  }
  return {};
}

}  // namespace

Expected<std::vector<Value>> MakeInputs(const FunctionSpec& main, const InputArguments& arguments,
                                        int64_t max_bytes) {
  TVMVM_CHECK_OK(CheckDimNames(main, arguments.dims));
  TVMVM_TRY(std::vector<InputSpec> specs, AssignInputs(main, arguments.inputs));
  std::vector<Value> inputs;
  for (size_t i = 0; i < main.inputs.size(); ++i) {
    constexpr uint64_t kSeedStep = 0x2545f4914f6cdd1du;  // so that inputs differ from each other
    TVMVM_TRY(Value input, MakeInput(main.inputs[i], specs[i], arguments.dims,
                                     arguments.seed + kSeedStep * (i + 1), max_bytes));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace tvmvm::cli
