// Programs as Python sees them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "tvm-vm/program.h"

namespace tvmvm::python {

// tvm_vm.Program
struct ProgramPointer {
  std::shared_ptr<const Program> program;
};

void AddPrograms(nanobind::module_& module);
void AddCompiler(nanobind::module_& module);

}  // namespace tvmvm::python
