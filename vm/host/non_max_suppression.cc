// Boxes of the highest scores, class by class, without those that overlap a better one too much.
//
// Per class: the boxes above the score threshold as integers that sort by score and then by position; the
// best are sorted a block at a time, because mostly few are looked at; each is compared with the boxes kept
// so far (boxes.h).
#include <algorithm>
#include <cmath>

#include "vm/host/boxes.h"
#include "vm/host/sort.h"

namespace tvmvm {
namespace {

constexpr int64_t kPart = 1 << 15;   // boxes between looks for the run's end
constexpr size_t kMany = 4 * kPart;  // more than are sorted in a millisecond or a few

// The boxes of one class above the threshold, best first.
class Candidates {
 public:
  // Errors: kOutOfMemory.
  Status Reserve(HostCall& call, int64_t count) {
    TVMVM_TRY(keys_, ScratchVector<uint64_t>::WithRoom(call, count));
    return {};
  }
  // Of `count` boxes, for which there is room.
  Status Find(HostCall& call, const float* scores, int64_t count, float threshold) {
    keys_.clear();
    for (int64_t begin = 0; begin < count; begin += kPart) {
      AddScoreKeys(scores, begin, std::min(count, begin + kPart), threshold, &keys_);
      TVMVM_CHECK_OK(Poll(call));
    }
    sorted_ = next_ = 0;
    block_ = 128;
    if (keys_.size() > kMany) {
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
  void SortBlock() {
    const size_t end = sorted_ + std::min(block_, keys_.size() - sorted_);
    PutLeastFirst(&keys_, sorted_, end);
    SortPart(&keys_, sorted_, end);
    sorted_ = end;
    block_ *= 4;
  }

  ScratchVector<uint64_t> keys_;
  size_t sorted_ = 0;  // so many are the best ones, in order
  size_t next_ = 0;
  size_t block_ = 0;
};

// A row of the result.
struct Selected {
  int64_t batch, in_batch, box;
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
  const int64_t most = std::clamp<int64_t>(call.scalars[1], 0, count);

  Boxes corners;
  TVMVM_CHECK_OK(corners.Resize(call, count));
  Candidates candidates;
  TVMVM_CHECK_OK(candidates.Reserve(call, count));
  KeptBoxes kept;
  TVMVM_CHECK_OK(kept.Reserve(call, count, most));
  const bool has_bands = static_cast<size_t>(most) > KeptBoxes::kTogether;
  ScratchVector<Selected> selected;
  for (int64_t row = 0; most > 0 && row < batches * classes; ++row) {
    const int64_t batch = row / classes, in_batch = row % classes;
    for (int64_t begin = 0; in_batch == 0 && begin < count; begin += kPart) {
      const int64_t end = std::min(count, begin + kPart);
      SetCorners(DataOf<float>(*boxes) + batch * count * 4, begin, end, static_cast<BoxForm>(form), &corners);
      if (has_bands) kept.Measure(corners, begin, end);
      TVMVM_CHECK_OK(Poll(call));
    }
    if (in_batch == 0 && has_bands) kept.ChooseBands(count);
    TVMVM_CHECK_OK(candidates.Find(call, DataOf<float>(*scores) + row * count, count, least_score));
    kept.Clear();
    for (int64_t box; kept.count() < static_cast<size_t>(most) && (box = candidates.Next()) >= 0;) {
      if (TimeToLook(call, 32 + static_cast<int64_t>(kept.count()))) TVMVM_CHECK_OK(Poll(call));
      if (kept.Overlaps(corners, static_cast<size_t>(box), most_overlap)) continue;
      kept.Add(corners, static_cast<size_t>(box));
      TVMVM_CHECK_OK(selected.GrowIfFull(call));
      selected.push_back({batch, in_batch, box});
    }
  }
  TVMVM_TRY(Owned<TensorObject> result,
            NewTensor(call, DType::kI64, Shape{static_cast<int64_t>(selected.size()), 3}));
  TVMVM_CHECK_OK(selected.CopyTo(call, result->data));
  call.ref_results[0] = result.Give();
  return {};
}

}  // namespace tvmvm
