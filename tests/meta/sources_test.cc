// What holds for every source file.
#include <gtest/gtest.h>

#include <regex>

#include "tests/meta/source_files.h"

namespace tvmvm::meta {
namespace {

bool IsLibrary(const std::string& file) {
  return !file.starts_with("cli/") && !file.starts_with("tests/") && !file.starts_with("examples/");
}

// The code of a line, without its comment and its string literals.
std::string CodeOf(const std::string& line) {
  static const std::regex literal(R"("([^"\\]|\\.)*")");
  std::string code = std::regex_replace(line, literal, "\"\"");
  return code.substr(0, code.find("//"));
}

TEST(SourcesTest, FilesStaySmall) {
  constexpr size_t kMostLines = 700;
  for (const std::string& file : SourceFiles())
    EXPECT_LE(ReadLines(SourceRoot() / file).size(), kMostLines) << file;
}

TEST(SourcesTest, LibrariesDoNotPrintExitOrThrow) {
  static const std::regex forbidden(
      R"(std::(cout|cerr|clog|abort|exit|terminate)\b|(^|[^\w.>:])(printf|puts|fprintf|putchar|abort|exit|_exit)\s*\(|\bthrow\b|#\s*include\s+<iostream>)");
  for (const std::string& file : SourceFiles()) {
    if (!IsLibrary(file)) continue;
    std::vector<std::string> lines = ReadLines(SourceRoot() / file);
    for (size_t i = 0; i < lines.size(); ++i)
      EXPECT_FALSE(std::regex_search(CodeOf(lines[i]), forbidden))
          << file << ":" << i + 1 << ": " << lines[i];
  }
}

TEST(SourcesTest, HeadersAreGuarded) {
  for (const std::string& file : SourceFiles()) {
    if (!file.ends_with(".h")) continue;
    std::string text = ReadText(SourceRoot() / file);
    bool guarded =
        text.find("#pragma once") != std::string::npos || text.find("#ifndef ") != std::string::npos;
    EXPECT_TRUE(guarded) << file;
  }
}

TEST(SourcesTest, NamesSayWhatIsInside) {
  static const std::regex vague(R"((^|[/_])(utils?|helpers?|common|misc|manager)([_.]|$))");
  for (const std::string& file : SourceFiles()) EXPECT_FALSE(std::regex_search(file, vague)) << file;
}

TEST(SourcesTest, NothingIsLeftUnfinished) {
  static const std::regex unfinished(R"(\b(TO)(DO)\b|\b(FIX)(ME)\b|\bX{3}\b)");
  for (const std::string& file : SourceFiles())
    EXPECT_FALSE(std::regex_search(ReadText(SourceRoot() / file), unfinished)) << file;
}

}  // namespace
}  // namespace tvmvm::meta
