#include "compiler/schedules/schedule_overrides.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

namespace tvmvm::tensor {
namespace {

constexpr std::string_view kAllLevels = "cpu", kGpu = "gpu";
constexpr std::string_view kForm = "entries are FAMILY[WORDS]@TARGET: PARAMETER=VALUE ...";

template <class... Arguments>
tl::unexpected<Error> Wrong(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return MakeError(Code::kInvalidArgument, fmt::format(format, std::forward<Arguments>(arguments)...));
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

std::vector<std::string> WordsIn(std::string_view text) {
  std::vector<std::string> words;
  for (text = Trimmed(text); !text.empty();) {
    const size_t end = std::min(text.find_first_of(" \t"), text.size());
    words.emplace_back(text.substr(0, end));
    text = Trimmed(text.substr(end));
  }
  return words;
}

// Words are divided by single spaces.
bool HasWord(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || text[at - 1] == ' ') && (end == text.size() || text[end] == ' ')) return true;
  }
  return false;
}

bool IsOfGpus(const ScheduleFamily& family) { return std::ranges::count(GpuScheduleFamilies(), &family) > 0; }

Expected<const ScheduleFamily*> FamilyNamed(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ScheduleFamily* family : ScheduleFamilies()) {
    if (family->name == name) return family;
    names.push_back(family->name);
  }
  return Wrong("no family of schedules is named '{}'; there are: {}", name, fmt::join(names, ", "));
}

Status CheckTarget(const ScheduleFamily& family, std::string_view target) {
  std::vector<std::string_view> names{kGpu};
  if (!IsOfGpus(family)) {
    names = {kAllLevels};
    for (CpuLevel level : CpuLevels()) names.emplace_back(CpuLevelName(level));
  }
  if (std::ranges::count(names, target) > 0) return {};
  return Wrong("'{}' has no target '{}'; there are: {}", family.name, target, fmt::join(names, ", "));
}

Expected<std::pair<const ScheduleParameter*, int64_t>> SettingOf(const ScheduleFamily& family,
                                                                 std::string_view target,
                                                                 std::string_view word) {
  const size_t sign = word.find('=');
  if (sign == std::string_view::npos) return Wrong("'{}' sets no parameter; {}", word, kForm);
  const std::string_view name = word.substr(0, sign), value = word.substr(sign + 1);
  const ScheduleParameter* parameter = family.Find(name);
  if (parameter == nullptr) {
    std::vector<std::string_view> names;
    for (const ScheduleParameter& each : family.parameters) names.push_back(each.name);
    return Wrong("'{}' has no parameter '{}'; there are: {}", family.name, name, fmt::join(names, ", "));
  }
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_number = error == std::errc() && end == value.data() + value.size();
  if (!is_number || !parameter->allowed.Contains(number))
    return Wrong("'{}' is {}; allowed is {}", name, value, parameter->allowed.ToString());
  const bool is_level = target != kAllLevels && target != kGpu;
  if (is_level && parameter->scope == ParameterScope::kEveryLevel)
    return Wrong("'{}' is the same at every CPU level: it is set for @{}, not for @{}", name, kAllLevels,
                 target);
  return std::pair(parameter, number);
}

}  // namespace

std::string ScheduleTarget(const TargetInfo& target) {
  return IsGpu(target) ? std::string(kGpu) : CpuLevelName(target.cpu_level);
}

Expected<ScheduleOverrides> ScheduleOverrides::Parse(std::string_view text, std::string_view file) {
  ScheduleOverrides overrides;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    // A word may have a '#' that is none of a remark.
    const size_t remark = line.starts_with('#') ? 0 : line.find(" #");
    line = Trimmed(line.substr(0, remark));
    if (line.empty()) continue;
    const std::string place = fmt::format("{}:{}", file, number);
    Expected<Entry> entry = ParseEntry(line);
    if (!entry) return MakeError(entry.error().code, fmt::format("{}: {}", place, entry.error().message));
    entry->place = place;
    overrides.entries_.push_back(*std::move(entry));
  }
  return overrides;
}

