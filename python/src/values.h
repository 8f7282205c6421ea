// Sequences, optionals and tuples: lists, None and tvm_vm.Tagged.
#pragma once

#include <nanobind/nanobind.h>

#include "arrays.h"
#include "tvm-vm/program.h"
#include "tvm-vm/value.h"

namespace tvmvm::python {

// `type` is the parameter's. Raises as InputTensor.
Value InputValue(nanobind::handle object, const TypeSpec& type, Borrowings& borrowings);
nanobind::object ObjectOf(Value value, ResultKind kind);

// Optionals of optionals are one: what is in them, at last.
inline const TypeSpec& WithoutOptional(const TypeSpec& type) {
  const TypeSpec* inner = &type;
  while (inner->kind == ValueKind::kOptional && !inner->elements.empty()) inner = &inner->elements[0];
  return *inner;
}

}  // namespace tvmvm::python
