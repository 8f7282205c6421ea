#include "vm/sandbox/packed_values.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string>

namespace tvmvm::sandbox {
namespace {

uint64_t Aligned(uint64_t bytes) { return (bytes + kPackedAlignment - 1) & ~(kPackedAlignment - 1); }

PackedRecord::Kind KindOf(const Value& value) {
  if (value.is_tensor()) return PackedRecord::kTensor;
  if (value.is_sequence()) return PackedRecord::kSequence;
  return value.is_tuple() ? PackedRecord::kTuple : PackedRecord::kNone;
}

Expected<uint64_t> ElementBytes(const Tensor& tensor, const std::string& name) {
  const std::optional<int64_t> count = tensor.shape().ElementCount();
  if (!count) return MakeError(Code::kInvalidArgument, name + ": its shape is impossible");
  if (tensor.device() != nullptr && tensor.data() == nullptr)
    return MakeError(Code::kUnsupported, name + " is in a device's memory, which the sandbox does not reach");
  if (tensor.dtype() != DType::kString) {
    if (tensor.data() == nullptr && *count > 0)
      return MakeError(Code::kInvalidArgument, name + ": its memory is null");
    return static_cast<uint64_t>(DTypeBytes(tensor.dtype(), *count));
  }
  if (tensor.shared_strings() == nullptr || tensor.strings().size() != static_cast<size_t>(*count))
    return MakeError(Code::kInvalidArgument, name + ": it does not hold as many strings as its shape says");
  uint64_t bytes = 0;
  for (const std::string& text : tensor.strings()) bytes += sizeof(uint64_t) + text.size();
  return bytes;
}

void WriteStrings(const std::vector<std::string>& strings, std::byte* to) {
  std::byte* text_to = to + strings.size() * sizeof(uint64_t);
  for (const std::string& text : strings) {
    const uint64_t size = text.size();
    std::memcpy(to, &size, sizeof size);
    to += sizeof size;
    std::memcpy(text_to, text.data(), text.size());
    text_to += text.size();
  }
}

tl::unexpected<Error> Wrong(uint64_t record, const std::string& what) {
  return MakeError(Code::kInvalidProgram, "value " + std::to_string(record) + ": " + what);
}

// Sizes are copied out of the memory before they are looked at: it may change at any time.
class Unpacker {
 public:
  Unpacker(std::span<const std::byte> memory, Unpacking unpacking, std::span<const Value> given)
      : memory_(memory), unpacking_(unpacking), given_(given) {}

  Status Read(uint64_t place, uint64_t records) {
    if (place > memory_.size() || records > (memory_.size() - place) / sizeof(PackedRecord))
      return MakeError(Code::kInvalidProgram, "values lie outside of the shared memory");
    for (number_ = 0; number_ < records; ++number_) {
      PackedRecord record;
      std::memcpy(&record, memory_.data() + place + number_ * sizeof record, sizeof record);
      TVMVM_CHECK_OK(Add(record));
    }
    if (!open_.empty()) return MakeError(Code::kInvalidProgram, "a sequence ends before its elements do");
    return {};
  }

  std::vector<Value> TakeResults() { return std::move(results_); }

 private:
  // A sequence or tuple whose elements are being read.
  struct Container {
    bool is_tuple;
    int64_t tag;
    uint64_t left;
    std::vector<Value> elements;
    Value Close() {
      return is_tuple ? Value::Tuple(tag, std::move(elements)) : Value::Sequence(std::move(elements));
    }
  };

  Status Add(const PackedRecord& record) {
    switch (record.kind) {
      case PackedRecord::kNone:
        Give(Value());
        return {};
      case PackedRecord::kTensor: {
        TVMVM_TRY(Tensor tensor, ReadTensor(record));
        Give(std::move(tensor));
        return {};
      }
      case PackedRecord::kSequence:
      case PackedRecord::kTuple: {
        Container container{record.kind == PackedRecord::kTuple, record.tag, record.count, {}};
        if (record.count == 0)
          Give(container.Close());
        else
          open_.push_back(std::move(container));
        return {};
      }
      default:
        return Wrong(number_, "its kind is " + std::to_string(record.kind));
    }
  }

  void Give(Value value) {
    while (!open_.empty()) {
      Container& container = open_.back();
      container.elements.push_back(std::move(value));
      if (--container.left > 0) return;
      value = container.Close();
      open_.pop_back();
    }
    results_.push_back(std::move(value));
  }

  Expected<Tensor> ReadTensor(const PackedRecord& record) {
    if (record.dtype == 0 || record.dtype >= kDTypeCount)
      return Wrong(number_, "its element type is " + std::to_string(record.dtype));
    if (record.rank > kMaxRank) return Wrong(number_, "its rank is " + std::to_string(record.rank));
    const auto dtype = static_cast<DType>(record.dtype);
    const Shape shape(std::span<const int64_t>(record.dims, record.rank));
    const std::optional<int64_t> count = shape.ElementCount();
    if (!count) return Wrong(number_, "its shape is impossible");
    if (record.place > memory_.size() || record.bytes > memory_.size() - record.place ||
        record.place % kPackedAlignment != 0)
      return Wrong(number_, "its elements lie outside of the shared memory");
    const auto elements = memory_.subspan(record.place, record.bytes);
    if (dtype == DType::kString) return ReadStrings(shape, static_cast<uint64_t>(*count), elements);
    if (static_cast<uint64_t>(DTypeBytes(dtype, *count)) != record.bytes)
      return Wrong(number_, "it has " + std::to_string(record.bytes) + " bytes of elements");
    if (unpacking_ == Unpacking::kBorrow)
      return Tensor::Borrow(dtype, shape, const_cast<std::byte*>(elements.data()));
    TVMVM_TRY(Tensor tensor, RoomFor(dtype, shape));
    std::memcpy(tensor.data(), elements.data(), elements.size());
    return tensor;
  }

