#include "cli/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>

#include "cli/json_values.h"

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

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
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

// What stands behind "random:": DIMS, LO..HI or DIMS:LO..HI.
Status ParseRandom(std::string_view text, InputSpec* spec) {
  const size_t colon = text.find(':'), dots = text.find("..");
  const bool has_dims = dots == std::string_view::npos || colon < dots;
  if (has_dims) {
    TVMVM_TRY(auto dims, ParseDimList(text.substr(0, colon), spec->text));
    spec->dims = std::move(dims);
    if (colon == std::string_view::npos) return {};
    text.remove_prefix(colon + 1);
  }
  const size_t middle = text.find("..");
  std::optional<double> low, high;
  if (middle != std::string_view::npos) {
    low = ParseNumber(text.substr(0, middle));
    high = ParseNumber(text.substr(middle + 2));
  }
  if (!low || !high || *low >= *high)
    return MakeError(
        Code::kInvalidArgument,
        fmt::format("'{}': a range is LO..HI with LO < HI, as in random:1x128:0..30522", spec->text));
  spec->range = ValueRange{*low, *high};
  return {};
}

// A path; behind that of a raw file may stand its dims.
Status ParsePath(std::string_view value, InputSpec* spec) {
  const size_t colon = value.rfind(".bin:");
  if (colon != std::string_view::npos) {
    TVMVM_TRY(auto dims, ParseDimList(value.substr(colon + 5), spec->text));
    spec->dims = std::move(dims);
    value = value.substr(0, colon + 4);
  }
  spec->path = value;
  return {};
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

Expected<InputSpec> ParseInput(std::string_view name, std::string_view value) {
  InputSpec spec{.name = std::string(name)};
  spec.text = name.empty() ? std::string(value) : fmt::format("{}={}", name, value);
  if (value.empty())
    return MakeError(
        Code::kInvalidArgument,
        fmt::format("'{}': an input is given as FILE, NAME=FILE, NAME=VALUE or NAME=random:4x128",
                    spec.text));
  constexpr std::string_view kRandom = "random";
  if (FileExists(std::string(value))) {
    spec.path = value;
  } else if (value == kRandom) {
    return spec;
  } else if (value == "none") {
    spec.absent = true;
  } else if (value.starts_with("random:")) {
    TVMVM_CHECK_OK(ParseRandom(value.substr(kRandom.size() + 1), &spec));
  } else if (IsLiteral(value)) {
    spec.literal = value;
  } else {
    TVMVM_CHECK_OK(ParsePath(value, &spec));
  }
  return spec;
}

Expected<std::pair<std::string, std::string>> ParseDonation(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
    return MakeError(Code::kInvalidArgument,
                     fmt::format("'{}': an input's memory is donated as INPUT=OUTPUT", text));
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

Expected<InputSpec> ParseInput(std::string_view text) {
  if (text.starts_with('[') || text.starts_with('"')) return ParseInput("", text);
  auto [name, value] = SplitName(text);
  return ParseInput(name, value);
}

Expected<Expectation> ParseExpectation(std::string_view text) {
  auto [name, path] = SplitName(text);
  if (path.empty())
    return MakeError(Code::kInvalidArgument,
                     fmt::format("'{}': an expected output is given as NAME=FILE or FILE", text));
  return Expectation{.name = name, .path = path};
}

}  // namespace tvmvm::cli
