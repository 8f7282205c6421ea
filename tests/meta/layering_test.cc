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
    {"process", {"bytecode"}},
    {"serializer", {"bytecode"}},
    {"allocator", {"bytecode"}},
    {"devices", {"allocator", "bytecode"}},
    {"vm", {"devices", "allocator", "serializer", "process", "bytecode"}},
    {"compiler", {"bytecode", "allocator/planner.h", "serializer/protobuf.h", "tvm-vm/device.h"}},
    {"isolated_compiler",
     {"bytecode", "serializer", "process", "vm/c/objects.h", "vm/c/sized.h", "tvm-vm/c_api.h",
      "tvm-vm/compiler.h"}},
    {"cli", {"bytecode", "serializer", "allocator", "devices", "vm", "tvm-vm/compiler.h"}},
};

// The same inside of a folder, whose own are listed from the ground up: each may include itself and those
// named. What lies in the first level joins them and may include all.
struct InnerFolder {
  std::string name;
  std::set<std::string> allowed;
};

const std::vector<InnerFolder> kDeviceFolders = {
    {"driver", {}}, {"cpu", {"driver"}}, {"null", {"driver"}}, {"opencl", {"driver"}}, {"vulkan", {"driver"}},
};

const std::vector<InnerFolder> kVmFolders = {
    {"objects", {}},
    {"binding", {"objects"}},
    {"forecast", {"binding"}},
    {"regex", {}},
    {"image", {}},
    {"c", {}},
    {"sandbox", {"c"}},
    {"sandbox/runner", {"sandbox"}},
    {"host", {"objects", "regex", "image"}},
    {"interpreter", {"objects", "binding", "host"}},
};

const std::vector<InnerFolder> kIsolatedCompilerFolders = {{"runner", {}}};

const std::vector<InnerFolder> kCompilerFolders = {
    {"dim", {}},
    {"expr", {"dim"}},
    {"loops", {"dim", "expr"}},
    {"graph", {"dim", "expr", "loops"}},
    {"graph/core", {"graph", "loops", "expr", "dim"}},
    {"graph/core/procedural", {"graph/core", "graph", "loops", "expr", "dim"}},
    {"autodiff", {"graph", "expr", "dim"}},
    {"passes", {"graph", "expr", "dim"}},
    {"passes/products", {"passes", "graph", "expr", "dim"}},
    {"passes/loops", {"passes", "graph", "expr", "dim"}},
    {"passes/quantized", {"passes", "graph", "expr", "dim"}},
    {"onnx/model", {"graph", "dim"}},
    {"onnx/ops", {"graph", "graph/core", "onnx/model", "dim"}},
    {"onnx/ops/attention", {"onnx/ops", "graph", "dim"}},
    {"onnx/ops/control", {"onnx/ops", "graph", "dim"}},
    {"onnx/ops/math", {"onnx/ops", "graph", "dim"}},
    {"onnx/ops/microsoft", {"onnx/ops", "graph", "dim"}},
    {"onnx/ops/ml", {"onnx/ops", "graph", "dim"}},
    {"onnx/ops/movement", {"onnx/ops", "graph", "dim"}},
    {"onnx/ops/nn", {"onnx/ops", "graph", "dim"}},
    {"onnx/ops/quantized", {"onnx/ops", "onnx/ops/nn", "graph", "dim"}},
    {"onnx/ops/sequence", {"onnx/ops", "graph", "dim"}},
    {"onnx/ops/training", {"onnx/ops", "autodiff", "graph", "dim"}},
    {"onnx/importer", {"onnx/model", "onnx/ops", "autodiff", "graph", "dim"}},
    {"schedules", {"graph", "loops", "expr", "dim"}},
    {"schedules/cpu/tiles", {"schedules", "graph", "loops", "expr", "dim"}},
    {"schedules/cpu", {"schedules", "schedules/cpu/tiles", "graph", "loops", "expr", "dim"}},
    {"schedules/cpu/windows",
     {"schedules", "schedules/cpu", "schedules/cpu/tiles", "graph", "loops", "expr", "dim"}},
    {"schedules/gpu", {"schedules", "graph", "loops", "expr", "dim"}},
    {"schedules/loops", {"schedules", "graph", "loops", "expr", "dim"}},
    {"codegen", {"loops", "expr", "dim"}},
    {"codegen/c", {"codegen", "loops", "expr", "dim"}},
    {"codegen/llvm", {"codegen", "loops", "expr", "dim"}},
    {"placement", {"codegen", "schedules", "schedules/loops", "graph", "dim"}},
    {"lowering", {"codegen", "schedules", "schedules/loops", "graph", "dim"}},
    {"memory", {"lowering", "schedules", "passes", "graph", "dim"}},
    {"jit", {"codegen", "codegen/llvm"}},
};

