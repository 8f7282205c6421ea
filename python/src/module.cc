// tvm_vm._core: what the package is made of. Speaks to the library by its public headers alone.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "arrays.h"
#include "devices.h"
#include "errors.h"
#include "interrupt.h"
#include "memory.h"
#include "programs.h"
#include "tvm-vm/version.h"
#include "vm_object.h"

NB_MODULE(_core, module) {
  using namespace tvmvm::python;
  FindExceptionClasses();
  FindMainThread();
  AddDevices(module);
  AddTensorClass(module);
  AddPrograms(module);
  AddMemory(module);
  AddCompiler(module);
  AddVm(module);
  module.def("version", [] { return tvmvm::VersionText(tvmvm::Version()); });
}
