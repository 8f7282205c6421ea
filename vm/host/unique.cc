// Distinct elements, or distinct slices along an axis.
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "vm/host/blocks.h"
#include "vm/host/sort.h"
#include "vm/objects/element_access.h"

namespace tvmvm {
namespace {

constexpr int64_t kPart = 1 << 12;  // items, of one element each, between looks for the run's end
constexpr size_t kPartOfText = size_t{1} << 16;

// What is grouped: `count` items of `width` elements each, side by side. Of items that may be long it is
// looked for the run's end between parts of them: once `ended` says so, what they give may be wrong.
template <class T>
struct Items {
  const HostCall& call;
  const T* elements = nullptr;
  int64_t count = 0;
  int64_t width = 0;
  mutable Status ended = {};

  bool are_long() const { return std::is_same_v<T, std::string_view> || width > kPart; }

  int CompareItems(int64_t a, int64_t b) const {
    const T *x = elements + a * width, *y = elements + b * width;
    if (are_long()) return CompareParts(x, y);
    for (int64_t i = 0; i < width; ++i)
      if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
  }
  uint64_t HashOf(int64_t item) const {
    const T* element = elements + item * width;
    if (are_long()) return HashOfParts(element);
    uint64_t hash = 0;
    for (int64_t i = 0; i < width; ++i) hash = Joined(hash, Hash(element[i]));
    return hash;
  }

 private:
  static uint64_t Joined(uint64_t hash, uint64_t next) {
    return std::rotl(hash, 5) * 0x9e3779b97f4a7c15u ^ next;
  }
  [[gnu::noinline]] int CompareParts(const T* x, const T* y) const {
    for (int64_t i = 0; i < width && GoesOn(1); ++i)
      if (int order = Compare(x[i], y[i]); order != 0) return order;
    return 0;
  }
  [[gnu::noinline]] uint64_t HashOfParts(const T* element) const {
    uint64_t hash = 0;
    for (int64_t i = 0; i < width && GoesOn(1); ++i) hash = Joined(hash, Hash(element[i]));
    return hash;
  }
  bool GoesOn(int64_t work) const {
    if (ended) ended = PollWork(call, work);
    return ended.has_value();
  }

  static int Compare(uint64_t x, uint64_t y) { return x == y ? 0 : x < y ? -1 : 1; }
  static uint64_t Hash(uint64_t element) { return XXH3_64bits(&element, sizeof element); }

  // A part of the text after the other.
  int Compare(std::string_view x, std::string_view y) const {
    int order = 0;
    do {
      order = x.substr(0, kPartOfText).compare(y.substr(0, kPartOfText));
    } while (order == 0 && RemovePart(&x) + RemovePart(&y) > 0 && GoesOn(kPartOfText / 8));
    return order;
  }
  uint64_t Hash(std::string_view text) const {
    uint64_t hash = 0;
    do {
      const std::string_view part = text.substr(0, kPartOfText);
      hash = XXH3_64bits_withSeed(part.data(), part.size(), hash);
    } while (RemovePart(&text) > 0 && GoesOn(kPartOfText / 8));
    return hash;
  }
  static size_t RemovePart(std::string_view* text) {  // how much is left
    text->remove_prefix(std::min(text->size(), kPartOfText));
    return text->size();
  }
};

// Groups of equal items, in the order of their first items.
struct Groups {
  ScratchVector<int64_t> firsts;  // the first item of each
  ScratchVector<int64_t> counts;

  static Expected<Groups> WithRoom(HostCall& call, int64_t count) {
    Groups groups;
    TVMVM_TRY(groups.firsts, ScratchVector<int64_t>::WithRoom(call, count));
    TVMVM_TRY(groups.counts, ScratchVector<int64_t>::WithRoom(call, count));
    return groups;
  }
};

constexpr int64_t kScattered = 64;  // work of a look at a place out of no cache

// Numbers of groups by the hashes of their items: open addressing. It grows where it is half full, if asked,
// and has to be asked before three quarters are.
class GroupTable {
 public:
  // Of the items' groups, of which there are none yet; they outlive the table.
  static Expected<GroupTable> Of(HostCall& call, Groups* groups) {
    GroupTable table(groups);
    TVMVM_TRY(table.hashes_,
              ScratchVector<uint64_t>::WithRoom(call, static_cast<int64_t>(groups->firsts.room())));
    TVMVM_TRY(table.slots_, ScratchVector<int64_t>::Filled(call, 256, kFree));
    return table;
  }

  // The number of the item's group, which is a new one where no item before was equal.
  template <class T>
  int64_t Add(const Items<T>& items, int64_t item) {
    const uint64_t hash = items.HashOf(item);
    size_t slot = SlotOf(hash);
    for (; slots_[slot] != kFree; slot = (slot + 1) & (slots_.size() - 1)) {
      const int64_t group = slots_[slot];
      const auto at = static_cast<size_t>(group);
      if (hashes_[at] != hash || items.CompareItems(groups_.firsts[at], item) != 0) continue;
      ++groups_.counts[at];
      return group;
    }
    return AddGroup(item, hash, slot);
  }

