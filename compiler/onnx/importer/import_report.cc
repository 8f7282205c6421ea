#include "compiler/onnx/importer/import_report.h"

#include <fmt/core.h>

#include <algorithm>

namespace tvmvm::ir {
namespace {

constexpr size_t kShown = 10;  // nodes or malformed nodes named one by one

std::string ListText(const std::vector<std::string>& texts) {
  std::string list;
  for (size_t i = 0; i < std::min(texts.size(), kShown); ++i)
    list += fmt::format("{}{}", i == 0 ? "" : ", ", texts[i]);
  if (texts.size() > kShown) list += fmt::format(" and {} more", texts.size() - kShown);
  return list;
}

}  // namespace

void ImportReport::Malformed(const std::string& node, const std::string& op_type, const std::string& reason) {
  malformed_.push_back(fmt::format("node '{}' ({}): {}", node, op_type, reason));
}

void ImportReport::Add(Remarks* remarks, const std::string& what, const std::string& whom) {
  auto [at, is_new] = remarks->index.emplace(what, remarks->list.size());
  if (is_new) remarks->list.push_back({what, {}, {}});
  Remark& remark = remarks->list[at->second];
  if (!whom.empty() && remark.seen.insert(whom).second) remark.whom.push_back(whom);
}

std::string ImportReport::TextOf(const Remark& remark) {
  return remark.whom.empty() ? remark.what : fmt::format("{}: {}", remark.what, ListText(remark.whom));
}

std::vector<std::string> ImportReport::Warnings() const {
  std::vector<std::string> texts;
  for (const Remarks* remarks : {&assumed_, &noted_})
    for (const Remark& remark : remarks->list) texts.push_back(TextOf(remark));
  return texts;
}

Error ImportReport::ToError(bool strict) const {
  std::string text;
  auto add = [&](const std::string& line) { text += fmt::format("{}{}", text.empty() ? "" : "\n", line); };
  size_t shown = std::min(malformed_.size(), kShown);
  for (size_t i = 0; i < shown; ++i) add(malformed_[i]);
  if (malformed_.size() > shown) add(fmt::format("and {} more malformed nodes", malformed_.size() - shown));
  for (const auto& [what, nodes] : unsupported_)
    add(fmt::format("{} is not supported: node{} {}", what, nodes.size() == 1 ? "" : "s", ListText(nodes)));
  bool is_broken = strict && has_assumptions();
  for (const Remark& remark : assumed_.list)
    if (is_broken) add(fmt::format("not as ONNX wants it: {}", TextOf(remark)));
  return {malformed_.empty() && !is_broken ? Code::kUnsupported : Code::kInvalidArgument, text};
}

}  // namespace tvmvm::ir
