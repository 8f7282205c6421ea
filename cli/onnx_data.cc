#include "cli/onnx_data.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <vector>

#include "cli/elements.h"
#include "cli/files.h"
#include "serializer/protobuf.h"

namespace tvmvm::cli {
namespace {

// Field numbers of TensorProto.
enum Field : uint32_t {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kDataLocation = 14,
};

// The message as it lies in the file, before the data type is looked at.
struct Fields {
  std::vector<int64_t> dims;
  int32_t data_type = 0;
  std::string name;
  std::optional<std::string_view> raw;
  std::vector<float> floats;
  std::vector<int32_t> int32s;
  std::vector<int64_t> int64s;
  std::vector<double> doubles;
  std::vector<uint64_t> uint64s;
  std::vector<std::string> strings;
  bool external = false;
};

constexpr auto kPacked = protozero::pbf_wire_type::length_delimited;

void ReadInts(protozero::pbf_reader& reader, std::vector<int64_t>& values) {
  if (reader.wire_type() != kPacked) return values.push_back(reader.get_int64());
  for (int64_t value : reader.get_packed_int64()) values.push_back(value);
}

void ReadField(protozero::pbf_reader& reader, Fields& fields) {
  bool packed = reader.wire_type() == kPacked;
  switch (reader.tag()) {
    case kDims:
      return ReadInts(reader, fields.dims);
    case kInt64Data:
      return ReadInts(reader, fields.int64s);
    case kDataType:
      fields.data_type = reader.get_int32();
      return;
    case kName:
      fields.name = reader.get_string();
      return;
    case kStringData:
      fields.strings.push_back(reader.get_string());
      return;
    case kDataLocation:
      fields.external = reader.get_int32() == 1;
      return;
    case kRawData: {
      protozero::data_view view = reader.get_view();
      fields.raw = std::string_view(view.data(), view.size());
      return;
    }
    case kFloatData:
      if (!packed) return fields.floats.push_back(reader.get_float());
      for (float value : reader.get_packed_float()) fields.floats.push_back(value);
      return;
    case kDoubleData:
      if (!packed) return fields.doubles.push_back(reader.get_double());
      for (double value : reader.get_packed_double()) fields.doubles.push_back(value);
      return;
    case kInt32Data:
      if (!packed) return fields.int32s.push_back(reader.get_int32());
      for (int32_t value : reader.get_packed_int32()) fields.int32s.push_back(value);
      return;
    case kUint64Data:
      if (!packed) return fields.uint64s.push_back(reader.get_uint64());
      for (uint64_t value : reader.get_packed_uint64()) fields.uint64s.push_back(value);
      return;
    default:
      reader.skip();
  }
}

tl::unexpected<Error> Malformed(std::string_view why) {
  return MakeError(Code::kInvalidArgument, fmt::format("malformed TensorProto: {}", why));
}

Status CheckCount(size_t found, int64_t wanted, std::string_view field) {
  if (static_cast<int64_t>(found) == wanted) return {};
  return Malformed(fmt::format("{} values in {}, {} wanted", found, field, wanted));
}

// Copies numbers whose type in the message is the tensor's own type.
template <class T>
Status CopyNumbers(const std::vector<T>& values, std::string_view field, Tensor& tensor) {
  TVMVM_CHECK_OK(
      CheckCount(values.size() * sizeof(T), tensor.byte_count(), fmt::format("bytes of {}", field)));
  if (!values.empty()) std::memcpy(tensor.data(), values.data(), values.size() * sizeof(T));
  return {};
}

// int32_data: one element each for types of 8 to 32 bits; the packed byte of two or four elements for smaller
// ones.
Status CopyInt32s(const std::vector<int32_t>& values, Tensor& tensor) {
  if (IsSubByte(tensor.dtype())) {
    TVMVM_CHECK_OK(CheckCount(values.size(), tensor.byte_count(), "int32_data"));
    uint8_t* bytes = static_cast<uint8_t*>(tensor.data());
    for (size_t i = 0; i < values.size(); ++i) bytes[i] = static_cast<uint8_t>(values[i]);
    return {};
  }
  TVMVM_CHECK_OK(CheckCount(values.size(), tensor.element_count(), "int32_data"));
  for (size_t i = 0; i < values.size(); ++i) WriteInteger(tensor, static_cast<int64_t>(i), values[i]);
  return {};
}

Status CopyTyped(const Fields& fields, Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF32:
    case DType::kC64:
      return CopyNumbers(fields.floats, "float_data", tensor);
    case DType::kF64:
    case DType::kC128:
      return CopyNumbers(fields.doubles, "double_data", tensor);
    case DType::kI64:
      return CopyNumbers(fields.int64s, "int64_data", tensor);
    case DType::kU64:
      return CopyNumbers(fields.uint64s, "uint64_data", tensor);
    case DType::kU32: {
      TVMVM_CHECK_OK(CheckCount(fields.uint64s.size(), tensor.element_count(), "uint64_data"));
      for (size_t i = 0; i < fields.uint64s.size(); ++i)
        WriteInteger(tensor, static_cast<int64_t>(i), static_cast<int64_t>(fields.uint64s[i]));
      return {};
    }
    default:
      return CopyInt32s(fields.int32s, tensor);
  }
}

Expected<NamedTensor> MakeTensor(Fields fields) {
  if (fields.external) return MakeError(Code::kUnsupported, "external data is not read here");
  std::optional<DType> dtype = DTypeFromOnnx(fields.data_type);
  if (!dtype || *dtype == DType::kInvalid)
    return Malformed(fmt::format("unknown data type {}", fields.data_type));
  if (fields.dims.size() > kMaxRank)
    return MakeError(Code::kUnsupported,
                     fmt::format("{} dimensions; at most {} are supported", fields.dims.size(), kMaxRank));
  Shape shape(fields.dims);
  std::optional<int64_t> count = shape.ElementCount();
  if (!count) return Malformed(fmt::format("impossible shape {}", shape.ToString()));
  if (*dtype == DType::kString) {
    TVMVM_CHECK_OK(CheckCount(fields.strings.size(), *count, "string_data"));
    return NamedTensor{std::move(fields.name), Tensor::FromStrings(shape, std::move(fields.strings))};
  }
  // What the message holds bounds what is allocated: no typed value is smaller than a quarter of a byte in
  // memory.
  size_t values = fields.floats.size() + fields.int32s.size() + fields.int64s.size() + fields.doubles.size() +
                  fields.uint64s.size();
  int64_t held = fields.raw ? static_cast<int64_t>(fields.raw->size()) : static_cast<int64_t>(values) * 16;
  bool is_packed = fields.raw && IsFloat6(*dtype);
  int64_t wanted = is_packed ? PackedFloat6Bytes(*count) : DTypeBytes(*dtype, *count);
  if (wanted > held)
    return Malformed(
        fmt::format("shape {} of {} needs more data than there is", shape.ToString(), DTypeName(*dtype)));
  TVMVM_TRY(Tensor tensor, Tensor::Allocate(*dtype, shape));
  if (fields.raw) {
    TVMVM_CHECK_OK(CheckCount(fields.raw->size(), wanted, "bytes of raw_data"));
    auto elements = std::span(static_cast<std::byte*>(tensor.data()), static_cast<size_t>(*count));
    if (is_packed)
      UnpackFloat6(std::as_bytes(std::span(*fields.raw)), elements);
    else if (!fields.raw->empty())
      std::memcpy(tensor.data(), fields.raw->data(), fields.raw->size());
  } else {
    TVMVM_CHECK_OK(CopyTyped(fields, tensor));
  }
  return NamedTensor{std::move(fields.name), std::move(tensor)};
}

// Field numbers that SequenceProto and OptionalProto share.
enum ContainerField : uint32_t {
  kContainerName = 1,
  kTensorValue = 3,
  kSequenceValue = 5,
  kOptionalValue = 7
};
constexpr int kDeepest = 32;

Expected<NamedValue> ParseValue(std::span<const std::byte> bytes, const TypeSpec& type, int depth);

// The elements of a sequence, or the one or none of an optional.
Expected<NamedValue> ParseContainer(std::span<const std::byte> bytes, const TypeSpec& type, int depth) {
  if (depth > kDeepest) return MakeError(Code::kUnsupported, "sequences are nested too deeply");
  TypeSpec element = type.elements.empty() ? TypeSpec() : type.elements[0];
  std::string name;
  std::vector<Value> elements;
  protozero::pbf_reader reader(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (reader.next()) {
    uint32_t tag = reader.tag();
    if (tag == kContainerName) {
      name = reader.get_string();
      continue;
    }
    if (tag != kTensorValue && tag != kSequenceValue && tag != kOptionalValue) {
      reader.skip();
      continue;
    }
    // An optional's file may hold the element without an OptionalProto around it, which shows in a sequence
    // of tensors.
    if (type.kind == ValueKind::kOptional && element.kind == ValueKind::kSequence && tag == kTensorValue)
      return ParseContainer(bytes, element, depth + 1);
    // The message says which kind each element is.
    TypeSpec found = element;
    ValueKind kind = tag == kTensorValue     ? ValueKind::kTensor
                     : tag == kSequenceValue ? ValueKind::kSequence
                                             : ValueKind::kOptional;
    if (found.kind != kind) found = TypeSpec{.kind = kind};
    protozero::data_view view = reader.get_view();
    TVMVM_TRY(NamedValue value,
              ParseValue(std::as_bytes(std::span(view.data(), view.size())), found, depth + 1));
    elements.push_back(std::move(value.value));
  }
  if (type.kind == ValueKind::kSequence)
    return NamedValue{std::move(name), Value::Sequence(std::move(elements))};
  if (elements.size() > 1) return Malformed("an optional with several elements");
  return NamedValue{std::move(name), elements.empty() ? Value() : std::move(elements[0])};
}

Expected<NamedValue> ParseValue(std::span<const std::byte> bytes, const TypeSpec& type, int depth) {
  if (type.kind == ValueKind::kTuple) return MakeError(Code::kUnsupported, "a tuple has no message");
  if (type.kind != ValueKind::kTensor) return ParseContainer(bytes, type, depth);
  TVMVM_TRY(NamedTensor named, ParseTensorProto(bytes));
  return NamedValue{std::move(named.name), Value(std::move(named.tensor))};
}

}  // namespace

Expected<NamedTensor> ParseTensorProto(std::span<const std::byte> bytes) {
  Fields fields;
  protozero::pbf_reader reader(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    while (reader.next()) ReadField(reader, fields);
  } catch (const protozero::exception& error) {
    return Malformed(fmt::format("field {}: {}", reader.tag(), error.what()));
  }
  return MakeTensor(std::move(fields));
}

Expected<NamedValue> ParseValueProto(std::span<const std::byte> bytes, const TypeSpec& type) {
  try {
    return ParseValue(bytes, type, 0);
  } catch (const protozero::exception& error) {
    return Malformed(error.what());
  }
}

Expected<NamedValue> ReadValueProto(const std::string& path, const TypeSpec& type) {
  TVMVM_TRY(std::vector<std::byte> bytes, ReadFile(path));
  auto value = ParseValueProto(bytes, type);
  if (!value) return MakeError(value.error().code, fmt::format("'{}': {}", path, value.error().message));
  return value;
}

}  // namespace tvmvm::cli