// More sources than this in one folder are hard to find one's way in.
constexpr int kMostSources = 20;

// Whose each public header is, from the ground up; including it counts as including its folder.
const std::vector<std::pair<std::string, std::string>> kPublicHeaders = {
    {"export.h", "bytecode"},
    {"version.h", "bytecode"},
    {"status.h", "bytecode"},
    {"dtype.h", "bytecode"},
    {"shape.h", "bytecode"},
    {"ids.h", "bytecode"},
    {"target_info.h", "bytecode"},
    {"program.h", "bytecode"},
    {"assembler.h", "bytecode"},
    {"vmexe.h", "serializer"},
    {"trust.h", "serializer"},
    {"device.h", "devices"},
    {"cpu_device.h", "devices"},
    {"device_list.h", "devices"},
    {"tensor.h", "vm"},
    {"value.h", "vm"},
    {"forecast.h", "vm"},
    {"memory_pool.h", "vm"},
    {"vm.h", "vm"},
    {"sandbox.h", "vm"},
    {"profiler.h", "vm"},
    {"warm.h", "vm"},
    {"c_api.h", "vm"},
    {"c_sandbox.h", "vm"},
    {"compiler.h", "compiler"},
    {"isolated_compiler.h", "isolated_compiler"},
    {"c_isolated_compiler.h", "isolated_compiler"},
};
const std::string kPublic = "tvm-vm/";

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

std::string FolderOf(const std::string& path) {
  if (path.starts_with(kPublic))
    for (const auto& [header, folder] : kPublicHeaders)
      if (path == kPublic + header) return folder;
  return path.substr(0, path.find('/'));
}

bool IsAllowed(const Include& include) {
  std::string from = FolderOf(include.file), to = FolderOf(include.target);
  const std::set<std::string>& allowed = kAllowed.at(from);
  return from == to || allowed.contains(to) || allowed.contains(include.target);
}

// Second levels are private to their folder, but for single headers that are listed.
bool IsPrivate(const Include& include) {
  const bool deep = std::count(include.target.begin(), include.target.end(), '/') > 1;
  return deep && !kAllowed.at(FolderOf(include.file)).contains(include.target);
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
        EXPECT_TRUE(!foreign || !IsPrivate(include))
            << file << " includes " << include.target << ", which is its folder's own";
      }
    }
  }
  EXPECT_GT(seen, 100);
}

TEST(LayeringTest, PublicHeadersIncludeOnlyPublicHeadersBelowThem) {
  std::set<std::string> below;
  for (const auto& [header, folder] : kPublicHeaders) {
    const std::string file = "include/" + kPublic + header;
    for (const Include& include : IncludesOf(file))
      EXPECT_TRUE(below.contains(include.target)) << file << " includes " << include.target;
    below.insert(kPublic + header);
  }
  EXPECT_EQ(below.size(), FilesBelow("include", {".h"}).size()) << "a public header has no row in this test";
}

TEST(LayeringTest, ArrowsHaveNoCycle) {
  // With the folders in this order every arrow points to the left.
  const std::vector<std::string> order = {"bytecode", "process",  "serializer",        "allocator", "devices",
                                          "vm",       "compiler", "isolated_compiler", "cli"};
  for (size_t i = 0; i < order.size(); ++i)
    for (const std::string& target : kAllowed.at(order[i])) {
      auto found = std::find(order.begin(), order.end(), FolderOf(target));
      EXPECT_LT(found - order.begin(), static_cast<ptrdiff_t>(i)) << order[i] << " -> " << target;
    }
}

