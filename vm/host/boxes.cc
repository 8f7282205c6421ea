#include "vm/host/boxes.h"

#include <algorithm>
#include <bit>

namespace tvmvm {
namespace {

uint64_t ScoreKey(float score, int64_t box) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // -0 is 0
  const uint32_t ascending = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return uint64_t{~ascending} << 32 | static_cast<uint32_t>(box);
}

}  // namespace

void SetCorners(const float* boxes, int64_t begin, int64_t end, BoxForm form, Boxes* to) {
  const float* __restrict from = boxes + 4 * begin;
  float* __restrict y1 = to->y1.data() + begin;
  float* __restrict x1 = to->x1.data() + begin;
  float* __restrict y2 = to->y2.data() + begin;
  float* __restrict x2 = to->x2.data() + begin;
  float* __restrict area = to->area.data() + begin;
  const bool by_center = form == BoxForm::kCenter;
  for (int64_t i = 0; i < end - begin; ++i) {
    const float *box = from + 4 * i, a = box[0], b = box[1], c = box[2], d = box[3];
    y1[i] = by_center ? b - d / 2 : std::min(a, c);
    x1[i] = by_center ? a - c / 2 : std::min(b, d);
    y2[i] = by_center ? b + d / 2 : std::max(a, c);
    x2[i] = by_center ? a + c / 2 : std::max(b, d);
    area[i] = (x2[i] - x1[i]) * (y2[i] - y1[i]);
  }
}

void AddScoreKeys(const float* scores, int64_t begin, int64_t end, float threshold,
                  std::vector<uint64_t>* keys) {
  size_t found = keys->size();
  keys->resize(found + static_cast<size_t>(end - begin));
  for (int64_t box = begin; box < end; ++box) {
    (*keys)[found] = ScoreKey(scores[box], box);
    found += scores[box] > threshold;
  }
  keys->resize(found);
}

void PutLeastFirst(std::vector<uint64_t>* keys, size_t begin, size_t end) {
  if (end < keys->size())
    std::nth_element(keys->begin() + static_cast<std::ptrdiff_t>(begin),
                     keys->begin() + static_cast<std::ptrdiff_t>(end), keys->end());
}

void KeptBoxes::Add(const Boxes& boxes, size_t box) {
  const size_t lane = count_++ % kLanes;
  if (lane == 0) blocks_.emplace_back();
  Block& block = blocks_.back();
  block.y1[lane] = boxes.y1[box];
  block.x1[lane] = boxes.x1[box];
  block.y2[lane] = boxes.y2[box];
  block.x2[lane] = boxes.x2[box];
  block.area[lane] = boxes.area[box];
}

bool KeptBoxes::Overlaps(const Boxes& boxes, size_t box, float threshold) const {
  const float y1 = boxes.y1[box], x1 = boxes.x1[box], y2 = boxes.y2[box], x2 = boxes.x2[box];
  const float area = boxes.area[box];
  if (!(area > 0)) return false;
  for (const Block& block : blocks_) {
    uint32_t any = 0;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float width = std::min(x2, block.x2[lane]) - std::max(x1, block.x1[lane]);
      const float height = std::min(y2, block.y2[lane]) - std::max(y1, block.y1[lane]);
      const float shared = width * height;
      const float together = area + block.area[lane] - shared;
      any |= static_cast<uint32_t>(width > 0) & static_cast<uint32_t>(height > 0) &
             static_cast<uint32_t>(shared > 0) & static_cast<uint32_t>(block.area[lane] > 0) &
             static_cast<uint32_t>(together > 0) & static_cast<uint32_t>(shared / together > threshold);
    }
    if (any != 0) return true;
  }
  return false;
}

}  // namespace tvmvm
