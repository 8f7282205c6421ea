// Boxes of the highest scores, class by class, without those that overlap a better one too much.
//
// Per class: the boxes above the score threshold as integers that sort by score and then by position; the
// best are sorted a block at a time, because mostly few are looked at; each is compared with the boxes kept
// so far, sixteen at a time in loops that the C++ compiler turns into vectors.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "vm/host/sort.h"

namespace tvmvm {
namespace {

constexpr size_t kLanes = 16;
constexpr int64_t kPart = 1 << 15;  // boxes between looks for the run's end

// Boxes by corners, each coordinate in a row of its own.
struct Boxes {
  std::vector<float> y1, x1, y2, x2, area;

  void Resize(size_t count) {
    for (std::vector<float>* row : {&y1, &x1, &y2, &x2, &area}) row->resize(count);
  }
};

enum class BoxForm : int64_t { kCorners = 0, kCenter = 1 };

// Those from number `begin` to `end`.
void SetCorners(const float* boxes, int64_t begin, int64_t end, BoxForm form, Boxes* to) {
  boxes += 4 * begin;
  for (int64_t i = begin; i < end; ++i, boxes += 4) {
    const auto k = static_cast<size_t>(i);
    if (form == BoxForm::kCorners) {
      to->y1[k] = std::min(boxes[0], boxes[2]);
      to->y2[k] = std::max(boxes[0], boxes[2]);
      to->x1[k] = std::min(boxes[1], boxes[3]);
      to->x2[k] = std::max(boxes[1], boxes[3]);
    } else {
      const float half_width = boxes[2] / 2, half_height = boxes[3] / 2;
      to->x1[k] = boxes[0] - half_width;
      to->x2[k] = boxes[0] + half_width;
      to->y1[k] = boxes[1] - half_height;
      to->y2[k] = boxes[1] + half_height;
    }
    to->area[k] = (to->x2[k] - to->x1[k]) * (to->y2[k] - to->y1[k]);
  }
}

// Sorts ascending as the highest score first, of equal scores the first box.
uint64_t SortKey(float score, int64_t box) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // -0 is 0
  const uint32_t ascending = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return uint64_t{~ascending} << 32 | static_cast<uint32_t>(box);
}

// The boxes of one class above the threshold, best first.
class Candidates {
 public:
  Status Find(HostCall& call, const float* scores, int64_t count, float threshold) {
    keys_.clear();
    keys_.reserve(static_cast<size_t>(count));
    for (int64_t begin = 0; begin < count; begin += kPart) {
      size_t found = keys_.size();
      const int64_t end = std::min(count, begin + kPart);
      keys_.resize(found + static_cast<size_t>(end - begin));
      for (int64_t box = begin; box < end; ++box) {
        keys_[found] = SortKey(scores[box], box);
        found += scores[box] > threshold;
      }
      keys_.resize(found);
      TVMVM_CHECK_OK(Poll(call));
    }
    sorted_ = next_ = 0;
    block_ = 128;
    if (IsMany()) {
      TVMVM_CHECK_OK(SortNumbers(call, &keys_));
      sorted_ = keys_.size();
    }
    return {};
  }

  // The next box, or -1 when there are no more.
  int64_t Next() {
    if (next_ == keys_.size()) return -1;
    if (next_ == sorted_) SortBlock();
    return static_cast<int64_t>(keys_[next_++] & 0xffffffffu);
  }

 private:
  // More than are sorted in a millisecond or a few.
  bool IsMany() const { return keys_.size() > 4 * static_cast<size_t>(kPart); }

  void SortBlock() {
    const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    const size_t size = std::min(block_, keys_.size() - sorted_);
    const auto end = begin + static_cast<std::ptrdiff_t>(size);
    if (end != keys_.end()) std::nth_element(begin, end, keys_.end());
    SortPart(&keys_, sorted_, sorted_ + size);
    sorted_ += size;
    block_ *= 4;
  }

  std::vector<uint64_t> keys_;
  size_t sorted_ = 0;  // so many are the best ones, in order
  size_t next_ = 0;
  size_t block_ = 0;
};

// The boxes of one class that were kept, padded to whole vectors by boxes that overlap nothing.
class Kept {
 public:
  void Clear() { blocks_.clear(), count_ = 0; }
  size_t count() const { return count_; }

  void Add(const Boxes& boxes, size_t box) {
    const size_t lane = count_++ % kLanes;
    if (lane == 0) blocks_.emplace_back();
    Block& block = blocks_.back();
    block.y1[lane] = boxes.y1[box];
    block.x1[lane] = boxes.x1[box];
    block.y2[lane] = boxes.y2[box];
    block.x2[lane] = boxes.x2[box];
    block.area[lane] = boxes.area[box];
  }

