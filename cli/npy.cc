#include "cli/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "cli/elements.h"
#include "cli/files.h"
#include "cli/npy_header.h"

namespace tvmvm::cli {
namespace {

static_assert(std::endian::native == std::endian::little);

// How elements lie in the file.
struct Layout {
  char kind = 0;  // NumPy's letter: f i u b c V U S
  bool big_endian = false;
  int64_t item_bytes = 0;  // of one element
  DType dtype = DType::kInvalid;
};

tl::unexpected<Error> Wrong(const std::string& path, Code code, std::string_view message) {
  return MakeError(code, fmt::format("'{}': {}", path, message));
}

DType NumberType(char kind, int64_t bytes) {
  struct Row {
    char kind;
    int bytes;
    DType dtype;
  };
  static constexpr Row kRows[] = {
      {'f', 4, DType::kF32},  {'f', 8, DType::kF64}, {'f', 2, DType::kF16},   {'f', 1, DType::kF8E5M2},
      {'i', 1, DType::kI8},   {'i', 2, DType::kI16}, {'i', 4, DType::kI32},   {'i', 8, DType::kI64},
      {'u', 1, DType::kU8},   {'u', 2, DType::kU16}, {'u', 4, DType::kU32},   {'u', 8, DType::kU64},
      {'b', 1, DType::kBool}, {'c', 8, DType::kC64}, {'c', 16, DType::kC128},
  };
  for (const Row& row : kRows)
    if (row.kind == kind && row.bytes == bytes) return row.dtype;
  return DType::kInvalid;
}

// Types that the file stores one element a byte.
bool IsStoredInBytes(DType dtype) { return IsSubByte(dtype); }

Expected<Layout> ParseDescr(const std::string& descr, DType wanted, const std::string& path) {
  Layout layout;
  size_t at = 0;
  if (!descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
    layout.big_endian = descr[0] == '>';
    at = 1;
  }
  auto unsupported = [&](std::string_view why) {
    return Wrong(path, Code::kUnsupported, fmt::format("arrays of type '{}' {}", descr, why));
  };
  if (at >= descr.size()) return unsupported("are not supported");
  layout.kind = descr[at];
  if (layout.kind == 'O') return unsupported("hold Python objects, which are not read");
  const char* end = descr.data() + descr.size();
  auto [stop, error] = std::from_chars(descr.data() + at + 1, end, layout.item_bytes);
  if (error != std::errc() || stop != end || layout.item_bytes < 0 || layout.item_bytes > (1 << 28))
    return unsupported("are not supported");
  if (layout.kind == 'U' || layout.kind == 'S') {
    layout.dtype = DType::kString;
    if (layout.kind == 'U') layout.item_bytes *= 4;
    return layout;
  }
  if (layout.kind == 'V') {
    if (layout.item_bytes == 2) layout.dtype = DType::kBF16;
    bool small = DTypeBits(wanted) > 0 && DTypeBits(wanted) <= 8;
    if (layout.item_bytes == 1 && small) layout.dtype = wanted;
    if (layout.dtype == DType::kInvalid)
      return unsupported("say too little: the element type is not known here");
    return layout;
  }
  layout.dtype = NumberType(layout.kind, layout.item_bytes);
  if (layout.dtype == DType::kInvalid) return unsupported("are not supported");
  return layout;
}

void SwapBytes(std::span<std::byte> bytes, int64_t item) {
  for (size_t at = 0; at + item <= bytes.size(); at += item) std::reverse(&bytes[at], &bytes[at] + item);
}

// Reorders items from the first dimension fastest to the last dimension fastest.
std::vector<std::byte> FromFortranOrder(std::span<const std::byte> bytes, std::span<const int64_t> shape,
                                        int64_t item) {
  std::vector<std::byte> result(bytes.size());
  int rank = static_cast<int>(shape.size());
  std::vector<int64_t> index(rank, 0), stride(rank, 1);
  for (int axis = 1; axis < rank; ++axis) stride[axis] = stride[axis - 1] * shape[axis - 1];
  int64_t from = 0;
  for (size_t to = 0; to < bytes.size(); to += item) {
    std::memcpy(&result[to], &bytes[from * item], item);
    for (int axis = rank - 1; axis >= 0; --axis) {
      from += stride[axis];
      if (++index[axis] < shape[axis]) break;
      from -= stride[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return result;
}

void AppendUtf8(std::string& text, uint32_t code) {
  auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | (code >> 12));
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xf0 | ((code >> 18) & 7));
    tail(12), tail(6), tail(0);
  }
}

// The code points of valid UTF-8; nullopt for anything else.
std::optional<std::u32string> DecodeUtf8(std::string_view text) {
  std::u32string points;
  for (size_t at = 0; at < text.size();) {
    unsigned char lead = text[at];
    int length = lead < 0x80                   ? 1
                 : lead >= 0xc2 && lead < 0xe0 ? 2
                 : lead >= 0xe0 && lead < 0xf0 ? 3
                 : lead >= 0xf0 && lead < 0xf5 ? 4
                                               : 0;
    if (length == 0 || at + length > text.size()) return std::nullopt;
    uint32_t code = length == 1 ? lead : lead & (0x7f >> length);
    for (int i = 1; i < length; ++i) {
      unsigned char c = text[at + i];
      if ((c & 0xc0) != 0x80) return std::nullopt;
      code = code << 6 | (c & 0x3f);
    }
    points += static_cast<char32_t>(code);
    at += length;
  }
  return points;
}

Tensor DecodeStrings(std::span<const std::byte> bytes, const Layout& layout, const Shape& shape,
                     int64_t count) {
  std::vector<std::string> strings(count);
  for (int64_t i = 0; i < count; ++i) {
    std::span<const std::byte> item = bytes.subspan(i * layout.item_bytes, layout.item_bytes);
    if (layout.kind == 'S') {
      strings[i].assign(reinterpret_cast<const char*>(item.data()), item.size());
      strings[i].resize(strings[i].find_last_not_of('\0') + 1);
      continue;
    }
    std::vector<uint32_t> points(item.size() / 4);
    if (!points.empty()) std::memcpy(points.data(), item.data(), item.size());
    while (!points.empty() && points.back() == 0) points.pop_back();
    for (uint32_t code : points) AppendUtf8(strings[i], code);
  }
  return Tensor::FromStrings(shape, std::move(strings));
}

// Plain integers given for a sub-byte type, one a byte: packed where each fits.
Expected<Tensor> PackIntegers(const Tensor& plain, DType wanted, const std::string& path) {
  TVMVM_TRY(Tensor packed, Tensor::Allocate(wanted, plain.shape()));
  int bits = DTypeBits(wanted);
  int64_t low = IsSignedInteger(wanted) ? -(int64_t{1} << (bits - 1)) : 0;
  int64_t high = low + (int64_t{1} << bits) - 1;
  for (int64_t i = 0; i < plain.element_count(); ++i) {
    int64_t value = ReadInteger(plain, i);
    if (value < low || value > high)
      return Wrong(path, Code::kInvalidArgument,
                   fmt::format("element {} is {}, which {} cannot hold", i, value, DTypeName(wanted)));
    WriteInteger(packed, i, value);
  }
  return packed;
}

struct OpenedNpy {
  NpyHeader header;
  int64_t data_offset;
};

Expected<OpenedNpy> ReadHeader(const InputFile& file, const std::string& path) {
  unsigned char start[12] = {};
  if (file.size() < 10) return Wrong(path, Code::kInvalidArgument, "too short for a .npy file");
  std::span<std::byte> prefix = std::as_writable_bytes(std::span(start));
  TVMVM_CHECK_OK(file.ReadAt(0, prefix.first(std::min<int64_t>(12, file.size()))));
  if (std::memcmp(start, "\x93NUMPY", 6) != 0) return Wrong(path, Code::kInvalidArgument, "not a .npy file");
  int version = start[6];
  if (version < 1 || version > 3)
    return Wrong(path, Code::kUnsupported,
                 fmt::format("format version {}.{}; 1 to 3 are read", version, start[7]));
  int64_t prefix_bytes = version == 1 ? 10 : 12;
  int64_t length = start[8] | start[9] << 8;
  if (version > 1) length |= static_cast<int64_t>(start[10]) << 16 | static_cast<int64_t>(start[11]) << 24;
  constexpr int64_t kMaxHeader = 1 << 20;
  if (length > kMaxHeader || prefix_bytes + length > file.size())
    return Wrong(path, Code::kInvalidArgument, fmt::format("a header of {} bytes does not fit", length));
  std::string text(length, '\0');
  TVMVM_CHECK_OK(file.ReadAt(prefix_bytes, std::as_writable_bytes(std::span(text))));
  auto header = ParseNpyHeader(text);
  if (!header) return Wrong(path, header.error().code, header.error().message);
  return OpenedNpy{std::move(*header), prefix_bytes + length};
}

}  // namespace

Expected<int64_t> NpyFileBytes(const InputFile& beginning, DType wanted) {
  TVMVM_TRY(OpenedNpy opened, ReadHeader(beginning, beginning.path()));
  TVMVM_TRY(Layout layout, ParseDescr(opened.header.descr, wanted, beginning.path()));
  int64_t count = 1, bytes = 0;
  bool fits = true;
  for (int64_t dim : opened.header.shape)
    fits = fits && dim >= 0 && !__builtin_mul_overflow(count, dim, &count);
  if (!fits || __builtin_mul_overflow(count, layout.item_bytes, &bytes) ||
      __builtin_add_overflow(bytes, opened.data_offset, &bytes))
    return Wrong(beginning.path(), Code::kInvalidArgument, "no file is as large as its header says");
  return bytes;
}

Expected<Tensor> ReadNpy(const std::string& path, DType wanted) {
  TVMVM_TRY(InputFile file, InputFile::Open(path));
  return ReadNpy(file, wanted);
}

Expected<Tensor> ReadNpy(const InputFile& file, DType wanted) {
  const std::string& path = file.path();
  TVMVM_TRY(OpenedNpy opened, ReadHeader(file, path));
  const NpyHeader& header = opened.header;
  TVMVM_TRY(Layout layout, ParseDescr(header.descr, wanted, path));
  if (header.shape.size() > kMaxRank)
    return Wrong(path, Code::kUnsupported,
                 fmt::format("{} dimensions; at most {} are supported", header.shape.size(), kMaxRank));
  Shape shape(header.shape);
  std::optional<int64_t> count = shape.ElementCount();
  int64_t held = file.size() - opened.data_offset;
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, layout.item_bytes, &bytes) || bytes > held ||
      (layout.item_bytes == 0 && *count > (1 << 20)))
    return Wrong(path, Code::kInvalidArgument,
                 fmt::format("shape {} of '{}' does not fit into the file's {} bytes of data",
                             shape.ToString(), header.descr, held));

  bool direct = !header.fortran_order && !layout.big_endian && layout.dtype != DType::kString &&
                !IsStoredInBytes(layout.dtype);
  Tensor tensor;
  if (direct) {
    TVMVM_TRY(tensor, Tensor::Allocate(layout.dtype, shape));
    TVMVM_CHECK_OK(file.ReadAt(opened.data_offset, std::span(static_cast<std::byte*>(tensor.data()), bytes)));
  } else {
    std::vector<std::byte> raw(bytes);
    TVMVM_CHECK_OK(file.ReadAt(opened.data_offset, raw));
    if (layout.big_endian && layout.kind == 'U') SwapBytes(raw, 4);
    if (layout.big_endian && layout.kind == 'c') SwapBytes(raw, layout.item_bytes / 2);
    if (layout.big_endian && std::string_view("fiuV").find(layout.kind) != std::string_view::npos)
      SwapBytes(raw, layout.item_bytes);
    if (header.fortran_order && bytes > 0) raw = FromFortranOrder(raw, header.shape, layout.item_bytes);
    if (layout.dtype == DType::kString) return DecodeStrings(raw, layout, shape, *count);
    TVMVM_TRY(tensor, Tensor::Allocate(layout.dtype, shape));
    if (IsStoredInBytes(layout.dtype)) {
      for (int64_t i = 0; i < *count; ++i) WriteInteger(tensor, i, static_cast<int64_t>(raw[i]));
    } else if (bytes > 0) {
      std::memcpy(tensor.data(), raw.data(), bytes);
    }
  }
  if (layout.dtype == DType::kBool) {
    uint8_t* values = static_cast<uint8_t*>(tensor.data());
    for (int64_t i = 0; i < *count; ++i) values[i] = values[i] != 0;
  }
  if (IsSubByte(wanted) && IsInteger(wanted) && IsInteger(layout.dtype) && layout.dtype != wanted)
    return PackIntegers(tensor, wanted, path);
  return tensor;
}

