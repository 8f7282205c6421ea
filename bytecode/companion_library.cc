#include "bytecode/companion_library.h"

#include <dlfcn.h>

#include "bytecode/open_library.h"
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

Status CompanionLibrary::Open(std::initializer_list<CompanionFunction> functions) {
  const std::lock_guard lock(mutex_);
  if (!is_open_) TVMVM_CHECK_OK(TryToOpen(functions));
  is_open_ = true;
  return {};
}

Status CompanionLibrary::TryToOpen(std::initializer_list<CompanionFunction> functions) const {
  Expected<void*> opened = OpenLibrary((OwnFolder() + name_).c_str());
  if (!opened) opened = OpenLibrary(name_);
  if (!opened) return NotThere(opened.error().code, opened.error().message);
  const auto its_version = reinterpret_cast<uint32_t (*)()>(dlsym(*opened, version_));
  if (its_version == nullptr || its_version() / 1000 != TVMVM_VERSION / 1000)
    return NotThere(Code::kUnsupported, std::string(name_) + " is of version " +
                                            (its_version ? VersionText(its_version()) : "0.0.0") + ", " +
                                            VersionText(TVMVM_VERSION) + " is wanted");
  for (const CompanionFunction& function : functions) {
    *function.address = dlsym(*opened, function.name);
    if (*function.address == nullptr)
      return NotThere(Code::kUnsupported, std::string(name_) + " lacks " + function.name);
  }
  return {};
}

tl::unexpected<Error> CompanionLibrary::NotThere(Code code, const std::string& why) const {
  return MakeError(code == Code::kOutOfMemory ? code : Code::kUnsupported,
                   std::string("the library of ") + subject_ + " is not there (" + why + ")");
}

}  // namespace tvmvm
