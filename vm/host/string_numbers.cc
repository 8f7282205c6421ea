// Numbers as text and text as numbers.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "vm/host/operands.h"
#include "vm/objects/element_access.h"

namespace tvmvm {
namespace {

// The shortest digits that give the number back, laid out as printf's %g does: with an exponent where that is
// below -4 or not below `precision`.
template <class Float>
std::string FloatText(Float value, int precision) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  char scientific[64];
  const auto end = std::to_chars(scientific, std::end(scientific), value, std::chars_format::scientific).ptr;
  const auto mark = std::find(scientific, end, 'e');
  const char* exponent_text = mark + (mark[1] == '+' ? 2 : 1);
  int exponent = 0;
  std::from_chars(exponent_text, end, exponent);
  if (exponent < -4 || exponent >= precision) return std::string(scientific, end);

  const bool negative = scientific[0] == '-';
  std::string digits;
  std::copy_if(scientific, mark, std::back_inserter(digits), [](char c) { return c >= '0' && c <= '9'; });
  const auto whole = static_cast<size_t>(std::max(exponent + 1, 0));
  if (exponent < 0) {
    digits.insert(0, static_cast<size_t>(-exponent), '0');
    digits.insert(1, ".");
  } else if (digits.size() < whole) {
    digits.append(whole - digits.size(), '0');
  } else if (digits.size() > whole) {
    digits.insert(whole, ".");
  }
  return negative ? "-" + digits : digits;
}

std::string ElementText(DType dtype, int64_t element) {
  if (dtype == DType::kU64) return std::to_string(static_cast<uint64_t>(element));
  if (!IsFloat(dtype)) return std::to_string(element);
  const auto number = std::bit_cast<double>(element);
  return dtype == DType::kF64 ? FloatText(number, 17) : FloatText(static_cast<float>(number), 9);
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

// All of `text` as a number.
template <class Number>
std::errc Parse(std::string_view text, Number* number) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, *number);
  if (error != std::errc()) return error;
  return stopped == end ? std::errc() : std::errc::invalid_argument;
}

// Floats keep their sign beyond the range: INF, or 0 where they are too small.
template <class Float>
bool ParseFloat(std::string_view text, Float* number) {
  const std::errc error = Parse(text, number);
  if (error == std::errc()) return true;
  if (error != std::errc::result_out_of_range) return false;
  double wide = 0;
  const bool small = Parse(text, &wide) == std::errc()
                         ? std::fabs(wide) < 1
                         : text.find("e-") != text.npos || text.find("E-") != text.npos;
  *number = small ? Float(0) : std::numeric_limits<Float>::infinity();
  if (text[0] == '-') *number = -*number;
  return true;
}

// Whether the whole number fits into the integer type.
bool FitsInteger(DType dtype, int64_t number) {
  const int bits = DTypeBits(dtype);
  if (bits == 64) return true;
  const int64_t most = IsUnsignedInteger(dtype) ? (int64_t{1} << bits) - 1 : (int64_t{1} << (bits - 1)) - 1;
  const int64_t least = IsUnsignedInteger(dtype) ? 0 : -most - 1;
  return number >= least && number <= most;
}

// The text as a scalar register holds the number; false: it is no such number.
bool ElementOf(DType dtype, std::string_view text, int64_t* element) {
  text = Trimmed(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  if (text.empty() || text[0] == '+') return false;
  if (dtype == DType::kF32) {
    float number = 0;
    if (!ParseFloat(text, &number)) return false;
    *element = std::bit_cast<int64_t>(static_cast<double>(number));
    return true;
  }
  if (dtype == DType::kBool && (text == "True" || text == "true" || text == "False" || text == "false")) {
    *element = text[0] == 'T' || text[0] == 't';
    return true;
  }
  if (dtype == DType::kU64) {
    uint64_t number = 0;
    if (Parse(text, &number) == std::errc()) {
      *element = static_cast<int64_t>(number);
      return true;
    }
  } else if (!IsFloat(dtype) && Parse(text, element) == std::errc()) {
    return dtype == DType::kBool || FitsInteger(dtype, *element);
  }
  double number = 0;
  if (!ParseFloat(text, &number)) return false;
  if (IsFloat(dtype)) {
    *element = std::bit_cast<int64_t>(number);
    return true;
  }
  if (dtype == DType::kBool) {
    *element = number != 0;
    return true;
  }
  // "100.5" as an integer is 100.
  number = std::trunc(number);
  const double end = dtype == DType::kU64 ? 0x1p64 : 0x1p63;
  if (!(number >= (dtype == DType::kU64 ? 0 : -0x1p63) && number < end)) return false;
  *element = dtype == DType::kU64 ? static_cast<int64_t>(static_cast<uint64_t>(number))
                                  : static_cast<int64_t>(number);
  return FitsInteger(dtype, *element);
}

std::string Shown(std::string_view text) {
  constexpr size_t kMost = 40;
  return "'" + std::string(text.substr(0, kMost)) + (text.size() > kMost ? "...'" : "'");
}

Status CheckScalarForm(DType dtype) {
  if (HasScalarForm(dtype)) return {};
  return MakeError(Code::kUnsupported, "numbers of " + std::string(DTypeName(dtype)) + " and text");
}

}  // namespace

// ()(tensor)
Status HostStringFromNumbers(HostCall& call) {
  TVMVM_TRY(TensorObject * tensor, TensorOperand(call, 0, "tensor"));
  TVMVM_CHECK_OK(CheckScalarForm(tensor->dtype));
  TVMVM_TRY(Owned<TensorObject> texts, NewTensor(call, DType::kString, tensor->shape));
  const int64_t size = DTypeBits(tensor->dtype) / 8;
  const int64_t count = ElementCount(*tensor);
  int64_t bytes = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::string text = ElementText(tensor->dtype, LoadElement(tensor->dtype, tensor->data + i * size));
    bytes += TextBytes(text.size());
    StringsOf(*texts)[static_cast<size_t>(i)] = std::move(text);
    TVMVM_CHECK_OK(PollWork(call, 128));
  }
  TVMVM_CHECK_OK(ChargeTexts(call, *texts, bytes));
  call.ref_results[0] = texts.Give();
  return {};
}

// (dtype)(strings)
Status HostStringToNumbers(HostCall& call) {
  if (call.scalars[0] <= 0 || call.scalars[0] >= kDTypeCount)
    return MakeError(Code::kInvalidProgram, "there is no element type " + std::to_string(call.scalars[0]));
  const auto dtype = static_cast<DType>(call.scalars[0]);
  TVMVM_CHECK_OK(CheckScalarForm(dtype));
  TVMVM_TRY(TensorObject * strings, StringsOperand(call, 0, "strings"));
  TVMVM_TRY(Owned<TensorObject> numbers, NewTensor(call, dtype, strings->shape));
  const int64_t size = DTypeBits(dtype) / 8;
  int64_t i = 0;
  for (const std::string& text : StringsOf(*strings)) {
    int64_t element = 0;
    if (!ElementOf(dtype, text, &element))
      return MakeError(Code::kInvalidArgument, "element " + std::to_string(i) + ", " + Shown(text) +
                                                   ", is no number of " + std::string(DTypeName(dtype)));
    StoreElement(dtype, numbers->data + i * size, element);
    TVMVM_CHECK_OK(PollWork(call, static_cast<int64_t>(64 + text.size())));
    ++i;
  }
  call.ref_results[0] = numbers.Give();
  return {};
}

}  // namespace tvmvm
