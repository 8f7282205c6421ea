// Nobody but the operators themselves knows them by name: what passes, schedules and placement ask of an
// operator is in its row (compiler/graph/core_op.h). Making a node by its operator's name is no question.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/meta/source_files.h"

namespace tvmvm::meta {
namespace {

// The operators' own files.
constexpr std::string_view kOwnFiles = "compiler/graph/core/";

// The names in the rows of core operators.
std::set<std::string> OperatorNames() {
  const std::regex pattern(R"re((?:\.name = |Row<ExprOp::\w+>\(\s*)"(\w+)")re");
  std::set<std::string> names;
  for (const std::string& file : FilesBelow("compiler/graph/core", {".cc"})) {
    const std::string text = ReadText(SourceRoot() / file);
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
      names.insert((*at)[1]);
  }
  return names;
}

std::string WithoutComments(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(//[^\n]*)"), "");
}

std::string Around(const std::string& text, std::ptrdiff_t at) {
  size_t begin = text.rfind('\n', static_cast<size_t>(at)) + 1,
         end = text.find('\n', static_cast<size_t>(at));
  return text.substr(begin, end - begin);
}

void FindAll(const std::string& text, const std::regex& pattern, std::vector<std::string>* found) {
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    found->push_back(Around(text, at->position()));
}

// Lines that ask for an operator's name.
std::vector<std::string> Questions(const std::string& source, const std::set<std::string>& names) {
  const std::string text = WithoutComments(source);
  std::vector<std::string> found;
  // The name of a node's operator, compared, searched for, or kept to be compared.
  static const std::regex kPatterns[] = {
      std::regex(R"(\bop(\(\))?(->|\.)name\s*(==|!=|\.\w+\())"),
      std::regex(R"((==|!=)\s*[\w.>()-]*\bop(\(\))?(->|\.)name\b)"),
      std::regex(
          R"(\b(find|count|contains|at|compare|any_of|equal)\((?:[^;()]|\([^()]*\))*\bop(->|\.)name\b)"),
      std::regex(R"(\b(auto|string|string_view)&?\s+\w+\s*=\s*[\w.>()-]*\bop(->|\.)name\s*;)"),
  };
  for (const std::regex& pattern : kPatterns) FindAll(text, pattern, &found);
  // What is called a name or an operator, compared with one. (Values of attributes have the same words:
  // modes, kinds.)
  static const std::regex kCompared(R"re(\b(?:\w*name|op\w*)\s*(?:==|!=)\s*"(\w+)")re");
  for (std::sregex_iterator at(text.begin(), text.end(), kCompared), end; at != end; ++at)
    if (names.contains((*at)[1])) found.push_back(Around(text, at->position(1)));
  // A list of nothing but names.
  static const std::regex kList(R"re(\{\s*"\w+"(\s*,\s*"\w+")+\s*,?\s*\})re"), kWord("\"(\\w+)\"");
  for (std::sregex_iterator list(text.begin(), text.end(), kList), end; list != end; ++list) {
    const std::string words = list->str();
    bool all = true;
    for (std::sregex_iterator word(words.begin(), words.end(), kWord); word != end; ++word)
      all = all && names.contains((*word)[1]);
    if (all) found.push_back(Around(text, list->position()));
  }
  return found;
}

TEST(OperatorNames, AreAskedForByNobody) {
  const std::set<std::string> names = OperatorNames();
  ASSERT_TRUE(names.contains("slice") && names.contains("add") && names.size() > 80) << names.size();
  for (const std::string& file : FilesBelow("compiler", {".h", ".cc"})) {
    if (file.starts_with(kOwnFiles)) continue;
    for (const std::string& line : Questions(ReadText(SourceRoot() / file), names))
      ADD_FAILURE() << file << " asks for an operator's name; a trait of its row should tell:\n" << line;
  }
}

TEST(OperatorNames, QuestionsAreFound) {
  const std::set<std::string> names{"slice", "add", "max"};
  for (const char* line : {
           "  if (node.op->name != \"slice\") return;",
           "  if (node->op->name.starts_with(\"scatter_\")) return;",
           "  if (\"slice\" == node.op->name) return;",
           "  std::string_view name = node.op->name;",
           "  return kCheap.contains(node.op->name);",
           "  return std::find(std::begin(kCheap), std::end(kCheap), node.op->name) != std::end(kCheap);",
           "  if (name == \"add\") return 1;",
           "  constexpr std::string_view kCheap[] = {\"add\", \"max\"};",
       })
    EXPECT_EQ(Questions(line, names).empty(), false) << line;
  for (const char* line : {
           "  b.Emit(node.op->name, inputs);",
           "  // node.op->name == \"slice\"",
           "  if (node.String(\"kind\") == \"max\") return 1;",
           "  kernel.name += node.op->name;",
           "  if (name == \"elements\") return 1;",
           "  constexpr std::string_view kModes[] = {\"add\", \"other\"};",
           "  b.Emit(\"add\", {a, b});",
       })
    EXPECT_THAT(Questions(line, names), testing::IsEmpty()) << line;
}

}  // namespace
}  // namespace tvmvm::meta
