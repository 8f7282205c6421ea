// The sample program's file, and why a file is refused.
#pragma once

#include <string>
#include <vector>

#include "tests/serializer/sample_program.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {

inline std::vector<std::byte> SampleFile() { return *SerializeProgram(*SampleProgram(false)); }

// "" where it is loaded.
inline std::string LoadError(const std::vector<std::byte>& file) {
  auto program = LoadProgramFromMemory(file);
  return program ? "" : program.error().message;
}

}  // namespace tvmvm
