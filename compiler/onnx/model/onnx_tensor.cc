#include "compiler/onnx/model/onnx_tensor.h"

#include <fmt/core.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "compiler/onnx/model/checksum.h"
#include "tvm-vm/shape.h"

namespace tvmvm::ir {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor data is viewed in place");

using protozero::pbf_reader;
using protozero::pbf_wire_type;

[[noreturn]] void Refuse(std::string message) {
  throw OnnxReadError(Code::kInvalidArgument, std::move(message));
}

// A sparse tensor is made dense; its dims say nothing about the size of the file, so that the size is limited
// here.
constexpr int64_t kMaxDenseBytes = int64_t{1} << 30;

// One field of numbers as it stands in the file: the chunks of its packed and single forms.
template <class T>
class NumberField {
 public:
  void ReadVarint(pbf_reader& reader) {
    if (reader.wire_type() == pbf_wire_type::length_delimited) {
      auto range = reader.get_packed_uint64();
      for (uint64_t value : range) values_.push_back(static_cast<T>(value));
    } else {
      values_.push_back(static_cast<T>(reader.get_uint64()));
    }
  }

  // Fixed-width numbers stand in the file as in memory: a single packed chunk is viewed.
  void ReadFixed(pbf_reader& reader) {
    if (reader.wire_type() != pbf_wire_type::length_delimited) {
      AppendChunk(std::exchange(view_, {}));
      if constexpr (sizeof(T) == 4) {
        values_.push_back(std::bit_cast<T>(reader.get_fixed32()));
      } else {
        values_.push_back(std::bit_cast<T>(reader.get_fixed64()));
      }
      return;
    }
    protozero::data_view view = reader.get_view();
    if (view.size() % sizeof(T) != 0)
      Refuse(fmt::format("a packed field of {} bytes is no multiple of {}", view.size(), sizeof(T)));
    std::span<const std::byte> chunk{reinterpret_cast<const std::byte*>(view.data()), view.size()};
    if (values_.empty() && view_.empty()) {
      view_ = chunk;
      return;
    }
    AppendChunk(std::exchange(view_, {}));
    AppendChunk(chunk);
  }

  std::span<const std::byte> view() const { return view_; }  // where the numbers are one chunk of the file
  const std::vector<T>& values() const { return values_; }   // elsewhere

 private:
  void AppendChunk(std::span<const std::byte> chunk) {
    size_t old = values_.size();
    values_.resize(old + chunk.size() / sizeof(T));
    if (!chunk.empty()) std::memcpy(values_.data() + old, chunk.data(), chunk.size());
  }

  std::vector<T> values_;
  std::span<const std::byte> view_;
};

struct ExternalEntry {
  std::string key;
  std::string value;
};

struct TensorFields {
  std::string name;
  std::vector<int64_t> dims;
  int32_t data_type = 0;
  NumberField<float> floats;
  NumberField<double> doubles;
  NumberField<int32_t> int32s;
  NumberField<int64_t> int64s;
  NumberField<uint64_t> uint64s;
  std::vector<std::string> strings;
  std::optional<std::span<const std::byte>> raw;
  std::vector<ExternalEntry> external;
  bool is_external = false;
};

ExternalEntry ReadEntry(pbf_reader reader) {
  ExternalEntry entry;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case protozero::tag_and_type(1, pbf_wire_type::length_delimited):
        entry.key = reader.get_string();
        break;
      case protozero::tag_and_type(2, pbf_wire_type::length_delimited):
        entry.value = reader.get_string();
        break;
      default:
        reader.skip();
    }
  }
  return entry;
}

TensorFields ReadFields(pbf_reader reader) {
  TensorFields fields;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        AppendInt64(reader, &fields.dims);
        break;
      case 2:
        fields.data_type = reader.get_int32();
        break;
      case 4:
        fields.floats.ReadFixed(reader);
        break;
      case 5:
        fields.int32s.ReadVarint(reader);
        break;
      case 6:
        fields.strings.push_back(reader.get_string());
        break;
      case 7:
        fields.int64s.ReadVarint(reader);
        break;
      case 8:
        fields.name = reader.get_string();
        break;
      case 9: {
        protozero::data_view view = reader.get_view();
        fields.raw = {reinterpret_cast<const std::byte*>(view.data()), view.size()};
        break;
      }
      case 10:
        fields.doubles.ReadFixed(reader);
        break;
      case 11:
        fields.uint64s.ReadVarint(reader);
        break;
      case 13:
        fields.external.push_back(ReadEntry(reader.get_message()));
        break;
      case 14:
        fields.is_external = reader.get_int32() == 1;
        break;
      default:
        reader.skip();
    }
  }
  return fields;
}

