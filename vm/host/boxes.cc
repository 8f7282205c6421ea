#include "vm/host/boxes.h"

#include <algorithm>
#include <bit>
#include <cmath>

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
                  ScratchVector<uint64_t>* keys) {
  size_t found = keys->size();
  keys->resize(found + static_cast<size_t>(end - begin));
  for (int64_t box = begin; box < end; ++box) {
    (*keys)[found] = ScoreKey(scores[box], box);
    found += scores[box] > threshold;
  }
  keys->resize(found);
}

void PutLeastFirst(ScratchVector<uint64_t>* keys, size_t begin, size_t end) {
  if (end < keys->size()) std::nth_element(keys->begin() + begin, keys->begin() + end, keys->end());
}

void KeptBoxes::Stretch::Add(float from, float to) {
  begin = std::min(begin, from);
  end = std::max(end, to);
  sum += to - from;
}

Status KeptBoxes::Reserve(HostCall& call, int64_t count, int64_t most) {
  const int64_t bands = MostBands(count) + 1;
  const int64_t blocks = most / static_cast<int64_t>(kLanes) + bands + 1;
  TVMVM_TRY(blocks_, ScratchVector<Block>::WithRoom(call, blocks));
  TVMVM_TRY(next_, ScratchVector<int32_t>::WithRoom(call, blocks));
  TVMVM_TRY(bands_, ScratchVector<Band>::WithRoom(call, std::max<int64_t>(bands, 2)));
  return {};
}

void KeptBoxes::Measure(const Boxes& boxes, int64_t begin, int64_t end) {
  if (begin == 0) y_ = x_ = {};
  for (auto box = static_cast<size_t>(begin); box < static_cast<size_t>(end); ++box) {
    if (!(boxes.area[box] > 0 && boxes.area[box] < INFINITY)) continue;
    y_.Add(boxes.y1[box], boxes.y2[box]);
    x_.Add(boxes.x1[box], boxes.x2[box]);
  }
}

void KeptBoxes::ChooseBands(int64_t count) {
  along_y_ = y_.Ratio(count) > x_.Ratio(count);
  const Stretch& along = along_y_ ? y_ : x_;
  // Of twice the average length, so that few boxes are long. One band where the ratio is no number: there are
  // no boxes then, or endless ones.
  const float wanted = along.Ratio(count) / 2;
  const float bands = wanted > 1 ? std::min(wanted, static_cast<float>(MostBands(count))) : 1;
  const float length = (along.end - along.begin) / bands;
  const bool is_split = bands >= 2 && length > 0 && length < INFINITY;
  begin_ = is_split ? along.begin : 0;
  scale_ = is_split ? 1 / length : 0;
  longest_ = is_split ? 0.99f * length : INFINITY;  // less than a band, whatever is rounded
  bands_.resize(is_split ? static_cast<size_t>(bands) + 1 : 2);
  Clear();
}

void KeptBoxes::Clear() {
  blocks_.clear(), next_.clear(), count_ = 0;
  first_ = {};
  std::fill(bands_.begin(), bands_.end(), Band());
}

size_t KeptBoxes::BandOf(float place) const {
  const size_t last = bands_.size() - 2;
  const float band = (place - begin_) * scale_;
  if (!(band > 0)) return 0;
  return band < static_cast<float>(last) ? static_cast<size_t>(band) : last;
}

void KeptBoxes::Add(const Boxes& boxes, size_t box) {
  const float from = along_y_ ? boxes.y1[box] : boxes.x1[box];
  const float to = along_y_ ? boxes.y2[box] : boxes.x2[box];
  Band& band = count_ < kTogether ? first_ : bands_[to - from <= longest_ ? BandOf(from) : bands_.size() - 1];
  const size_t lane = static_cast<size_t>(band.count++) % kLanes;
  if (lane == 0) {
    next_.push_back(band.block);
    band.block = static_cast<int32_t>(blocks_.size());
    blocks_.push_back({});
  }
  Block& block = blocks_[static_cast<size_t>(band.block)];
  block.y1[lane] = boxes.y1[box];
  block.x1[lane] = boxes.x1[box];
  block.y2[lane] = boxes.y2[box];
  block.x2[lane] = boxes.x2[box];
  block.area[lane] = boxes.area[box];
  ++count_;
}

inline bool KeptBoxes::Overlaps(const Block& block, const Box& box) {
  uint32_t any = 0;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    const float width = std::min(box.x2, block.x2[lane]) - std::max(box.x1, block.x1[lane]);
    const float height = std::min(box.y2, block.y2[lane]) - std::max(box.y1, block.y1[lane]);
    const float shared = width * height;
    const float together = box.area + block.area[lane] - shared;
    any |= static_cast<uint32_t>(width > 0) & static_cast<uint32_t>(height > 0) &
           static_cast<uint32_t>(shared > 0) & static_cast<uint32_t>(block.area[lane] > 0) &
           static_cast<uint32_t>(together > 0) & static_cast<uint32_t>(shared / together > box.threshold);
  }
  return any != 0;
}

bool KeptBoxes::OverlapsBand(const Band& band, const Box& box) const {
  for (int32_t i = band.block; i >= 0; i = next_[static_cast<size_t>(i)])
    if (Overlaps(blocks_[static_cast<size_t>(i)], box)) return true;
  return false;
}

bool KeptBoxes::Overlaps(const Boxes& boxes, size_t number, float threshold) const {
  const Box box{boxes.y1[number], boxes.x1[number],   boxes.y2[number],
                boxes.x2[number], boxes.area[number], threshold};
  if (!(box.area > 0)) return false;
  // The first ones, best first.
  const Block* const end = blocks_.data() + std::min(blocks_.size(), kTogether / kLanes);
  for (const Block* block = blocks_.data(); block != end; ++block)
    if (Overlaps(*block, box)) return true;
  if (count_ <= kTogether) return false;
  if (OverlapsBand(bands_.back(), box)) return true;
  const size_t first = BandOf(along_y_ ? box.y1 : box.x1), last = BandOf(along_y_ ? box.y2 : box.x2);
  for (size_t band = first == 0 ? 0 : first - 1; band <= last; ++band)
    if (OverlapsBand(bands_[band], box)) return true;
  return false;
}

}  // namespace tvmvm
