#include "bytecode/open_library.h"

#include <dlfcn.h>

#include <cerrno>

namespace tvmvm {

Expected<void*> OpenLibrary(const char* name) {
  errno = 0;  // the loader says what failed, and why only sometimes
  if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
  const Code code = errno == ENOMEM ? Code::kOutOfMemory : Code::kNotFound;
  const char* reason = dlerror();
  return MakeError(code, reason != nullptr ? reason : std::string(name) + " cannot be opened");
}

}  // namespace tvmvm
