// Libraries that the runtime opens when a program first needs them: they lie beside it, or where the loader
// looks.
#pragma once

#include <initializer_list>
#include <string>

namespace tvmvm {

// A function of the library: its name, and the pointer that gets its address.
struct CompanionFunction {
  const char* name;
  void** address;
};

// Opens the library, for good, and finds the functions. `version` is the name of the one that gives its
// TVMVM_VERSION, which may differ from the runtime's in the last number only. What is wrong, or "".
std::string OpenCompanion(const char* name, const char* version,
                          std::initializer_list<CompanionFunction> functions);

}  // namespace tvmvm
