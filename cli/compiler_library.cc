#include "cli/compiler_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <climits>
#include <string>

#include "cli/console.h"
#include "tvm-vm/version.h"

namespace tvmvm::cli {
namespace {

constexpr const char* kLibrary = TVMVM_COMPILER_LIBRARY;

std::string ExecutableFolder() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0) return "";
  std::string text(path, static_cast<size_t>(length));
  return text.substr(0, text.rfind('/') + 1);
}

}  // namespace

Status CheckCompilerVersion(uint32_t version, const std::string& path) {
  if (version / 1000 == TVMVM_VERSION / 1000) return {};
  return MakeError(
      Code::kUnsupported,
      fmt::format("{} is version {} of the compiler, this tool is version {}: they do not go together", path,
                  VersionText(version), VersionText(TVMVM_VERSION)));
}

Expected<const Compiler*> OpenCompiler() {
  static const Compiler* opened = nullptr;  // commands run on one thread
  if (opened) return opened;
  std::string folder = ExecutableFolder(), reason;
  for (const std::string& path :
       {folder + kLibrary, folder + TVMVM_LIBRARY_FOLDER + kLibrary, std::string(kLibrary)}) {
    if (path.front() == '/' && access(path.c_str(), R_OK) != 0) continue;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      reason = dlerror();
      continue;
    }
    auto entry = reinterpret_cast<decltype(&tvmvm_compiler)>(dlsym(library, "tvmvm_compiler"));
    auto version =
        reinterpret_cast<decltype(&tvmvm_compiler_version)>(dlsym(library, "tvmvm_compiler_version"));
    if (entry && version) {
      TVMVM_CHECK_OK(CheckCompilerVersion(version(), path));
      opened = entry();
      PrintDetail(fmt::format("the compiler is {}, version {}", path, VersionText(version())));
      return opened;
    }
    reason = fmt::format("{} has no tvmvm_compiler or no version", path);
    dlclose(library);
  }
  return MakeError(
      Code::kNotFound,
      fmt::format("the compiler library is not installed ({}); packaged .vmexe files run without it",
                  reason));
}

}  // namespace tvmvm::cli
