#include "errors.h"

#include <array>

namespace nb = nanobind;

namespace tvmvm::python {
namespace {

// By Code; borrowed for as long as the process lives.
std::array<PyObject*, static_cast<size_t>(Code::kIo) + 1> g_classes;

}  // namespace

void FindExceptionClasses() {
  nb::object by_code = nb::module_::import_("tvm_vm.errors").attr("BY_CODE");
  for (size_t code = 1; code < g_classes.size(); ++code)
    g_classes[code] = nb::object(by_code[CodeName(static_cast<Code>(code))]).release().ptr();
}

void Raise(const Error& error) {
  PyErr_SetString(g_classes[static_cast<size_t>(error.code)], error.message.c_str());
  throw nb::python_error();
}

}  // namespace tvmvm::python
