// Boxes as rows of coordinates, and those of a class that were kept: what non_max_suppression.cc does for
// each box, apart from the rest because its loops are to become vector instructions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tvmvm {

// By corners, each coordinate in a row of its own.
struct Boxes {
  std::vector<float> y1, x1, y2, x2, area;

  void Resize(size_t count) {
    for (std::vector<float>* row : {&y1, &x1, &y2, &x2, &area}) row->resize(count);
  }
};

enum class BoxForm : int64_t { kCorners = 0, kCenter = 1 };

// Those from number `begin` to `end`.
void SetCorners(const float* boxes, int64_t begin, int64_t end, BoxForm form, Boxes* to);

// Appends to `keys`, for each box from number `begin` to `end` whose score is above the threshold, a number
// whose lower half is the box and that sorts ascending as the highest score first, of equal scores the first
// box.
void AddScoreKeys(const float* scores, int64_t begin, int64_t end, float threshold,
                  std::vector<uint64_t>* keys);
// Of the keys from number `begin` on puts the least ones before `end`, in any order.
void PutLeastFirst(std::vector<uint64_t>* keys, size_t begin, size_t end);

// The boxes of one class that were kept, padded to whole vectors by boxes that overlap nothing.
class KeptBoxes {
 public:
  // The bytes of so many.
  static constexpr int64_t Bytes(int64_t count) {
    return (count / static_cast<int64_t>(kLanes) + 1) * static_cast<int64_t>(sizeof(Block));
  }
  void Reserve(size_t count) { blocks_.reserve(count / kLanes + 1); }
  void Clear() { blocks_.clear(), count_ = 0; }
  size_t count() const { return count_; }
  void Add(const Boxes& boxes, size_t box);
  // Whether one of them shares more than `threshold` of the union with the box.
  bool Overlaps(const Boxes& boxes, size_t box, float threshold) const;

 private:
  static constexpr size_t kLanes = 16;
  struct Block {
    alignas(64) std::array<float, kLanes> y1{}, x1{}, y2{}, x2{}, area{};
  };
  std::vector<Block> blocks_;
  size_t count_ = 0;
};

}  // namespace tvmvm
