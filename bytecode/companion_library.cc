#include "bytecode/companion_library.h"

#include <dlfcn.h>

#include "tvm-vm/version.h"

namespace tvmvm {
namespace {

// The folder of the library that this code is in, with a slash, or "".
std::string OwnFolder() {
  Dl_info info;
  static const char kHere = 0;
  if (dladdr(&kHere, &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

}  // namespace

std::string OpenCompanion(const char* name, const char* version,
                          std::initializer_list<CompanionFunction> functions) {
  void* handle = dlopen((OwnFolder() + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return reason != nullptr ? reason : name;
  }
  const auto its_version = reinterpret_cast<uint32_t (*)()>(dlsym(handle, version));
  if (its_version == nullptr || its_version() / 1000 != TVMVM_VERSION / 1000)
    return std::string(name) + " is of version " + (its_version ? VersionText(its_version()) : "0.0.0") +
           ", " + VersionText(TVMVM_VERSION) + " is wanted";
  for (const CompanionFunction& function : functions) {
    *function.address = dlsym(handle, function.name);
    if (*function.address == nullptr) return std::string(name) + " lacks " + function.name;
  }
  return "";
}

}  // namespace tvmvm
