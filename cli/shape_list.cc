#include "cli/shape_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace tvmvm::cli {
namespace {

Status Take(const std::string& word, const std::vector<std::string>& dims, InputArguments* inputs) {
  const std::string name = word.substr(0, word.find('='));
  if (std::ranges::find(dims, name) != dims.end()) {
    TVMVM_TRY(auto dim, ParseDim(word));
    if (dim.second.low != dim.second.high)
      return MakeError(Code::kInvalidArgument, fmt::format("'{}': one number is wanted here, NAME=N", word));
    inputs->dims[dim.first] = dim.second;
    return {};
  }
  TVMVM_TRY(InputSpec spec, ParseInput(word));
  std::erase_if(inputs->inputs,
                [&](const InputSpec& other) { return !spec.name.empty() && other.name == spec.name; });
  inputs->inputs.push_back(std::move(spec));
  return {};
}

}  // namespace

Expected<std::vector<ShapeLine>> ParseShapes(std::string_view text, const InputArguments& base,
                                             const std::vector<std::string>& dims) {
  std::vector<ShapeLine> shapes;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    ShapeLine shape{.inputs = base};
    for (std::string word; words >> word;) {
      shape.text += (shape.text.empty() ? "" : " ") + word;
      if (Status status = Take(word, dims, &shape.inputs); !status)
        return MakeError(status.error().code, fmt::format("line {}: {}", number, status.error().message));
    }
    if (!shape.text.empty()) shapes.push_back(std::move(shape));
  }
  if (shapes.empty())
    return MakeError(Code::kInvalidArgument, "it has no line with a shape, as in batch=1 seq=128");
  return shapes;
}

}  // namespace tvmvm::cli
