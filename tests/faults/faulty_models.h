// Models of different kinds, each with inputs, for tests that make its allocations fail.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tvm-vm/program.h"
#include "tvm-vm/value.h"
#include "tvm-vm/vm.h"

namespace tvmvm::testing {

struct FaultyModel {
  std::string name;
  std::shared_ptr<const Program> program;
  std::vector<Value> inputs;
  VmOptions options;
  bool loses_memory = false;
};

// Null after a test failure. The names that there are: those of programs as text, and, where this build has
// the compiler, those of ONNX models.
FaultyModel MakeFaultyModel(const std::string& name);
std::vector<std::string> FaultyModelNames();

}  // namespace tvmvm::testing
