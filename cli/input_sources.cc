#include "cli/input_sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/data_set.h"
#include "cli/npz.h"
#include "cli/spelling.h"
#include "cli/value_text.h"

namespace tvmvm::cli {
namespace {

std::string InputNames(const FunctionSpec& main) {
  std::vector<std::string> names;
  for (const ParameterSpec& input : main.inputs) names.push_back(input.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Hands out the inputs of a signature, by name where one was given and else in order.
class Assignment {
 public:
  explicit Assignment(const FunctionSpec& main) : main_(main), sources_(main.inputs.size()) {}

  Status Place(size_t index, InputSource source) {
    if (sources_[index])
      return MakeError(Code::kInvalidArgument,
                       fmt::format("input '{}' is given twice", main_.inputs[index].name));
    sources_[index] = std::move(source);
    return {};
  }

  Status PlaceNamed(const InputSpec& spec) {
    if (std::optional<size_t> index = Find(spec.name)) return Place(*index, {spec, {}});
    // Names may hold '=': the first that is one ends where the value begins.
    for (size_t at = spec.name.size() + 1; (at = spec.text.find('=', at)) != std::string::npos; ++at) {
      std::optional<size_t> index = Find(spec.text.substr(0, at));
      if (!index) continue;
      TVMVM_TRY(InputSpec longer,
                ParseInput(main_.inputs[*index].name, std::string_view(spec.text).substr(at + 1)));
      return Place(*index, {std::move(longer), {}});
    }
    return MakeError(Code::kInvalidArgument,
                     fmt::format("the model has no input '{}'{}; its inputs are: {}", spec.name,
                                 DidYouMean(spec.name, Names()), InputNames(main_)));
  }

  Status PlaceNext(const InputSpec& spec, size_t given) {
    while (next_ < sources_.size() && sources_[next_]) ++next_;
    if (IsDataSet(spec.path)) return PlaceDataSet(spec.path);
    if (spec.path.ends_with(".npz") && !(next_ < sources_.size() && IsSequence(main_.inputs[next_].type)))
      return PlaceArchive(spec.path);
    if (next_ == sources_.size())
      return MakeError(Code::kInvalidArgument, fmt::format("{} inputs are given, the model takes {}: {}",
                                                           given, main_.inputs.size(), InputNames(main_)));
    return Place(next_, {spec, {}});
  }

  std::vector<std::optional<InputSource>> Take() { return std::move(sources_); }

 private:
  std::optional<size_t> Find(const std::string& name) const {
    auto found = std::ranges::find(main_.inputs, name, &ParameterSpec::name);
    if (found == main_.inputs.end()) return std::nullopt;
    return static_cast<size_t>(found - main_.inputs.begin());
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const ParameterSpec& input : main_.inputs) names.push_back(input.name);
    return names;
  }
  static bool IsSequence(const TypeSpec& type) {
    if (type.kind == ValueKind::kOptional && !type.elements.empty()) return IsSequence(type.elements[0]);
    return type.kind == ValueKind::kSequence;
  }

  Status PlaceDataSet(const std::string& folder) {
    TVMVM_TRY(auto values, ReadDataSet(main_.inputs, folder, "input"));
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i]) TVMVM_CHECK_OK(Place(i, {{.path = folder}, std::move(values[i])}));
    return {};
  }

  // Arrays of the inputs' names; arr_0, arr_1, ... and the like are the inputs in order.
  Status PlaceArchive(const std::string& path) {
    TVMVM_TRY(std::vector<std::string> names, ArraysInNpz(path));
    const bool in_order =
        std::ranges::none_of(names, [&](const std::string& name) { return Find(name).has_value(); });
    for (size_t i = 0; i < names.size(); ++i) {
      const size_t index = in_order ? i : Find(names[i]).value_or(main_.inputs.size());
      if (index >= main_.inputs.size())
        return MakeError(Code::kInvalidArgument,
                         fmt::format("'{}': the model has no input '{}'; its inputs are: {}", path, names[i],
                                     InputNames(main_)));
      TVMVM_CHECK_OK(Place(index, {{.path = path, .entry = names[i]}, {}}));
    }
    return {};
  }

  const FunctionSpec& main_;
  std::vector<std::optional<InputSource>> sources_;
  size_t next_ = 0;
};

}  // namespace

Expected<std::vector<InputSource>> AssignInputs(const FunctionSpec& main,
                                                const std::vector<InputSpec>& given) {
  Assignment assignment(main);
  for (const InputSpec& spec : given)
    if (!spec.name.empty()) TVMVM_CHECK_OK(assignment.PlaceNamed(spec));
  for (const InputSpec& spec : given)
    if (spec.name.empty()) TVMVM_CHECK_OK(assignment.PlaceNext(spec, given.size()));
  std::vector<InputSource> sources;
  size_t index = 0;
  for (std::optional<InputSource>& source : assignment.Take()) {
    const ParameterSpec& input = main.inputs[index++];
    if (!source && !given.empty())
      return MakeError(Code::kInvalidArgument,
                       fmt::format("input '{}' ({}) is missing", input.name, FormatType(input.type)));
    sources.push_back(source ? *std::move(source) : InputSource{});
  }
  return sources;
}

}  // namespace tvmvm::cli
