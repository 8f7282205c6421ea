// Errors of the library as Python exceptions (tvm_vm/errors.py), one class for each Code.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>

#include "tvm-vm/status.h"

namespace tvmvm::python {

// Fetches the classes; once, when the module is imported.
void FindExceptionClasses();

[[noreturn]] void Raise(const Error& error);
[[noreturn]] inline void RaiseInvalid(std::string message) {
  Raise({Code::kInvalidArgument, std::move(message)});
}

// TypeError: an object that is no array.
[[noreturn]] inline void RaiseType(const std::string& message) {
  PyErr_SetString(PyExc_TypeError, message.c_str());
  throw nanobind::python_error();
}

template <class T>
T OrRaise(Expected<T> result) {
  if (!result) Raise(result.error());
  return *std::move(result);
}
inline void OrRaise(const Status& status) {
  if (!status) Raise(status.error());
}

}  // namespace tvmvm::python