Expected<ScheduleOverrides::Entry> ScheduleOverrides::ParseEntry(std::string_view line) {
  const size_t open = line.find('['), close = line.rfind("]@");
  const size_t colon = close == std::string_view::npos ? close : line.find(':', close);
  if (open == std::string_view::npos || colon == std::string_view::npos || close < open)
    return Wrong("'{}' is no entry; {}", line, kForm);
  Entry entry;
  entry.text = line.substr(0, colon);
  TVMVM_TRY(entry.family, FamilyNamed(Trimmed(line.substr(0, open))));
  entry.words = WordsIn(line.substr(open + 1, close - open - 1));
  entry.target = Trimmed(line.substr(close + 2, colon - close - 2));
  TVMVM_CHECK_OK(CheckTarget(*entry.family, entry.target));
  for (const std::string& word : WordsIn(line.substr(colon + 1))) {
    TVMVM_TRY(auto setting, SettingOf(*entry.family, entry.target, word));
    entry.settings.push_back(setting);
  }
  return entry;
}

bool ScheduleOverrides::Entry::IsFor(std::string_view of) const {
  return target == of || (target == kAllLevels && of != kGpu);
}

bool ScheduleOverrides::Entry::Matches(const ScheduleFamily& of, std::string_view problem) const {
  if (family != &of) return false;
  return std::ranges::all_of(words, [&](const std::string& word) { return HasWord(problem, word); });
}

void ScheduleOverrides::Apply(const ScheduleFamily& family, std::string_view problem,
                              const TargetInfo& target, void* schedule) const {
  const std::string name = ScheduleTarget(target);
  for (const Entry& entry : entries_) {
    if (!entry.IsFor(name) || !entry.Matches(family, problem)) continue;
    for (const auto& [parameter, value] : entry.settings) parameter->set(schedule, value);
  }
}

std::vector<std::string> ScheduleOverrides::Unmatched(const std::vector<TargetSchedule>& chosen) const {
  std::vector<std::string> sentences;
  for (const Entry& entry : entries_) {
    bool has_target = false, matches = false;
    for (const TargetSchedule& kernel : chosen) {
      if (!entry.IsFor(kernel.target)) continue;
      has_target = true;
      matches = matches || entry.Matches(*kernel.schedule.family, kernel.schedule.problem);
    }
    if (has_target && !matches)
      sentences.push_back(fmt::format("{}: no kernel of this model is {}", entry.place, entry.text));
  }
  return sentences;
}

namespace {

// What all kernels of one problem were given, by target.
struct ProblemValues {
  std::map<std::string, std::vector<std::optional<int64_t>>> by_target;

  void Add(const TargetSchedule& kernel) {
    std::vector<std::optional<int64_t>> values(kernel.schedule.values.begin(), kernel.schedule.values.end());
    auto [found, is_new] = by_target.emplace(kernel.target, values);
    for (size_t i = 0; !is_new && i < values.size(); ++i)
      if (found->second[i] != values[i]) found->second[i].reset();
  }
};

std::string Settings(const ScheduleFamily& family, const std::vector<std::optional<int64_t>>& values,
                     std::optional<ParameterScope> scope) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] && (!scope || family.parameters[i].scope == *scope))
      text += fmt::format(" {}={}", family.parameters[i].name, *values[i]);
  return text;
}

}  // namespace

std::string WriteSchedules(const std::vector<TargetSchedule>& chosen) {
  using Problem = std::pair<const ScheduleFamily*, std::string>;
  std::vector<Problem> order;
  std::map<Problem, ProblemValues> problems;
  for (const TargetSchedule& kernel : chosen) {
    Problem problem{kernel.schedule.family, kernel.schedule.problem};
    if (!problems.contains(problem)) order.push_back(problem);
    problems[problem].Add(kernel);
  }
  std::string text;
  for (const Problem& problem : order) {
    const ScheduleFamily& family = *problem.first;
    auto add = [&](std::string_view target, const std::string& settings) {
      if (!settings.empty())
        text += fmt::format("{}[{}]@{}:{}\n", family.name, problem.second, target, settings);
    };
    const auto& by_target = problems[problem].by_target;
    if (IsOfGpus(family)) {
      add(kGpu, Settings(family, by_target.begin()->second, {}));
      continue;
    }
    add(kAllLevels, Settings(family, by_target.begin()->second, ParameterScope::kEveryLevel));
    for (const auto& [target, values] : by_target)
      add(target, Settings(family, values, ParameterScope::kOneLevel));
  }
  return text;
}

}  // namespace tvmvm::tensor
