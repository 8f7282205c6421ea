// Reads and writes one element of host memory as a scalar register holds it.
#pragma once

#include <cstdint>

#include "tvm-vm/dtype.h"

namespace tvmvm {

// Element types that a scalar register can hold: integers of whole bytes, bool, f64, f32, f16, bf16.
bool HasScalarForm(DType dtype);

// Integers and bools as i64, floats as the bits of an f64. `at` needs no alignment. HasScalarForm(dtype)
// holds.
int64_t LoadElement(DType dtype, const void* at);
// From the same form: integers keep their low bits, floats round to nearest even.
void StoreElement(DType dtype, void* at, int64_t value);

}  // namespace tvmvm
