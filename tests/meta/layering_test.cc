// Who may include whom. The arrows are the architecture (docs/architecture.md); this test keeps them pointing
// one way.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/meta/source_files.h"

namespace tvmvm::meta {
namespace {

// A folder may include itself, these folders, and these single headers.
const std::map<std::string, std::set<std::string>> kAllowed = {
    {"bytecode", {}},
    {"serializer", {"bytecode"}},
    {"allocator", {"bytecode"}},
    {"devices", {"allocator", "bytecode"}},
    {"vm", {"devices", "allocator", "serializer", "bytecode"}},
    {"compiler", {"bytecode", "allocator/planner.h", "devices/device.h"}},
    {"cli", {"bytecode", "serializer", "allocator", "devices", "vm", "compiler/compiler.h"}},
};

struct Include {
  std::string file, target;
};

// Includes in quotes of one file; targets are paths from the root.
std::vector<Include> IncludesOf(const std::string& file) {
  static const std::regex pattern(R"re(^\s*#\s*include\s+"([^"]+)")re");
  std::vector<Include> includes;
  for (const std::string& line : ReadLines(SourceRoot() / file)) {
    std::smatch match;
    if (std::regex_search(line, match, pattern)) includes.push_back({file, match[1]});
  }
  return includes;
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.find('/')); }

bool IsAllowed(const Include& include) {
  std::string from = FolderOf(include.file), to = FolderOf(include.target);
  const std::set<std::string>& allowed = kAllowed.at(from);
  return from == to || allowed.contains(to) || allowed.contains(include.target);
}

// Second levels are private, but for the folder of each device.
bool IsPublicHeader(const std::string& target) {
  auto slashes = std::count(target.begin(), target.end(), '/');
  return slashes == 1 || (slashes == 2 && target.starts_with("devices/"));
}

TEST(LayeringTest, IncludesFollowTheArrows) {
  int seen = 0;
  for (const auto& [folder, allowed] : kAllowed) {
    for (const std::string& file : FilesBelow(folder, {".h", ".cc"})) {
      for (const Include& include : IncludesOf(file)) {
        if (!kAllowed.contains(FolderOf(include.target))) continue;  // generated headers, flatbuffers
        ++seen;
        EXPECT_TRUE(IsAllowed(include)) << file << " includes " << include.target;
        bool foreign = FolderOf(file) != FolderOf(include.target);
        EXPECT_TRUE(!foreign || IsPublicHeader(include.target))
            << file << " includes the private header " << include.target;
      }
    }
  }
  EXPECT_GT(seen, 100);
}

TEST(LayeringTest, ArrowsHaveNoCycle) {
  // With the folders in this order every arrow points to the left.
  const std::vector<std::string> order = {"bytecode", "serializer", "allocator", "devices",
                                          "vm",       "compiler",   "cli"};
  for (size_t i = 0; i < order.size(); ++i)
    for (const std::string& target : kAllowed.at(order[i])) {
      auto found = std::find(order.begin(), order.end(), FolderOf(target));
      EXPECT_LT(found - order.begin(), static_cast<ptrdiff_t>(i)) << order[i] << " -> " << target;
    }
}

TEST(LayeringTest, IncludesInQuotesExist) {
  for (const auto& [folder, allowed] : kAllowed)
    for (const std::string& file : FilesBelow(folder, {".h", ".cc"}))
      for (const Include& include : IncludesOf(file)) {
        bool exists = std::filesystem::exists(SourceRoot() / include.target) ||
                      include.target.ends_with("_generated.h") || include.target.starts_with("fmt/");
        EXPECT_TRUE(exists) << file << " includes " << include.target << ": paths are given from the root";
      }
}

// Headers that cost seconds stay in few files.
TEST(LayeringTest, CliElevenIsIncludedOnce) {
  int files = 0;
  for (const std::string& file : FilesBelow("cli", {".h", ".cc"}))
    files += ReadText(SourceRoot() / file).find("#include <CLI/") != std::string::npos;
  EXPECT_EQ(files, 1);
}

bool IsCodeGeneration(const std::string& file) {
  for (const char* folder :
       {"compiler/codegen/", "compiler/jit/", "tests/compiler/codegen/", "tests/compiler/jit/"})
    if (file.starts_with(folder)) return true;
  return false;
}

TEST(LayeringTest, LlvmStaysInCodeGeneration) {
  static const std::regex pattern(R"(#\s*include\s+[<"](llvm|lld)/)");
  std::set<std::string> headers;  // that bring LLVM with them
  for (const std::string& file : SourceFiles()) {
    bool includes_llvm = std::regex_search(ReadText(SourceRoot() / file), pattern);
    EXPECT_TRUE(!includes_llvm || IsCodeGeneration(file)) << file;
    if (includes_llvm && file.ends_with(".h")) headers.insert(file);
  }
  for (const std::string& file : SourceFiles())
    for (const Include& include : IncludesOf(file))
      EXPECT_TRUE(!headers.contains(include.target) || IsCodeGeneration(file))
          << file << " includes " << include.target;
}

}  // namespace
}  // namespace tvmvm::meta