int64_t CountElements(const std::vector<int64_t>& dims) {
  if (dims.size() > kMaxRank)
    Refuse(fmt::format("{} dimensions, at most {} are supported", dims.size(), kMaxRank));
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (dim < 0) Refuse(fmt::format("dimension {} is negative", dim));
    if (__builtin_mul_overflow(count, dim, &count) || count > std::numeric_limits<int64_t>::max() / 16)
      Refuse("the dimensions' product is too large");
  }
  return count;
}

uint64_t ParseNumber(const ExternalEntry& entry) {
  uint64_t value = 0;
  const char* end = entry.value.data() + entry.value.size();
  auto [rest, error] = std::from_chars(entry.value.data(), end, value);
  if (error != std::errc() || rest != end || entry.value.empty())
    Refuse(fmt::format("external data's {} '{}' is not a number", entry.key, entry.value));
  return value;
}

// That the whole file is what the model was written with; each is read once.
void CheckChecksum(const std::string& location, const MappedFile& file, std::string wanted,
                   OnnxSource& source) {
  std::string& found = source.checksums[location];
  if (found.empty()) found = ChecksumOf(file.bytes());
  for (char& digit : wanted)
    if (digit >= 'A' && digit <= 'F') digit = static_cast<char>(digit - 'A' + 'a');
  if (found != wanted)
    Refuse(fmt::format("external data '{}' is damaged: its checksum is {}, the model says {}", location,
                       found, wanted));
}

void ViewExternal(const TensorFields& fields, int64_t wanted, OnnxSource& source, TensorData* data) {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  std::string checksum;
  for (const ExternalEntry& entry : fields.external) {
    if (entry.key == "location") {
      location = entry.value;
    } else if (entry.key == "offset") {
      offset = ParseNumber(entry);
    } else if (entry.key == "length") {
      length = ParseNumber(entry);
    } else if (entry.key == "checksum") {
      checksum = entry.value;
    } else {
      Refuse(fmt::format("external data has the unknown key '{}'", entry.key));
    }
  }
  auto& file = source.external[location];
  if (file == nullptr) {
    static const ModelFolder kNoFolder;
    auto opened = (source.folder != nullptr ? *source.folder : kNoFolder).Open(location);
    if (!opened) throw OnnxReadError(opened.error().code, opened.error().message);
    file = *opened;
  }
  if (!checksum.empty()) CheckChecksum(location, *file, checksum, source);
  uint64_t size = file->bytes().size();
  if (offset > size || length.value_or(static_cast<uint64_t>(wanted)) > size - offset)
    Refuse(fmt::format("external data at offset {} of length {} leaves '{}' of {} bytes", offset,
                       length.value_or(static_cast<uint64_t>(wanted)), location, size));
  if (length.has_value() && *length != static_cast<uint64_t>(wanted))
    Refuse(fmt::format("external data has {} bytes, type and dimensions want {}", *length, wanted));
  data->bytes = file->bytes().subspan(offset, static_cast<size_t>(wanted));
  data->owner = file;
}

template <class Stored, class Field>
void Narrow(const Field& field, TensorData* data) {
  std::vector<std::byte> bytes(field.values().size() * sizeof(Stored));
  size_t at = 0;
  for (auto value : field.values()) {
    auto stored = static_cast<Stored>(value);
    std::memcpy(bytes.data() + at, &stored, sizeof(stored));
    at += sizeof(stored);
  }
  *data = TensorData::Owned(data->dtype, data->dims, std::move(bytes));
}