// "graph/core" of "compiler/graph/core/core_ops.cc"; "" of a file in the first level.
std::string InnerFolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const size_t slash = folder.find('/');
  return slash == std::string::npos ? "" : folder.substr(slash + 1);
}

// Counts the includes inside of the folder.
int CheckInside(const std::string& root, const std::vector<InnerFolder>& folders) {
  std::map<std::string, std::set<std::string>> allowed;
  for (const InnerFolder& folder : folders) allowed[folder.name] = folder.allowed;
  int seen = 0;
  for (const std::string& file : FilesBelow(root, {".h", ".cc"})) {
    const std::string from = InnerFolderOf(file);
    if (from.empty()) continue;
    EXPECT_TRUE(allowed.contains(from)) << file << " lies in a folder that has no row in this test";
    for (const Include& include : IncludesOf(file)) {
      const std::string to = InnerFolderOf(include.target);
      if (!include.target.starts_with(root + "/") || to.empty()) continue;
      ++seen;
      EXPECT_TRUE(to == from || allowed[from].contains(to)) << file << " includes " << include.target;
    }
  }
  return seen;
}

TEST(LayeringTest, IncludesInsideOfFoldersFollowTheArrows) {
  EXPECT_GT(CheckInside("compiler", kCompilerFolders), 500);
  EXPECT_GT(CheckInside("devices", kDeviceFolders), 50);
  EXPECT_GT(CheckInside("vm", kVmFolders), 50);
  EXPECT_GT(CheckInside("isolated_compiler", kIsolatedCompilerFolders), 0);
}

TEST(LayeringTest, InnerFoldersStandFromTheGroundUp) {
  for (const auto& folders : {kCompilerFolders, kDeviceFolders, kVmFolders, kIsolatedCompilerFolders}) {
    std::set<std::string> below;
    for (const InnerFolder& folder : folders) {
      for (const std::string& target : folder.allowed)
        EXPECT_TRUE(below.contains(target)) << folder.name << " -> " << target;
      below.insert(folder.name);
    }
  }
}

TEST(LayeringTest, NoFolderOfTheCompilerHoldsTooMuch) {
  std::map<std::string, int> sources;
  for (const std::string& file : FilesBelow("compiler", {".cc"})) ++sources[InnerFolderOf(file)];
  for (const auto& [folder, count] : sources) EXPECT_LE(count, kMostSources) << folder;
}

TEST(LayeringTest, SourcesOfTheCompilerAreShort) {
  constexpr size_t kMostLines = 500;
  for (const std::string& file : FilesBelow("compiler", {".h", ".cc"}))
    EXPECT_LE(ReadLines(SourceRoot() / file).size(), kMostLines) << file;
}

TEST(LayeringTest, IncludesInQuotesExist) {
  for (const auto& [folder, allowed] : kAllowed)
    for (const std::string& file : FilesBelow(folder, {".h", ".cc"}))
      for (const Include& include : IncludesOf(file)) {
        bool exists = std::filesystem::exists(SourceRoot() / include.target) ||
                      std::filesystem::exists(SourceRoot() / "include" / include.target) ||
                      include.target.ends_with("_generated.h") || include.target.starts_with("fmt/");
        EXPECT_TRUE(exists) << file << " includes " << include.target << ": paths are given from the root";
      }
}

// Headers that cost seconds stay in few files.
TEST(LayeringTest, CliElevenStaysInItsFolder) {
  int files = 0;
  for (const std::string& file : FilesBelow("cli", {".h", ".cc"})) {
    if (ReadText(SourceRoot() / file).find("#include <CLI/") == std::string::npos) continue;
    ++files;
    EXPECT_TRUE(file.starts_with("cli/arguments/")) << file;
  }
  EXPECT_LE(files, 2);  // headers of it
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
