// Element types by the names and objects that Python has for them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "tvm-vm/dtype.h"

namespace tvmvm::python {

// "float32", "bfloat16", "int4", "string": NumPy's and ml_dtypes' names.
const char* PythonName(DType dtype);
std::optional<DType> DTypeFromPythonName(std::string_view name);

// The struct module's letter, "f" or "Zd"; null for types that it lacks.
const char* BufferFormat(DType dtype);
// Of a buffer in native byte order; nullopt for everything else.
std::optional<DType> DTypeFromBufferFormat(const char* format, int64_t item_bytes);

// NumPy, imported when it is first needed; nothing where it is not installed.
const nanobind::object* NumPy();
// numpy.dtype objects, made once. Types that NumPy lacks come from ml_dtypes; raises Unsupported where that
// is not installed. Strings are objects.
nanobind::handle NumPyType(DType dtype);
// Of a numpy.dtype; nullopt for types that programs do not have.
std::optional<DType> DTypeFromNumPy(nanobind::handle dtype);

// Types with several elements in a byte here have one in a byte in NumPy.
inline int ElementsPerByte(DType dtype) { return IsSubByte(dtype) ? 8 / DTypeBits(dtype) : 1; }

}  // namespace tvmvm::python
