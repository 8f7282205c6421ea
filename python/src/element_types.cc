#include "element_types.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "errors.h"

namespace nb = nanobind;

namespace tvmvm::python {
namespace {

struct TypeRow {
  DType dtype;
  const char* name;
  const char* format = nullptr;
  bool is_numpys_own = true;
};

constexpr TypeRow kTypes[] = {
    {DType::kF32, "float32", "f"},
    {DType::kF64, "float64", "d"},
    {DType::kF16, "float16", "e"},
    {DType::kBF16, "bfloat16", nullptr, false},
    {DType::kI8, "int8", "b"},
    {DType::kI16, "int16", "h"},
    {DType::kI32, "int32", "i"},
    {DType::kI64, "int64", "q"},
    {DType::kU8, "uint8", "B"},
    {DType::kU16, "uint16", "H"},
    {DType::kU32, "uint32", "I"},
    {DType::kU64, "uint64", "Q"},
    {DType::kBool, "bool", "?"},
    {DType::kString, "string"},
    {DType::kC64, "complex64", "Zf"},
    {DType::kC128, "complex128", "Zd"},
    {DType::kF8E4M3FN, "float8_e4m3fn", nullptr, false},
    {DType::kF8E4M3FNUZ, "float8_e4m3fnuz", nullptr, false},
    {DType::kF8E5M2, "float8_e5m2", nullptr, false},
    {DType::kF8E5M2FNUZ, "float8_e5m2fnuz", nullptr, false},
    {DType::kF8E8M0, "float8_e8m0fnu", nullptr, false},
    {DType::kI4, "int4", nullptr, false},
    {DType::kU4, "uint4", nullptr, false},
    {DType::kF4E2M1, "float4_e2m1fn", nullptr, false},
    {DType::kI2, "int2", nullptr, false},
    {DType::kU2, "uint2", nullptr, false},
    {DType::kF6E2M3, "float6_e2m3fn", nullptr, false},
    {DType::kF6E3M2, "float6_e3m2fn", nullptr, false},
};
static_assert(std::size(kTypes) == kDTypeCount - 1);

// Rows stand in the order of the enumerators.
const TypeRow& RowOf(DType dtype) { return kTypes[static_cast<size_t>(dtype) - 1]; }
static_assert([] {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (static_cast<size_t>(kTypes[i].dtype) != i + 1) return false;
  return true;
}());

DType IntegerOf(bool is_signed, int64_t bytes) {
  switch (bytes) {
    case 1:
      return is_signed ? DType::kI8 : DType::kU8;
    case 2:
      return is_signed ? DType::kI16 : DType::kU16;
    case 4:
      return is_signed ? DType::kI32 : DType::kU32;
    case 8:
      return is_signed ? DType::kI64 : DType::kU64;
    default:
      return DType::kInvalid;
  }
}

nb::handle MakeNumPyType(const TypeRow& row) {
  if (NumPy() == nullptr) Raise({Code::kUnsupported, "NumPy is not installed"});
  if (row.dtype == DType::kString) return nb::object(NumPy()->attr("dtype")("object")).release();
  if (row.is_numpys_own) return nb::object(NumPy()->attr("dtype")(row.name)).release();
  try {
    nb::object scalar = nb::module_::import_("ml_dtypes").attr(row.name);
    return nb::object(NumPy()->attr("dtype")(scalar)).release();
  } catch (nb::python_error&) {
    Raise({Code::kUnsupported, std::string("NumPy has no element type ") + row.name +
                                   ", and there is no ml_dtypes that has: pip install ml_dtypes"});
  }
}

}  // namespace

const char* PythonName(DType dtype) { return dtype == DType::kInvalid ? "invalid" : RowOf(dtype).name; }

std::optional<DType> DTypeFromPythonName(std::string_view name) {
  for (const TypeRow& row : kTypes)
    if (name == row.name) return row.dtype;
  if (name == "bool_") return DType::kBool;
  return std::nullopt;
}

const char* BufferFormat(DType dtype) { return dtype == DType::kInvalid ? nullptr : RowOf(dtype).format; }

std::optional<DType> DTypeFromBufferFormat(const char* format, int64_t item_bytes) {
  if (format == nullptr) return DType::kU8;
  if (*format == '@' || *format == '=' || *format == '|' ||
      *format == (std::endian::native == std::endian::little ? '<' : '>'))
    ++format;
  DType dtype = DType::kInvalid;
  const size_t length = std::strlen(format);
  if (length == 1 && std::strchr("bhilqn", *format))
    dtype = IntegerOf(true, item_bytes);
  else if (length == 1 && std::strchr("BHILQN", *format))
    dtype = IntegerOf(false, item_bytes);
  else
    for (const TypeRow& row : kTypes)
      if (row.format && std::strcmp(row.format, format) == 0) dtype = row.dtype;
  if (dtype == DType::kInvalid || DTypeBits(dtype) != item_bytes * 8) return std::nullopt;
  return dtype;
}

const nb::object* NumPy() {
  static const nb::object* numpy = []() -> nb::object* {
    try {
      return new nb::object(nb::module_::import_("numpy"));  // as long as the process lives
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_ImportError)) throw;
      return nullptr;
    }
  }();
  return numpy;
}

nb::handle NumPyType(DType dtype) {
  static std::array<nb::handle, kDTypeCount> made;
  nb::handle& type = made[static_cast<size_t>(dtype)];
  if (!type) type = MakeNumPyType(RowOf(dtype));
  return type;
}

std::optional<DType> DTypeFromNumPy(nb::handle dtype) {
  if (std::string_view("OSUT").find(nb::cast<std::string_view>(dtype.attr("kind"))) != std::string_view::npos)
    return DType::kString;
  return DTypeFromPythonName(nb::cast<std::string_view>(dtype.attr("name")));
}

}  // namespace tvmvm::python
