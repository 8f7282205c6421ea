#include "compiler/onnx/importer/import_report.h"

#include <fmt/core.h>

#include <algorithm>

namespace tvmvm::ir {
namespace {

constexpr size_t kShown = 10;  // nodes or malformed nodes named one by one

std::string NodeList(const std::vector<std::string>& nodes) {
  std::string list;
  for (size_t i = 0; i < std::min(nodes.size(), kShown); ++i)
    list += fmt::format("{}'{}'", i == 0 ? "" : ", ", nodes[i]);
  if (nodes.size() > kShown) list += fmt::format(" and {} more", nodes.size() - kShown);
  return list;
}

}  // namespace

void ImportReport::Malformed(const std::string& node, const std::string& op_type, const std::string& reason) {
  malformed_.push_back(fmt::format("node '{}' ({}): {}", node, op_type, reason));
}

Error ImportReport::ToError() const {
  std::string text;
  size_t shown = std::min(malformed_.size(), kShown);
  for (size_t i = 0; i < shown; ++i) text += fmt::format("{}{}", i == 0 ? "" : "\n", malformed_[i]);
  if (malformed_.size() > shown)
    text += fmt::format("\nand {} more malformed nodes", malformed_.size() - shown);
  for (const auto& [what, nodes] : unsupported_) {
    text += fmt::format("{}{} is not supported: node{} {}", text.empty() ? "" : "\n", what,
                        nodes.size() == 1 ? "" : "s", NodeList(nodes));
  }
  return {malformed_.empty() ? Code::kUnsupported : Code::kInvalidArgument, text};
}

}  // namespace tvmvm::ir
