// Libraries that the runtime opens when a program first needs them: they lie beside it, or where the loader
// looks.
#pragma once

#include <initializer_list>
#include <mutex>
#include <string>

#include "tvm-vm/status.h"

namespace tvmvm {

// A function of the library: its name, and the pointer that gets its address.
struct CompanionFunction {
  const char* name;
  void** address;
};

// For a variable with the life of the process; thread-safe.
class CompanionLibrary {
 public:
  // `subject`: what it is for, as messages say it. `version`: the name of the function that gives its
  // TVMVM_VERSION, which may differ from the runtime's in the last number only.
  constexpr CompanionLibrary(const char* subject, const char* name, const char* version)
      : subject_(subject), name_(name), version_(version) {}

  // Opens it, for good, and finds the functions, unless that was done before; what failed is tried again.
  // Errors: kUnsupported saying what is wrong; kOutOfMemory.
  Status Open(std::initializer_list<CompanionFunction> functions);

 private:
  Status TryToOpen(std::initializer_list<CompanionFunction> functions) const;
  tl::unexpected<Error> NotThere(Code code, const std::string& why) const;

  const char* const subject_;
  const char* const name_;
  const char* const version_;
  std::mutex mutex_;
  bool is_open_ = false;
};

}  // namespace tvmvm
