#include "compiler/onnx/model/no_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace tvmvm::ir {
namespace {

struct Signature {
  std::string_view begin;
  const char* what;
};

constexpr Signature kOthers[] = {
    {"\x89TVMVM\r\n", "is a .vmexe program, not an ONNX file: run it, it is compiled already"},
    {"version https://git-lfs",
     "is not an ONNX file: it is a pointer of Git LFS, get the file itself by `git lfs pull`"},
    {"PK\x03\x04", "is not an ONNX file: it is a zip archive, as .npz, .pt and .pt2 files are"},
    {"\x1f\x8b", "is not an ONNX file: it is compressed by gzip"},
    {"\x28\xb5\x2f\xfd", "is not an ONNX file: it is compressed by zstd"},
    {"\x89HDF\r\n", "is not an ONNX file: it is an HDF5 file, as Keras writes them"},
    {"\x93NUMPY", "is not an ONNX file: it is a .npy file"},
    {"\x80\x02", "is not an ONNX file: it is a pickle"},
};

constexpr std::string_view kFlatBufferNames[][2] = {
    {"TFL3", "is not an ONNX file: it is a model of TensorFlow Lite"},
    {"ORTM", "is not an ONNX file: it is in ONNX Runtime's own format"}};

// Walks the fields of a message without looking into them.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  bool at_end() const { return at_ == bytes_.size(); }
  // The field's number; 0 where no field can begin so.
  uint64_t ReadNumber() {
    uint64_t tag = ReadVarint();
    type_ = tag & 7;
    return cut_ ? 0 : tag >> 3;
  }
  // False where it cannot be: cut() tells whether for want of bytes.
  bool Skip() {
    uint64_t length = 0;
    if (type_ == 0) ReadVarint();
    if (type_ == 1) length = 8;
    if (type_ == 2) length = ReadVarint();
    if (type_ == 5) length = 4;
    if (type_ == 3 || type_ == 4 || type_ > 5) return false;
    if (cut_) return false;
    missing_ = length - std::min<uint64_t>(length, bytes_.size() - at_);
    at_ += length - missing_;
    cut_ = missing_ > 0;
    return !cut_;
  }
  bool cut() const { return cut_; }
  uint64_t missing() const { return missing_; }  // bytes, where a length told of them

 private:
  uint64_t ReadVarint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_end()) {
        cut_ = true;
        return 0;
      }
      const auto byte = static_cast<uint8_t>(bytes_[at_++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  uint64_t type_ = 0;
  uint64_t missing_ = 0;
  bool cut_ = false;
};

// The fields of ModelProto.
bool IsModelField(uint64_t number) {
  return (number >= 1 && number <= 8) || number == 14 || number == 20 || number == 25 || number == 26;
}

bool IsText(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](char c) { return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\r' || c == '\t'; });
}

}  // namespace

std::optional<std::string> WhyNoModel(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) return "is not an ONNX model: it is empty";
  for (const Signature& other : kOthers)
    if (text.starts_with(other.begin)) return other.what;
  for (const auto& [name, what] : kFlatBufferNames)
    if (text.size() > 8 && text.substr(4, 4) == name) return std::string(what);
  constexpr size_t kLook = 256;
  if (text.size() >= 4 && IsText(text.substr(0, kLook))) return "is not an ONNX file: it is text";
  Fields fields(text);
  while (!fields.at_end()) {
    const bool known = IsModelField(fields.ReadNumber());
    if (!known && !fields.cut()) return "is not an ONNX file: its outermost fields are not those of a model";
    if (fields.Skip()) continue;
    if (!fields.cut()) return "is not an ONNX file: its outermost fields are not those of a model";
    if (fields.missing() == 0) return fmt::format("is cut off at byte {}, inside of a field", text.size());
    return fmt::format("is cut off at byte {}: {} bytes more are said to follow", text.size(),
                       fields.missing());
  }
  return std::nullopt;
}

}  // namespace tvmvm::ir
