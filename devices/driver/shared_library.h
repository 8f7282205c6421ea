// A system library that is opened at run time, so that nothing links it.
#pragma once

#include <dlfcn.h>

#include <string>

#include "tvm-vm/status.h"

namespace tvmvm {

// Stays open for the life of the process: drivers leave threads and exit handlers behind.
class SharedLibrary {
 public:
  // Errors: kNotFound with what the system's loader says.
  static Expected<SharedLibrary> Open(const char* name) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return SharedLibrary(handle);
    const char* reason = dlerror();
    return MakeError(Code::kNotFound, reason != nullptr ? reason : std::string(name) + " cannot be opened");
  }

  // Null where it has no such function.
  template <class Function>
  Function Find(const char* name) const {
    return reinterpret_cast<Function>(dlsym(handle_, name));
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace tvmvm
