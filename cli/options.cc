#include "cli/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

namespace tvmvm::cli {
namespace {

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

bool FileExists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// Splits "NAME=VALUE"; the name is empty where there is no '=' or where the whole text is a file's name.
std::pair<std::string, std::string> SplitName(std::string_view text) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos || FileExists(std::string(text))) return {"", std::string(text)};
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Expected<std::vector<int64_t>> ParseDimList(std::string_view text, std::string_view whole) {
  std::vector<int64_t> dims;
  while (!text.empty()) {
    size_t cross = text.find('x');
    std::string_view part = text.substr(0, cross);
    std::optional<int64_t> dim = ParseInteger(part);
    if (!dim || (cross != std::string_view::npos && cross + 1 == text.size()))
      return MakeError(Code::kInvalidArgument,
                       fmt::format("'{}': dims are numbers joined by 'x', as in random:4x128", whole));
    dims.push_back(*dim);
    if (cross == std::string_view::npos) break;
    text.remove_prefix(cross + 1);
  }
  return dims;
}

}  // namespace

Expected<std::pair<std::string, DimBound>> ParseDim(std::string_view text) {
  size_t equals = text.find('=');
  auto wrong = [&] {
    return MakeError(
        Code::kInvalidArgument,
        fmt::format("'{}': a dimension is given as NAME=N or NAME=LO..HI with 0 <= LO <= HI", text));
  };
  if (equals == std::string_view::npos || equals == 0) return wrong();
  std::string name(text.substr(0, equals));
  std::string_view value = text.substr(equals + 1);
  size_t dots = value.find("..");
  DimBound bound;
  if (dots == std::string_view::npos) {
    std::optional<int64_t> number = ParseInteger(value);
    if (!number) return wrong();
    bound.low = bound.high = *number;
    return std::pair(std::move(name), bound);
  }
  std::string_view low = value.substr(0, dots), high = value.substr(dots + 2);
  if (low.empty() && high.empty()) return wrong();
  if (!low.empty()) {
    std::optional<int64_t> number = ParseInteger(low);
    if (!number) return wrong();
    bound.low = *number;
  }
  if (!high.empty()) {
    std::optional<int64_t> number = ParseInteger(high);
    if (!number) return wrong();
    bound.high = *number;
  }
  if (bound.low > bound.high) return wrong();
  return std::pair(std::move(name), bound);
}

Expected<InputSpec> ParseInput(std::string_view text) {
  auto [name, value] = SplitName(text);
  InputSpec spec{.name = name};
  constexpr std::string_view kRandom = "random";
  if (value == kRandom && !FileExists(value)) return spec;
  if (value == "none" && !FileExists(value)) {
    spec.absent = true;
    return spec;
  }
  if (value.starts_with("random:")) {
    TVMVM_TRY(auto dims, ParseDimList(std::string_view(value).substr(kRandom.size() + 1), text));
    spec.dims = std::move(dims);
    return spec;
  }
  if (value.empty())
    return MakeError(Code::kInvalidArgument,
                     fmt::format("'{}': an input is given as FILE, NAME=FILE or NAME=random:4x128", text));
  spec.path = value;
  return spec;
}

Expected<std::pair<std::string, std::string>> ParseDonation(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
    return MakeError(Code::kInvalidArgument,
                     fmt::format("'{}': an input's memory is donated as INPUT=OUTPUT", text));
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

Expected<Expectation> ParseExpectation(std::string_view text) {
  auto [name, path] = SplitName(text);
  if (path.empty())
    return MakeError(Code::kInvalidArgument,
                     fmt::format("'{}': an expected output is given as NAME=FILE or FILE", text));
  return Expectation{.name = name, .path = path};
}

}  // namespace tvmvm::cli