namespace {

std::string NumberDescr(DType dtype) {
  int bytes = DTypeBits(dtype) / 8;
  if (dtype == DType::kF8E5M2) return "<f1";
  if (dtype == DType::kBF16) return "<V2";
  if (bytes <= 1 && (IsFloat(dtype) || IsSubByte(dtype))) return "|V1";
  char kind = dtype == DType::kBool    ? 'b'
              : IsFloat(dtype)         ? 'f'
              : IsComplex(dtype)       ? 'c'
              : IsSignedInteger(dtype) ? 'i'
                                       : 'u';
  return fmt::format("{}{}{}", bytes == 1 ? '|' : '<', kind, bytes);
}

Status WriteStrings(OutputFile& file, NpyHeader header, const Tensor& tensor) {
  const std::vector<std::string>& strings = tensor.strings();
  std::vector<std::u32string> decoded;
  size_t widest = 1, widest_raw = 1;
  for (const std::string& text : strings) {
    widest_raw = std::max(widest_raw, text.size());
    std::optional<std::u32string> points = DecodeUtf8(text);
    if (!points) continue;
    widest = std::max(widest, points->size());
    decoded.push_back(std::move(*points));
  }
  bool unicode = decoded.size() == strings.size();
  header.descr = unicode ? fmt::format("<U{}", widest) : fmt::format("|S{}", widest_raw);
  TVMVM_CHECK_OK(file.Write(FormatNpyHeader(header)));
  for (size_t i = 0; i < strings.size(); ++i) {
    if (unicode) {
      decoded[i].resize(widest, U'\0');
      TVMVM_CHECK_OK(file.Write(std::as_bytes(std::span(decoded[i].data(), widest))));
    } else {
      std::string padded = strings[i];
      padded.resize(widest_raw, '\0');
      TVMVM_CHECK_OK(file.Write(padded));
    }
  }
  return {};
}

}  // namespace

Status WriteNpy(const std::string& path, const Tensor& tensor) {
  TVMVM_TRY(OutputFile file, OutputFile::Create(path));
  std::span<const int64_t> dims = tensor.shape().dims();
  NpyHeader header{.shape = std::vector<int64_t>(dims.begin(), dims.end())};
  if (tensor.dtype() == DType::kString) {
    TVMVM_CHECK_OK(WriteStrings(file, std::move(header), tensor));
    return file.Commit();
  }
  header.descr = NumberDescr(tensor.dtype());
  TVMVM_CHECK_OK(file.Write(FormatNpyHeader(header)));
  if (IsStoredInBytes(tensor.dtype())) {
    std::vector<std::byte> bytes(tensor.element_count());
    Tensor codes = Tensor::Borrow(DTypeBits(tensor.dtype()) == 4 ? DType::kU4 : DType::kU2, tensor.shape(),
                                  tensor.data());
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(ReadInteger(codes, i));
    TVMVM_CHECK_OK(file.Write(bytes));
  } else {
    TVMVM_CHECK_OK(file.Write(std::span(static_cast<const std::byte*>(tensor.data()), tensor.byte_count())));
  }
  return file.Commit();
}

}  // namespace tvmvm::cli
