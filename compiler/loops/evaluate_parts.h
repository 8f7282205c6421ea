// What evaluating a kernel needs beside its statements: buffers by element, who touched those that work-items
// share, and reductions of lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "compiler/expr/scalar_math.h"

namespace tvmvm::tensor {

// Memory of one buffer, in elements. Indices are in bounds.
struct Storage {
  std::span<std::byte> bytes;
  std::vector<std::byte> owned;
  std::vector<bool> written;  // of local buffers
  int64_t size = 0;

  Scalar Get(DType dtype, int64_t index) const {
    const int bits = DTypeBits(dtype);
    if (bits < 8) {
      auto byte = static_cast<uint64_t>(bytes[static_cast<size_t>(index * bits / 8)]);
      return DecodeScalar(dtype, (byte >> (index * bits % 8)) & ((1u << bits) - 1));
    }
    uint64_t raw = 0;
    std::memcpy(&raw, bytes.data() + index * (bits / 8), static_cast<size_t>(bits) / 8);
    return DecodeScalar(dtype, raw);
  }

  void Put(DType dtype, int64_t index, const Scalar& value) {
    if (!written.empty()) written[static_cast<size_t>(index)] = true;
    const int bits = DTypeBits(dtype);
    const uint64_t raw = EncodeScalar(dtype, value);
    if (bits >= 8) {
      std::memcpy(bytes.data() + index * (bits / 8), &raw, static_cast<size_t>(bits) / 8);
      return;
    }
    std::byte& place = bytes[static_cast<size_t>(index * bits / 8)];
    auto shift = static_cast<unsigned>(index * bits % 8);
    unsigned field = ((1u << bits) - 1) << shift;
    place = static_cast<std::byte>((static_cast<unsigned>(place) & ~field) |
                                   (static_cast<unsigned>(raw) << shift));
  }
};

// The last work-items that touched an element of shared memory, and between which barriers.
struct SharedUse {
  int64_t written = -1, read = -1;  // number of barriers before
  int writer = 0, reader = 0;       // kSeveral: more than one since that barrier
  static constexpr int kSeveral = -1;

  // Notes that the item touches the element; whether another one did without a barrier in between.
  bool Races(int item, int64_t barriers, bool writes) {
    bool races = written == barriers && writer != item;
    if (writes) races |= read == barriers && reader != item;
    if (writes) {
      written = barriers;
      writer = item;
    } else {
      reader = read == barriers && reader != item ? kSeveral : item;
      read = barriers;
    }
    return races;
  }
};

// Halving, in the order that generated code uses: lane i meets lane i + ceil(n / 2).
inline Scalar EvaluateReduction(ExprOp reduce, DType dtype, std::vector<Scalar> rest) {
  static constexpr ExprOp kCombine[] = {ExprOp::kAdd, ExprOp::kMul, ExprOp::kMin,
                                        ExprOp::kMax, ExprOp::kAnd, ExprOp::kOr};
  const ExprOp op = kCombine[static_cast<int>(reduce) - static_cast<int>(ExprOp::kReduceAdd)];
  while (rest.size() > 1) {
    const size_t low = (rest.size() + 1) / 2;
    for (size_t i = 0; i + low < rest.size(); ++i)
      rest[i] = EvaluateBinary(op, dtype, rest[i], rest[i + low]);
    rest.resize(low);
  }
  return rest[0];
}

}  // namespace tvmvm::tensor
