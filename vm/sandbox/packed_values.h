// Values in shared memory: a record for each, those of elements behind that of their sequence, then the
// tensors' elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tvm-vm/shape.h"
#include "tvm-vm/status.h"
#include "tvm-vm/value.h"

namespace tvmvm::sandbox {

struct PackedRecord {
  enum Kind : uint32_t { kNone = 0, kTensor = 1, kSequence = 2, kTuple = 3 };
  uint32_t kind = kNone;
  uint32_t dtype = 0;  // tensors
  uint32_t rank = 0;
  uint32_t unused = 0;
  int64_t tag = 0;     // tuples
  uint64_t count = 0;  // sequences and tuples: of elements
  uint64_t place = 0;  // tensors: where the elements begin, from the beginning of the memory
  uint64_t bytes = 0;  // of them. Strings: the length of each in 64 bits, then the texts
  int64_t dims[kMaxRank] = {};
};

// Values on their way into shared memory; borrows them.
class ValuePacker {
 public:
  // Errors: kUnsupported for tensors on a device, kInvalidArgument for tensors without memory or of an
  // impossible shape, naming the value by `what` and its number.
  static Expected<ValuePacker> Create(std::span<const Value> values, const char* what);

  uint64_t record_count() const { return nodes_.size(); }
  uint64_t bytes() const { return bytes_; }  // of everything
  // To memory + place, where there is room; `place` is a multiple of kPackedAlignment.
  void WriteTo(std::byte* memory, uint64_t place) const;

 private:
  struct Node {
    const Value* value;
    uint64_t bytes;
  };
  std::vector<Node> nodes_;
  uint64_t bytes_ = 0;
};

inline constexpr uint64_t kPackedAlignment = 64;

// How tensors are made of elements that lie in shared memory. kBorrow: they are there, and change with it.
// kCopy: nothing of the values that come out is shared, and what another process writes meanwhile changes no
// size that was checked.
enum class Unpacking : uint8_t { kBorrow, kCopy };

// Reads `records` records at memory + place and what they refer to. Where `given`, of as many values as come
// out, holds a tensor of the type and shape of the one that comes, it receives the elements (kCopy). Whatever
// lies in the memory, the result is a value or an error: kInvalidProgram saying what is wrong; kOutOfMemory.
Expected<std::vector<Value>> UnpackValues(std::span<const std::byte> memory, uint64_t place, uint64_t records,
                                          Unpacking unpacking, std::span<const Value> given = {});

}  // namespace tvmvm::sandbox