template <class Field>
void ViewOrCopy(const Field& field, const OnnxSource& source, TensorData* data) {
  if (!field.view().empty()) {
    data->bytes = field.view();
    data->owner = source.owner;
    return;
  }
  auto bytes = std::as_bytes(std::span(field.values()));
  *data = TensorData::Owned(data->dtype, data->dims, {bytes.begin(), bytes.end()});
}

// The typed field that ONNX names for each element type. Sub-byte elements are packed, one byte an entry.
void FromTypedField(const TensorFields& fields, const OnnxSource& source, TensorData* data) {
  switch (data->dtype) {
    case DType::kF32:
    case DType::kC64:
      return ViewOrCopy(fields.floats, source, data);
    case DType::kF64:
    case DType::kC128:
      return ViewOrCopy(fields.doubles, source, data);
    case DType::kI64:
      return Narrow<int64_t>(fields.int64s, data);
    case DType::kU64:
      return Narrow<uint64_t>(fields.uint64s, data);
    case DType::kU32:
      return Narrow<uint32_t>(fields.uint64s, data);
    case DType::kI32:
      return Narrow<int32_t>(fields.int32s, data);
    default:
      if (DTypeBits(data->dtype) == 16) return Narrow<uint16_t>(fields.int32s, data);
      return Narrow<uint8_t>(fields.int32s, data);
  }
}

// Bools are 0 or 1 everywhere behind the reader.
void NormalizeBools(TensorData* data) {
  bool normal = true;
  for (std::byte byte : data->bytes) normal = normal && byte <= std::byte{1};
  if (normal) return;
  std::vector<std::byte> bytes(data->bytes.begin(), data->bytes.end());
  for (std::byte& byte : bytes) byte = byte == std::byte{0} ? std::byte{0} : std::byte{1};
  *data = TensorData::Owned(DType::kBool, data->dims, std::move(bytes));
}

std::shared_ptr<const TensorData> Decode(TensorFields fields, OnnxSource& source) {
  auto dtype = DTypeFromOnnx(fields.data_type);
  if (!dtype.has_value() || *dtype == DType::kInvalid)
    throw OnnxReadError(Code::kUnsupported, fmt::format("element type {} is unknown", fields.data_type));
  int64_t count = CountElements(fields.dims);
  auto data = std::make_shared<TensorData>();
  data->dtype = *dtype;
  data->dims = std::move(fields.dims);
  if (*dtype == DType::kString) {
    if (static_cast<int64_t>(fields.strings.size()) != count)
      Refuse(fmt::format("{} strings, dimensions want {}", fields.strings.size(), count));
    data->strings = std::move(fields.strings);
    return data;
  }
  int64_t wanted = DTypeBytes(*dtype, count);
  bool is_typed = !fields.is_external && !(fields.raw.has_value() && !(fields.raw->empty() && wanted > 0));
  bool is_packed = IsFloat6(*dtype) && !is_typed;
  if (is_packed) wanted = PackedFloat6Bytes(count);
  if (fields.is_external) {
    ViewExternal(fields, wanted, source, data.get());
  } else if (!is_typed) {
    data->bytes = *fields.raw;
    data->owner = source.owner;
  } else {
    FromTypedField(fields, source, data.get());
  }
  if (static_cast<int64_t>(data->bytes.size()) != wanted)
    Refuse(fmt::format("{} bytes of data, type {} and {} elements want {}", data->bytes.size(),
                       DTypeName(*dtype), count, wanted));
  if (*dtype == DType::kBool) NormalizeBools(data.get());
  if (is_packed) {
    std::vector<std::byte> elements(static_cast<size_t>(count));
    UnpackFloat6(data->bytes, elements);
    *data = TensorData::Owned(*dtype, data->dims, std::move(elements));
  }
  return data;
}

// The linear position that the indices of one sparse element name: a linear index, or one coordinate an axis.
int64_t SparsePosition(const int64_t* indices, int64_t width, const std::vector<int64_t>& dims, bool linear,
                       int64_t count) {
  int64_t position = 0;
  for (int64_t k = 0; k < width; ++k) {
    int64_t limit = linear ? count : dims[static_cast<size_t>(k)];
    if (indices[k] < 0 || indices[k] >= limit)
      Refuse(fmt::format("sparse index {} is outside [0, {})", indices[k], limit));
    position = linear ? indices[k] : position * limit + indices[k];
  }
  return position;
}

