// What holds for every source file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

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

// The lines of the libraries whose code matches, as "file:line: text".
std::vector<std::string> LibraryLines(const std::regex& pattern, const std::set<std::string>& exceptions) {
  std::vector<std::string> found;
  for (const std::string& file : SourceFiles()) {
    if (!IsLibrary(file) || exceptions.contains(file)) continue;
    std::vector<std::string> lines = ReadLines(SourceRoot() / file);
    for (size_t i = 0; i < lines.size(); ++i)
      if (std::regex_search(lines[i], pattern) && std::regex_search(CodeOf(lines[i]), pattern))
        found.push_back(file + ":" + std::to_string(i + 1) + ": " + lines[i]);
  }
  return found;
}

TEST(SourcesTest, LibrariesDoNotPrintOrExit) {
  static const std::regex pattern(
      R"(std::(cout|cerr|clog|abort|exit|terminate)\b|(^|[^\w.>:])(printf|puts|fprintf|putchar|abort|exit|_exit)\s*\(|#\s*include\s+<iostream>)");
  EXPECT_THAT(LibraryLines(pattern, {}), ::testing::IsEmpty());
}

TEST(SourcesTest, TheEnvironmentIsReadInTwoPlaces) {
  const std::set<std::string> places = {"devices/device_list.cc", "devices/driver/cache_folder.cc"};
  EXPECT_THAT(LibraryLines(std::regex(R"(getenv\s*\(|\benviron\b)"), places), ::testing::IsEmpty());
  for (const std::string& place : places)
    EXPECT_FALSE(std::regex_search(ReadText(SourceRoot() / place), std::regex(R"([^_]getenv\s*\()")))
        << place;
}

TEST(SourcesTest, LibrariesThrowOnlyWhereTheFolderCatches) {
  const std::set<std::string> exceptions = {
      "allocator/host_memory.cc",  // an allocator for standard containers: their protocol
      "bytecode/guarded.cc",       // looks at what was caught
      // protozero throws on malformed input, and so do its readers; all is caught where the importer begins.
      "compiler/onnx/model/onnx_model.cc", "compiler/onnx/model/onnx_tensor.cc",
      "compiler/onnx/model/onnx_type.cc", "serializer/protobuf.h",
      "isolated_compiler/messages.cc",  // the same, caught there
  };
  EXPECT_THAT(LibraryLines(std::regex(R"(\bthrow\b)"), exceptions), ::testing::IsEmpty());
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

// A file whose name holds spaces or signs is what a slip of a shell left behind.
TEST(SourcesTest, NamesArePlain) {
  static const std::regex plain(R"([A-Za-z0-9._-]+)");
  std::vector<std::string> odd;
  for (const auto& entry : std::filesystem::directory_iterator(SourceRoot())) {
    std::string name = entry.path().filename().string();
    if (!std::regex_match(name, plain)) odd.push_back(name);
  }
  for (const std::string& file : SourceFiles())
    if (!std::regex_match(std::filesystem::path(file).filename().string(), plain)) odd.push_back(file);
  EXPECT_THAT(odd, ::testing::IsEmpty());
}

TEST(SourcesTest, NamesSayWhatIsInside) {
  static const std::regex vague(R"((^|/)(common)([_.]|$)|(^|[/_])(utils?|helpers?|misc|manager)([_.]|$))");
  for (const std::string& file : SourceFiles()) EXPECT_FALSE(std::regex_search(file, vague)) << file;
}

TEST(SourcesTest, NothingIsLeftUnfinished) {
  static const std::regex unfinished(R"(\b(TO)(DO)\b|\b(FIX)(ME)\b|\bX{3}\b)");
  for (const std::string& file : SourceFiles())
    EXPECT_FALSE(std::regex_search(ReadText(SourceRoot() / file), unfinished)) << file;
}

}  // namespace
}  // namespace tvmvm::meta