  // So many more groups there may be before GrowIfFull; never few after it.
  int64_t room() const { return static_cast<int64_t>(slots_.size() * 3 / 4 - hashes_.size()); }
  Status GrowIfFull(HostCall& call);

 private:
  static constexpr int64_t kFree = -1;

  explicit GroupTable(Groups* groups) : groups_(*groups) {}

  size_t SlotOf(uint64_t hash) const { return static_cast<size_t>(hash) & (slots_.size() - 1); }
  int64_t AddGroup(int64_t item, uint64_t hash, size_t slot);

  Groups& groups_;
  ScratchVector<uint64_t> hashes_;  // of groups
  ScratchVector<int64_t> slots_;
};

int64_t GroupTable::AddGroup(int64_t item, uint64_t hash, size_t slot) {
  const auto group = static_cast<int64_t>(groups_.firsts.size());
  slots_[slot] = group;
  groups_.firsts.push_back(item);
  groups_.counts.push_back(1);
  hashes_.push_back(hash);
  return group;
}

Status GroupTable::GrowIfFull(HostCall& call) {
  if (hashes_.size() * 2 <= slots_.size()) return {};
  const auto size = static_cast<int64_t>(slots_.size() * 2);
  slots_ = {};
  TVMVM_TRY(slots_, ScratchVector<int64_t>::Filled(call, size, kFree));
  return ForEach(call, static_cast<int64_t>(hashes_.size()), kScattered, [&](int64_t group) {
    size_t slot = SlotOf(hashes_[static_cast<size_t>(group)]);
    while (slots_[slot] != kFree) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = group;
  });
}

// Numbers of groups as their items are sorted.
template <class T>
Expected<ScratchVector<int64_t>> SortedGroups(HostCall& call, const Items<T>& items, const Groups& groups) {
  const auto count = static_cast<int64_t>(groups.firsts.size());
  TVMVM_TRY(ScratchVector<int64_t> order, ScratchVector<int64_t>::WithRoom(call, count));
  TVMVM_CHECK_OK(ForEach(call, count, 1, [&](int64_t group) { order.push_back(group); }));
  auto less = [&](int64_t a, int64_t b) {
    return items.CompareItems(groups.firsts[static_cast<size_t>(a)], groups.firsts[static_cast<size_t>(b)]) <
           0;
  };
  TVMVM_CHECK_OK(items.are_long() ? Merge(call, &order, less, 1) : Sort(call, &order, less));
  TVMVM_CHECK_OK(items.ended);
  return order;
}

// The groups in another order; `inverse` has the group of each of `count` items.
Expected<Groups> InOrder(HostCall& call, const Groups& found, const ScratchVector<int64_t>& order,
                         int64_t count, int64_t* inverse) {
  TVMVM_TRY(Groups groups, Groups::WithRoom(call, static_cast<int64_t>(order.size())));
  TVMVM_TRY(ScratchVector<int64_t> place,
            ScratchVector<int64_t>::WithRoom(call, static_cast<int64_t>(order.size())));
  for (size_t k = 0; k < order.size(); ++k) {
    const auto group = static_cast<size_t>(order[k]);
    groups.firsts.push_back(found.firsts[group]);
    groups.counts.push_back(found.counts[group]);
    place[group] = static_cast<int64_t>(k);
    TVMVM_CHECK_OK(PollStep(call, static_cast<int64_t>(k)));
  }
  TVMVM_CHECK_OK(ForEach(call, count, kScattered,
                         [&](int64_t item) { inverse[item] = place[static_cast<size_t>(inverse[item])]; }));
  return groups;
}

// Groups in the order of the output; `inverse` gets the group of each item.
template <class T>
Expected<Groups> Group(HostCall& call, const Items<T>& items, bool sorted, int64_t* inverse) {
  TVMVM_TRY(Groups found, Groups::WithRoom(call, items.count));
  TVMVM_TRY(GroupTable table, GroupTable::Of(call, &found));
  for (int64_t item = 0; item < items.count;) {
    // So many as fit, and few enough to look behind them.
    const int64_t part = std::min(table.room(), 1 + kPart / (1 + items.width));
    const int64_t end = std::min(items.count, item + part);
    for (; item < end; ++item) inverse[item] = table.Add(items, item);
    TVMVM_CHECK_OK(items.ended);
    TVMVM_CHECK_OK(table.GrowIfFull(call));
    TVMVM_CHECK_OK(Poll(call));
  }
  if (!sorted) return found;
  TVMVM_TRY(ScratchVector<int64_t> order, SortedGroups(call, items, found));
  return InOrder(call, found, order, items.count, inverse);
}

// A number as an integer that sorts as the number does: NaN is like NaN and comes last, -0 is like 0.
uint64_t SortKey(DType dtype, int64_t element) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  if (dtype == DType::kU64) return static_cast<uint64_t>(element);
  if (!IsFloat(dtype)) return static_cast<uint64_t>(element) ^ kSign;
  const auto number = std::bit_cast<double>(element);
  if (std::isnan(number)) return UINT64_MAX;
  const auto bits = std::bit_cast<uint64_t>(number + 0.0);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

struct NumberReader {
  using Element = uint64_t;
  const TensorObject& tensor;
  Element At(int64_t index) const {
    const int64_t size = DTypeBits(tensor.dtype) / 8;
    return SortKey(tensor.dtype, LoadElement(tensor.dtype, tensor.data + index * size));
  }
};

struct TextReader {
  using Element = std::string_view;
  const TensorObject& tensor;
  Element At(int64_t index) const { return StringsOf(tensor)[static_cast<size_t>(index)]; }
};

// Items side by side, and grouped.
template <class Reader>
Expected<Groups> GroupAs(HostCall& call, const Reader& reader, const AroundAxis& around, bool sorted,
                         int64_t* inverse) {
  using Element = typename Reader::Element;
  const int64_t width = around.outer * around.inner;
  TVMVM_TRY(ScratchVector<Element> elements, ScratchVector<Element>::WithRoom(call, around.axis * width));
  TVMVM_CHECK_OK(ForEach(call, around.axis, 16 + 8 * width, [&](int64_t item) {
    for (int64_t outer = 0; outer < around.outer; ++outer) {
      const int64_t first = (outer * around.axis + item) * around.inner;
      for (int64_t i = 0; i < around.inner; ++i) elements.push_back(reader.At(first + i));
    }
  }));
  return Group(call, Items<Element>{call, elements.data(), around.axis, width}, sorted, inverse);
}

Expected<Groups> GroupItems(HostCall& call, const TensorObject& tensor, const AroundAxis& around, bool sorted,
                            int64_t* inverse) {
  if (tensor.dtype == DType::kString) return GroupAs(call, TextReader{tensor}, around, sorted, inverse);
  if (HasScalarForm(tensor.dtype)) return GroupAs(call, NumberReader{tensor}, around, sorted, inverse);
  return MakeError(Code::kUnsupported, "elements of " + std::string(DTypeName(tensor.dtype)));
}

Expected<Owned<TensorObject>> Distinct(HostCall& call, const TensorObject& tensor, const AroundAxis& around,
                                       const Shape& shape, const ScratchVector<int64_t>& items) {
  TVMVM_TRY(Owned<TensorObject> distinct, NewTensor(call, tensor.dtype, shape));
  if (tensor.dtype == DType::kString) {
    TVMVM_TRY(const int64_t text_bytes, TextBytes(call, tensor));
    TVMVM_CHECK_OK(ChargeTexts(call, *distinct, text_bytes));
  }
  const auto count = static_cast<int64_t>(items.size());
  for (int64_t k = 0; k < count; ++k)
    TVMVM_CHECK_OK(CopyBlocks(call, *distinct, tensor,
                              {around.outer, around.inner, k * around.inner, count * around.inner,
                               items[static_cast<size_t>(k)] * around.inner, around.axis * around.inner}));
  return distinct;
}

}  // namespace

// (axis or -1 for all elements, 1 when sorted)(tensor) -> (distinct, first positions, inverse, counts)
Status HostUnique(HostCall& call) {
  TVMVM_TRY(TensorObject * tensor, TensorOperand(call, 0, "tensor"));
  const bool all = call.scalars[0] == -1;
  AroundAxis around{1, ElementCount(*tensor), 1};
  Shape shape{0};
  int axis = 0;
  if (!all) {
    TVMVM_TRY(axis, AxisIn(call.scalars[0], tensor->shape.rank()));
    around = Around(tensor->shape, axis);
    shape = tensor->shape;
  }
  TVMVM_TRY(Owned<TensorObject> inverse, NewTensor(call, DType::kI64, Shape{around.axis}));
  TVMVM_TRY(Groups groups,
            GroupItems(call, *tensor, around, call.scalars[1] != 0, DataOf<int64_t>(*inverse)));

  const auto count = static_cast<int64_t>(groups.firsts.size());
  TVMVM_TRY(Owned<TensorObject> firsts, NewTensor(call, DType::kI64, Shape{count}));
  TVMVM_TRY(Owned<TensorObject> counts, NewTensor(call, DType::kI64, Shape{count}));
  TVMVM_CHECK_OK(groups.firsts.CopyTo(call, firsts->data));
  TVMVM_CHECK_OK(groups.counts.CopyTo(call, counts->data));
  shape[axis] = count;
  TVMVM_TRY(Owned<TensorObject> distinct, Distinct(call, *tensor, around, shape, groups.firsts));
  call.ref_results[0] = distinct.Give();
  call.ref_results[1] = firsts.Give();
  call.ref_results[2] = inverse.Give();
  call.ref_results[3] = counts.Give();
  return {};
}

}  // namespace tvmvm