  // The tensor that was given for this value, or a new one.
  Expected<Tensor> RoomFor(DType dtype, const Shape& shape) const {
    const size_t output = results_.size();
    if (!open_.empty() || output >= given_.size() || !given_[output].is_tensor())
      return Tensor::Allocate(dtype, shape);
    const Tensor& given = given_[output].tensor();
    if (given.dtype() != dtype || given.shape() != shape ||
        (given.data() == nullptr && dtype != DType::kString))
      return MakeError(Code::kInvalidArgument, "output " + std::to_string(output) + ": memory for " +
                                                   std::string(DTypeName(given.dtype())) +
                                                   given.shape().ToString() + " given, the result is " +
                                                   std::string(DTypeName(dtype)) + shape.ToString());
    return given;
  }

  Expected<Tensor> ReadStrings(const Shape& shape, uint64_t count, std::span<const std::byte> bytes) const {
    if (count > bytes.size() / sizeof(uint64_t))
      return Wrong(number_, "its strings end before they are all there");
    std::vector<std::string> strings(count);
    std::span<const std::byte> texts = bytes.subspan(count * sizeof(uint64_t));
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t size;
      std::memcpy(&size, bytes.data() + i * sizeof size, sizeof size);
      if (size > texts.size()) return Wrong(number_, "its strings end before they are all there");
      strings[i].assign(reinterpret_cast<const char*>(texts.data()), size);
      texts = texts.subspan(size);
    }
    TVMVM_TRY(Tensor tensor, RoomFor(DType::kString, shape));
    tensor.strings() = std::move(strings);
    return tensor;
  }

  const std::span<const std::byte> memory_;
  const Unpacking unpacking_;
  const std::span<const Value> given_;
  uint64_t number_ = 0;
  std::vector<Container> open_;
  std::vector<Value> results_;
};

}  // namespace

Expected<ValuePacker> ValuePacker::Create(std::span<const Value> values, const char* what) {
  ValuePacker packer;
  std::vector<const Value*> waiting;
  for (size_t i = 0; i < values.size(); ++i) {
    waiting.push_back(&values[i]);
    while (!waiting.empty()) {
      const Value& value = *waiting.back();
      waiting.pop_back();
      Node node{&value, 0};
      if (value.is_tensor()) {
        TVMVM_TRY(node.bytes, ElementBytes(value.tensor(), std::string(what) + " " + std::to_string(i)));
        packer.bytes_ += Aligned(node.bytes);
      } else if (value.is_sequence() || value.is_tuple()) {
        const std::vector<Value>& elements = value.elements();
        for (auto element = elements.rbegin(); element != elements.rend(); ++element)
          waiting.push_back(&*element);
      }
      packer.nodes_.push_back(node);
    }
  }
  packer.bytes_ += Aligned(packer.nodes_.size() * sizeof(PackedRecord));
  return packer;
}

void ValuePacker::WriteTo(std::byte* memory, uint64_t place) const {
  std::byte* to = memory + place;
  uint64_t elements = place + Aligned(nodes_.size() * sizeof(PackedRecord));
  for (const auto& [value, bytes] : nodes_) {
    PackedRecord record;
    record.kind = KindOf(*value);
    if (record.kind == PackedRecord::kTensor) {
      const Tensor& tensor = value->tensor();
      record.dtype = static_cast<uint32_t>(tensor.dtype());
      record.rank = static_cast<uint32_t>(tensor.shape().rank());
      std::ranges::copy(tensor.shape().dims(), record.dims);
      record.place = elements;
      record.bytes = bytes;
      if (tensor.dtype() == DType::kString)
        WriteStrings(tensor.strings(), memory + elements);
      else if (bytes > 0)
        std::memcpy(memory + elements, tensor.data(), bytes);
      elements += Aligned(bytes);
    } else if (record.kind != PackedRecord::kNone) {
      record.tag = value->tag();
      record.count = value->elements().size();
    }
    std::memcpy(to, &record, sizeof record);
    to += sizeof record;
  }
}

Expected<std::vector<Value>> UnpackValues(std::span<const std::byte> memory, uint64_t place, uint64_t records,
                                          Unpacking unpacking, std::span<const Value> given) {
  try {
    Unpacker unpacker(memory, unpacking, given);
    TVMVM_CHECK_OK(unpacker.Read(place, records));
    return unpacker.TakeResults();
  } catch (const std::bad_alloc&) {
    return MakeError(Code::kOutOfMemory, "no memory for values");
  }
}

}  // namespace tvmvm::sandbox