template <class T>
std::vector<int64_t> ReadIndicesOf(std::span<const std::byte> bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return {numbers.begin(), numbers.end()};
}

// None where they are of another type. ONNX wants i64; ONNX Runtime writes the smallest that is enough.
std::vector<int64_t> ReadIndices(const TensorData& indices) {
  switch (indices.dtype) {
    case DType::kI64:
      return ReadIndicesOf<int64_t>(indices.bytes);
    case DType::kI32:
      return ReadIndicesOf<int32_t>(indices.bytes);
    case DType::kI16:
      return ReadIndicesOf<int16_t>(indices.bytes);
    case DType::kI8:
      return ReadIndicesOf<int8_t>(indices.bytes);
    default:
      return {};
  }
}

std::shared_ptr<const TensorData> MakeDense(const OnnxInitializer& values, const OnnxInitializer& indices,
                                            std::vector<int64_t> dims) {
  if (values.data == nullptr || indices.data == nullptr) Refuse("a sparse tensor needs values and indices");
  const TensorData& from = *values.data;
  int64_t count = CountElements(dims);
  int bits = DTypeBits(from.dtype);
  if (bits % 8 != 0 || bits == 0)
    Refuse(fmt::format("a sparse tensor of {} elements", DTypeName(from.dtype)));
  int64_t element = bits / 8;
  if (count > kMaxDenseBytes / element)
    Refuse(fmt::format("a sparse tensor of {} elements is too large", count));
  bool linear = indices.data->dims.size() == 1;
  int64_t width = linear ? 1 : static_cast<int64_t>(dims.size());
  int64_t given = from.element_count();
  std::vector<int64_t> positions = ReadIndices(*indices.data);
  if (std::ssize(positions) != given * width)
    Refuse(fmt::format("{} sparse values want {} indices of i64, i32, i16 or i8; there are {} of {}", given,
                       given * width, indices.data->element_count(), DTypeName(indices.data->dtype)));
  std::vector<std::byte> dense(static_cast<size_t>(count * element));
  for (int64_t i = 0; i < given; ++i) {
    int64_t to = SparsePosition(positions.data() + i * width, width, dims, linear, count);
    std::memcpy(dense.data() + to * element, from.bytes.data() + i * element, static_cast<size_t>(element));
  }
  return std::make_shared<TensorData>(TensorData::Owned(from.dtype, std::move(dims), std::move(dense)));
}

OnnxReadError ErrorOf(const std::string& tensor, const OnnxReadError& error) {
  OnnxReadError named(error.code, fmt::format("tensor '{}': {}", tensor, error.what()));
  named.tensor = tensor;
  return named;
}

}  // namespace

void AppendInt64(pbf_reader& reader, std::vector<int64_t>* values) {
  if (reader.wire_type() == pbf_wire_type::length_delimited) {
    for (int64_t value : reader.get_packed_int64()) values->push_back(value);
  } else {
    values->push_back(reader.get_int64());
  }
}

OnnxInitializer ReadTensorProto(pbf_reader reader, OnnxSource& source) {
  TensorFields fields = ReadFields(reader);
  std::string name = fields.name;
  try {
    return {name, Decode(std::move(fields), source)};
  } catch (const OnnxReadError& error) {
    throw ErrorOf(name, error);
  }
}

OnnxInitializer ReadSparseTensorProto(pbf_reader reader, OnnxSource& source) {
  OnnxInitializer values;
  OnnxInitializer indices;
  std::vector<int64_t> dims;
  try {
    while (reader.next()) {
      switch (reader.tag()) {
        case 1:
          values = ReadTensorProto(reader.get_message(), source);
          break;
        case 2:
          indices = ReadTensorProto(reader.get_message(), source);
          break;
        case 3:
          AppendInt64(reader, &dims);
          break;
        default:
          reader.skip();
      }
    }
    values.data = MakeDense(values, indices, std::move(dims));
    return values;
  } catch (OnnxReadError& error) {
    // The values' name is the tensor's.
    error.tensor = values.name.empty() ? std::nullopt : std::optional(values.name);
    throw;
  }
}

}  // namespace tvmvm::ir
