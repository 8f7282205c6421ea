// The documents: links lead somewhere, the README's commands and options exist, README stays one page.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <regex>
#include <set>

#include "tests/folders.h"
#include "tests/meta/source_files.h"

namespace tvmvm::meta {
namespace {

std::vector<std::string> Documents() {
  std::vector<std::string> documents = FilesBelow("docs", {".md"});
  documents.push_back("README.md");
  documents.push_back("SECURITY.md");
  return documents;
}

std::vector<std::string> MatchesOf(const std::string& text, const char* pattern) {
  std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    found.push_back((*at)[1]);
  return found;
}

// Lines of fenced code blocks.
std::vector<std::string> CodeLines(const std::string& document) {
  std::vector<std::string> lines;
  bool inside = false;
  for (const std::string& line : ReadLines(SourceRoot() / document)) {
    if (line.starts_with("```"))
      inside = !inside;
    else if (inside)
      lines.push_back(line);
  }
  return lines;
}

// Standard output of a command, or "" where it fails.
std::string OutputOf(const std::string& command) {
  FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  std::string text;
  for (char buffer[4096]; size_t got = fread(buffer, 1, sizeof(buffer), pipe);) text.append(buffer, got);
  int status = pclose(pipe);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "";
}

TEST(DocsTest, LinksLeadSomewhere) {
  for (const std::string& document : Documents()) {
    auto folder = (SourceRoot() / document).parent_path();
    for (std::string target : MatchesOf(ReadText(SourceRoot() / document), R"(\]\(([^)#]+)(#[^)]*)?\))")) {
      if (target.starts_with("http")) continue;
      EXPECT_TRUE(std::filesystem::exists(folder / target)) << document << " links to " << target;
    }
  }
}

// Whatever names the null device is a place that a new device joins: the list of them is complete.
TEST(DocsTest, AddingADeviceNamesEveryPlace) {
  const std::string document = ReadText(SourceRoot() / "docs/adding_a_device.md");
  std::vector<std::string> files = SourceFiles();
  for (std::string& file : FilesBelow("include", {".h"})) files.push_back(std::move(file));
  for (const char* file : {"CMakeLists.txt", "cmake/install.cmake", "tests/devices/CMakeLists.txt"})
    files.emplace_back(file);
  static const std::regex names_null(R"re(\bkNull\b|devices/null|"null", \{|vulkan, null|opencl vulkan)re");
  int places = 0;
  for (const std::string& file : files) {
    if (file.starts_with("devices/null/") || file.starts_with("tests/fuzz/") ||
        (file.starts_with("tests/") && file.ends_with("_test.cc")))
      continue;
    if (file == "tests/devices/null_conformance.cc") continue;
    if (!std::regex_search(ReadText(SourceRoot() / file), names_null)) continue;
    ++places;
    EXPECT_NE(document.find('`' + file + '`'), std::string::npos) << file << " names the null device";
  }
  EXPECT_GE(places, 5);
}

TEST(DocsTest, ReadmeIsOnePage) { EXPECT_LE(ReadLines(SourceRoot() / "README.md").size(), 120u); }

TEST(DocsTest, CommandsOfTheToolExist) {
  std::set<std::string> checked;
  for (const std::string& document : Documents()) {
    for (const std::string& line : CodeLines(document)) {
      std::smatch match;
      if (!std::regex_search(line, match, std::regex(R"(^(?:build/)?tvm-vm ([a-z]+)(.*))"))) continue;
      std::string command = match[1], rest = match[2];
      std::string help = OutputOf(BuildPath("tvm-vm") + " " + command + " --help");
      if (help.empty()) {
        ADD_FAILURE() << document << ": tvm-vm has no command " << command;
        continue;
      }
      for (const std::string& option : MatchesOf(rest.substr(0, rest.find(" #")), R"((--[a-z-]+))"))
        EXPECT_NE(help.find(option), std::string::npos)
            << document << ": tvm-vm " << command << " has no option " << option;
      checked.insert(command);
    }
  }
  EXPECT_TRUE(checked.contains("compile") && checked.contains("run") && checked.contains("bench"))
      << "README shows too little";
}

TEST(DocsTest, CommandsOfDevExist) {
  std::string help = OutputOf((SourceRoot() / "dev").string() + " help");
  for (const std::string& document : Documents())
    for (const std::string& command : MatchesOf(ReadText(SourceRoot() / document), R"(\./dev ([a-z]+))"))
      EXPECT_TRUE(std::regex_search(help, std::regex("\\b" + command + "\\b")))
          << document << ": ./dev " << command;
}

// A promise without its test is none.
TEST(DocsTest, TestsThatAreNamedExist) {
  std::string tests;
  for (const std::string& file : FilesBelow("tests", {".cc"})) tests += ReadText(SourceRoot() / file);
  const std::string text = ReadText(SourceRoot() / "docs/trust.md");
  int count = 0;
  static const std::regex name(R"(`([A-Z]\w+)\.([A-Z]\w+)`)");
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at, ++count)
    EXPECT_TRUE(std::regex_search(
        tests, std::regex("TEST(_F|_P)?\\(" + (*at)[1].str() + ",\\s*" + (*at)[2].str() + "\\)")))
        << "docs/trust.md names " << (*at)[0];
  EXPECT_GT(count, 20);
  for (const std::string& path : MatchesOf(text, R"(`(tests/[\w/.]+)`)"))
    EXPECT_TRUE(std::filesystem::exists(SourceRoot() / path)) << path;
}

TEST(DocsTest, FoldersInTheMapExist) {
  for (const std::string& folder :
       MatchesOf(ReadText(SourceRoot() / "README.md"), R"(\n\| `([a-z_/]+)/` \|)"))
    EXPECT_TRUE(std::filesystem::is_directory(SourceRoot() / folder)) << folder;
}

}  // namespace
}  // namespace tvmvm::meta
