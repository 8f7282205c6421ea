// Boxes as rows of coordinates, and those of a class that were kept: what non_max_suppression.cc does for
// each box, apart from the rest because its loops are to become vector instructions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "vm/host/scratch.h"

namespace tvmvm {

// By corners, each coordinate in a row of its own.
struct Boxes {
  ScratchVector<float> y1, x1, y2, x2, area;

  // Errors: kOutOfMemory.
  Status Resize(HostCall& call, int64_t count) {
    for (ScratchVector<float>* row : {&y1, &x1, &y2, &x2, &area}) {
      TVMVM_TRY(*row, ScratchVector<float>::WithRoom(call, count));
      row->resize(static_cast<size_t>(count));
    }
    return {};
  }
};

enum class BoxForm : int64_t { kCorners = 0, kCenter = 1 };

// Those from number `begin` to `end`.
void SetCorners(const float* boxes, int64_t begin, int64_t end, BoxForm form, Boxes* to);

// Appends to `keys`, for each box from number `begin` to `end` whose score is above the threshold, a number
// whose lower half is the box and that sorts ascending as the highest score first, of equal scores the first
// box. There is room for all of them.
void AddScoreKeys(const float* scores, int64_t begin, int64_t end, float threshold,
                  ScratchVector<uint64_t>* keys);
// Of the keys from number `begin` on puts the least ones before `end`, in any order.
void PutLeastFirst(ScratchVector<uint64_t>* keys, size_t begin, size_t end);

// The boxes of one class that were kept; behind the first ones in bands along an axis by where they begin.
// What overlaps a box begins in a band from the one before the box's first to its last one, or is longer than
// a band; so of many boxes few are looked at. The blocks of a band are padded by boxes that overlap nothing.
class KeptBoxes {
 public:
  static constexpr size_t kTogether = 128;  // so many are not in bands, which few boxes would leave empty
  // Room for `most` kept of `count` boxes. Errors: kOutOfMemory.
  Status Reserve(HostCall& call, int64_t count, int64_t most);
  // Of a batch of which more than kTogether may be kept: first the boxes are measured, from number `begin` to
  // `end`, then the axis and the bands are chosen. Nothing is kept then.
  void Measure(const Boxes& boxes, int64_t begin, int64_t end);
  void ChooseBands(int64_t count);
  void Clear();
  size_t count() const { return count_; }
  void Add(const Boxes& boxes, size_t box);
  // Whether one of them shares more than `threshold` of the union with the box.
  bool Overlaps(const Boxes& boxes, size_t number, float threshold) const;

 private:
  static constexpr size_t kLanes = 16;
  struct Block {
    alignas(64) std::array<float, kLanes> y1{}, x1{}, y2{}, x2{}, area{};
  };
  struct Band {
    int32_t block = -1;  // the last one
    int32_t count = 0;   // of boxes
  };
  // The one that is compared, and how much it may share.
  struct Box {
    float y1, x1, y2, x2, area, threshold;
  };
  // Where boxes lie along one axis.
  struct Stretch {
    float begin = std::numeric_limits<float>::infinity(), end = -begin;
    float sum = 0;  // of their lengths

    void Add(float from, float to);
    // How many times as long as `count` boxes are on average.
    float Ratio(int64_t count) const { return (end - begin) * static_cast<float>(count) / sum; }
  };
  static constexpr int64_t MostBands(int64_t count) { return std::clamp<int64_t>(count / 64, 1, 4096); }

  size_t BandOf(float place) const;
  static bool Overlaps(const Block& block, const Box& box);
  bool OverlapsBand(const Band& band, const Box& box) const;

  ScratchVector<Block> blocks_;
  ScratchVector<int32_t> next_;  // for each block that of the same band before it, or -1
  Band first_;                   // of the first kTogether boxes
  ScratchVector<Band> bands_;    // behind them that of the long boxes
  Stretch y_, x_;
  bool along_y_ = false;
  float begin_ = 0;    // of the first band
  float scale_ = 0;    // bands a unit of length
  float longest_ = 0;  // that does not count as long
  size_t count_ = 0;
};

}  // namespace tvmvm
