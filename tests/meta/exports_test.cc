// The libraries export what the public headers declare, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/folders.h"
#include "tests/meta/source_files.h"

namespace tvmvm::meta {
namespace {

struct Symbol {
  char type;
  std::string name;
};

// What nm says of a library of this build: "t", "W", ... and the name.
std::vector<Symbol> SymbolsOf(const std::string& options, const std::string& library) {
  const std::string command = "nm " + options + " --defined-only '" + BuildPath(library) + "'";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  for (char buffer[4096]; size_t got = fread(buffer, 1, sizeof(buffer), pipe);) text.append(buffer, got);
  EXPECT_EQ(pclose(pipe), 0) << command;
  std::vector<Symbol> symbols;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.size() > 19) symbols.push_back({line[17], line.substr(19)});
  return symbols;
}

std::string PublicHeaders() {
  std::string text;
  for (const std::string& header : FilesBelow("include/tvm-vm", {".h"}))
    text += ReadText(SourceRoot() / header);
  return text;
}

// "tvmvm::Tensor::Borrow(tvmvm::DType)" -> "Borrow"; "vtable for tvmvm::Queue" -> "Queue".
std::string LastNameOf(const std::string& symbol) {
  const std::string name = symbol.substr(0, symbol.find_first_of("(["));
  return name.substr(name.find_last_of(": ~") + 1);
}

TEST(ExportsTest, RuntimeExportsWhatHeadersDeclare) {
  const std::string headers = PublicHeaders();
  const std::vector<Symbol> symbols = SymbolsOf("-DgC", "libtvm-vm.so");
  EXPECT_GT(symbols.size(), 100u);
  EXPECT_LT(symbols.size(), 300u);
  static const std::regex ours(R"(tvmvm_\w+|((vtable|typeinfo|typeinfo name) for )?tvmvm::.*)");
  for (const Symbol& symbol : symbols) {
    EXPECT_TRUE(std::regex_match(symbol.name, ours)) << symbol.name;
    EXPECT_THAT(symbol.name, ::testing::Not(::testing::HasSubstr("::Impl::")));
    EXPECT_TRUE(std::regex_search(headers, std::regex("\\b" + LastNameOf(symbol.name) + "\\b")))
        << symbol.name << " is in no public header";
  }
}

// A function that a header declares and no library exports would be found by whoever calls it first.
int CheckExportsAllFunctions(const std::string& library, const std::string& header) {
  std::set<std::string> exported;
  for (const Symbol& symbol : SymbolsOf("-Dg", library)) exported.insert(symbol.name);
  static const std::regex declaration(R"(\b(tvmvm_\w+)\()");
  const std::string text = ReadText(SourceRoot() / "include/tvm-vm" / header);
  int count = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at, ++count)
    EXPECT_TRUE(exported.contains((*at)[1])) << (*at)[1];
  return count;
}

TEST(ExportsTest, LibrariesExportAllFunctionsOfTheCInterface) {
  EXPECT_GT(CheckExportsAllFunctions("libtvm-vm.so", "c_api.h"), 70);
  EXPECT_GT(CheckExportsAllFunctions("libtvm-vm-sandbox.so", "c_sandbox.h"), 5);
}

TEST(ExportsTest, SandboxExportsItsHeaders) {
  const std::vector<Symbol> symbols = SymbolsOf("-DgC", "libtvm-vm-sandbox.so");
  EXPECT_GT(symbols.size(), 10u);
  const std::string header = ReadText(SourceRoot() / "include/tvm-vm/c_sandbox.h");
  for (const Symbol& symbol : symbols)
    EXPECT_TRUE(symbol.name.starts_with("tvmvm::SandboxedVm::") ||
                header.find(" " + symbol.name + "(") != std::string::npos)
        << symbol.name;
}

#if TVMVM_HAS_COMPILER
TEST(ExportsTest, CompilerExportsItsHeader) {
  for (const Symbol& symbol : SymbolsOf("-DgC", "libtvm-vm-compiler.so"))
    EXPECT_TRUE(symbol.name == "tvmvm_compiler" || symbol.name == "tvmvm_compiler_version" ||
                symbol.name == "tvmvm::GetCompiler()" || symbol.name.ends_with(" for tvmvm::Compiler"))
        << symbol.name;
}

TEST(ExportsTest, IsolatedCompilerExportsItsHeaders) {
  EXPECT_GE(CheckExportsAllFunctions("libtvm-vm-isolated-compiler.so", "c_isolated_compiler.h"), 5);
  const std::vector<Symbol> symbols = SymbolsOf("-DgC", "libtvm-vm-isolated-compiler.so");
  EXPECT_EQ(symbols.size(), 9u);
  const std::string header = ReadText(SourceRoot() / "include/tvm-vm/c_isolated_compiler.h") +
                             ReadText(SourceRoot() / "include/tvm-vm/isolated_compiler.h");
  for (const Symbol& symbol : symbols)
    EXPECT_TRUE(symbol.name.starts_with("tvmvm::CompileFileIsolated(") ||
                symbol.name.starts_with("tvmvm::CompileBytesIsolated(") ||
                std::regex_search(header, std::regex("[ *]" + symbol.name + "\\(")))
        << symbol.name;
}

// A service that compiles in other processes holds no LLVM.
TEST(ExportsTest, IsolatedCompilerNeedsNoCompiler) {
  FILE* pipe = popen(("ldd '" + BuildPath("libtvm-vm-isolated-compiler.so") + "'").c_str(), "r");
  std::string text;
  for (char buffer[4096]; size_t got = fread(buffer, 1, sizeof(buffer), pipe);) text.append(buffer, got);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_THAT(text, ::testing::HasSubstr("libtvm-vm.so"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("LLVM")));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("libtvm-vm-compiler")));
}

// Of the runtime's public functions there is one copy in a process: the compiler has its private parts alone.
TEST(ExportsTest, CompilerHoldsNoCopyOfWhatIsPublic) {
  std::set<std::string> exported;
  for (const Symbol& symbol : SymbolsOf("-Dg", "libtvm-vm.so"))
    if (symbol.type == 'T') exported.insert(symbol.name);
  for (const std::string library : {"libtvm-vm-compiler.so", "libtvm-vm-isolated-compiler.so", "tvm-vm"})
    for (const Symbol& symbol : SymbolsOf("", library))
      if (symbol.type == 'T' || symbol.type == 't') {
        EXPECT_FALSE(exported.contains(symbol.name)) << symbol.name << " in " << library;
      }
}
#endif

}  // namespace
}  // namespace tvmvm::meta
