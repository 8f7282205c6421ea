// A system library that is opened at run time, so that nothing links it.
#pragma once

#include <dlfcn.h>

#include "bytecode/open_library.h"
#include "tvm-vm/status.h"

namespace tvmvm {

// Stays open for the life of the process: drivers leave threads and exit handlers behind.
class SharedLibrary {
 public:
  // Errors: as OpenLibrary.
  static Expected<SharedLibrary> Open(const char* name) {
    TVMVM_TRY(void* handle, OpenLibrary(name));
    return SharedLibrary(handle);
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