  // Whether one of them shares more than `threshold` of the union with the box.
  bool Overlaps(const Boxes& boxes, size_t box, float threshold) const {
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

 private:
  struct Block {
    alignas(64) std::array<float, kLanes> y1{}, x1{}, y2{}, x2{}, area{};
  };
  std::vector<Block> blocks_;
  size_t count_ = 0;
};

// A number that may be absent.
Expected<float> NumberOperand(const HostCall& call, size_t number, float absent, std::string_view role) {
  if (call.refs[number] == nullptr) return absent;
  TVMVM_TRY(TensorObject * tensor, TypedOperand(call, number, DType::kF32, role));
  if (ElementCount(*tensor) != 1)
    return MakeError(Code::kInvalidArgument, "'" + std::string(role) + "' must be one number, it has shape " +
                                                 tensor->shape.ToString());
  return *DataOf<float>(*tensor);
}

Status CheckShapes(const Shape& boxes, const Shape& scores) {
  if (boxes.rank() == 3 && scores.rank() == 3 && boxes[2] == 4 && boxes[0] == scores[0] &&
      boxes[1] == scores[2] && boxes[1] <= INT32_MAX)
    return {};
  return MakeError(Code::kInvalidArgument,
                   "'boxes' and 'scores' must have shapes [b, n, 4] and [b, c, n], they have " +
                       boxes.ToString() + " and " + scores.ToString());
}

}  // namespace

// (boxes' form, most boxes a class)(boxes, scores, most overlap or null, least score or null)
// -> selected (batch, class, box)
Status HostNonMaxSuppression(HostCall& call) {
  TVMVM_TRY(TensorObject * boxes, TypedOperand(call, 0, DType::kF32, "boxes"));
  TVMVM_TRY(TensorObject * scores, TypedOperand(call, 1, DType::kF32, "scores"));
  TVMVM_CHECK_OK(CheckShapes(boxes->shape, scores->shape));
  const int64_t form = call.scalars[0];
  if (form != 0 && form != 1)
    return MakeError(Code::kInvalidArgument, "boxes of form " + std::to_string(form));
  TVMVM_TRY(const float most_overlap, NumberOperand(call, 2, 0, "most overlap"));
  TVMVM_TRY(const float least_score, NumberOperand(call, 3, -INFINITY, "least score"));
  if (!(most_overlap >= 0 && most_overlap <= 1))
    return MakeError(Code::kInvalidArgument,
                     "the most overlap is " + std::to_string(most_overlap) + ", not within 0 to 1");
  const int64_t batches = scores->shape[0], classes = scores->shape[1], count = scores->shape[2];
  const auto most = static_cast<size_t>(std::clamp<int64_t>(call.scalars[1], 0, count));

  constexpr int64_t kBytesPerBox = 2 * sizeof(float) * 5 + sizeof(uint64_t);
  TVMVM_TRY(Scratch scratch, Scratch::Charge(call, count * kBytesPerBox));
  Boxes corners;
  corners.Resize(static_cast<size_t>(count));
  Candidates candidates;
  Kept kept;
  std::vector<int64_t> selected;
  for (int64_t row = 0; most > 0 && row < batches * classes; ++row) {
    const int64_t batch = row / classes, in_batch = row % classes;
    for (int64_t begin = 0; in_batch == 0 && begin < count; begin += kPart) {
      SetCorners(DataOf<float>(*boxes) + batch * count * 4, begin, std::min(count, begin + kPart),
                 static_cast<BoxForm>(form), &corners);
      TVMVM_CHECK_OK(Poll(call));
    }
    TVMVM_CHECK_OK(candidates.Find(call, DataOf<float>(*scores) + row * count, count, least_score));
    kept.Clear();
    for (int64_t box; kept.count() < most && (box = candidates.Next()) >= 0;) {
      TVMVM_CHECK_OK(PollWork(call, 32 + static_cast<int64_t>(kept.count())));
      if (kept.Overlaps(corners, static_cast<size_t>(box), most_overlap)) continue;
      kept.Add(corners, static_cast<size_t>(box));
      selected.insert(selected.end(), {batch, in_batch, box});
    }
  }
  TVMVM_TRY(Owned<TensorObject> result,
            NewTensor(call, DType::kI64, Shape{static_cast<int64_t>(selected.size() / 3), 3}));
  std::copy(selected.begin(), selected.end(), DataOf<int64_t>(*result));
  call.ref_results[0] = result.Give();
  return {};
}

}  // namespace tvmvm
