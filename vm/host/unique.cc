// Distinct elements, or distinct slices along an axis.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "vm/host/blocks.h"
#include "vm/objects/element_access.h"

namespace tvmvm {
namespace {

// What is sorted: `count` items of `width` elements each, side by side.
template <class T>
struct Items {
  const T* elements = nullptr;
  int64_t count = 0;
  int64_t width = 0;

  int CompareItems(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < width; ++i) {
      const T &x = elements[a * width + i], &y = elements[b * width + i];
      if (x != y) return x < y ? -1 : 1;
    }
    return 0;
  }
};

// Items with equal neighbours together: `order` lists the items, `ends` where each group of equals ends.
struct Groups {
  std::vector<int64_t> order;
  std::vector<int64_t> ends;
};

// Sorts in runs that are then merged, so that a cancelled run ends soon.
template <class T>
Status Sort(const HostCall& call, const Items<T>& items, std::vector<int64_t>* order) {
  constexpr int64_t kRun = 1 << 14;
  auto less = [&](int64_t a, int64_t b) { return items.CompareItems(a, b) < 0; };
  order->resize(static_cast<size_t>(items.count));
  std::iota(order->begin(), order->end(), 0);
  auto at = [&](int64_t position) { return order->begin() + std::min(position, items.count); };
  for (int64_t begin = 0; begin < items.count; begin += kRun) {
    std::stable_sort(at(begin), at(begin + kRun), less);
    TVMVM_CHECK_OK(Poll(call));
  }
  for (int64_t run = kRun; run < items.count; run *= 2)
    for (int64_t begin = 0; begin + run < items.count; begin += 2 * run) {
      std::inplace_merge(at(begin), at(begin + run), at(begin + 2 * run), less);
      TVMVM_CHECK_OK(Poll(call));
    }
  return {};
}

template <class T>
Expected<Groups> Group(const HostCall& call, const Items<T>& items) {
  Groups groups;
  TVMVM_CHECK_OK(Sort(call, items, &groups.order));
  for (int64_t i = 1; i <= items.count; ++i) {
    const auto at = static_cast<size_t>(i);
    if (i == items.count || items.CompareItems(groups.order[at - 1], groups.order[at]) != 0)
      groups.ends.push_back(i);
    TVMVM_CHECK_OK(PollStep(call, i));
  }
  return groups;
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

// Items side by side, and sorted.
template <class Reader>
Expected<Groups> GroupAs(HostCall& call, const Reader& reader, const AroundAxis& around) {
  using Element = typename Reader::Element;
  const int64_t width = around.outer * around.inner;
  TVMVM_TRY(Scratch scratch,
            Scratch::Charge(call, around.axis * width * static_cast<int64_t>(sizeof(Element))));
  std::vector<Element> elements;
  elements.reserve(static_cast<size_t>(around.axis * width));
  for (int64_t item = 0; item < around.axis; ++item) {
    TVMVM_CHECK_OK(PollStep(call, item));
    for (int64_t outer = 0; outer < around.outer; ++outer) {
      const int64_t first = (outer * around.axis + item) * around.inner;
      for (int64_t i = 0; i < around.inner; ++i) elements.push_back(reader.At(first + i));
    }
  }
  return Group(call, Items<Element>{elements.data(), around.axis, width});
}

Expected<Groups> GroupItems(HostCall& call, const TensorObject& tensor, const AroundAxis& around) {
  if (tensor.dtype == DType::kString) return GroupAs(call, TextReader{tensor}, around);
  if (HasScalarForm(tensor.dtype)) return GroupAs(call, NumberReader{tensor}, around);
  return MakeError(Code::kUnsupported, "elements of " + std::string(DTypeName(tensor.dtype)));
}

int64_t GroupBegin(const Groups& groups, size_t group) { return group == 0 ? 0 : groups.ends[group - 1]; }

// The item of a group that stands first in the tensor: sorting was stable.
int64_t FirstItem(const Groups& groups, size_t group) {
  return groups.order[static_cast<size_t>(GroupBegin(groups, group))];
}

// The groups in the order of the output.
std::vector<size_t> OutputOrder(const Groups& groups, bool sorted) {
  std::vector<size_t> order(groups.ends.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!sorted)
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return FirstItem(groups, a) < FirstItem(groups, b); });
  return order;
}

Expected<Owned<TensorObject>> Distinct(HostCall& call, const TensorObject& tensor, const AroundAxis& around,
                                       const Shape& shape, const std::vector<int64_t>& items) {
  TVMVM_TRY(Owned<TensorObject> distinct, NewTensor(call, tensor.dtype, shape));
  if (tensor.dtype == DType::kString) TVMVM_CHECK_OK(ChargeTexts(call, *distinct, TextBytes(tensor)));
  const auto count = static_cast<int64_t>(items.size());
  for (int64_t k = 0; k < count; ++k)
    CopyBlocks(*distinct, tensor,
               {around.outer, around.inner, k * around.inner, count * around.inner,
                items[static_cast<size_t>(k)] * around.inner, around.axis * around.inner});
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
  // For the list of items, the ends of groups and the merging of sorted runs.
  if (around.axis > INT64_MAX / 64) return MakeError(Code::kOutOfMemory, "too many items");
  TVMVM_TRY(Scratch scratch, Scratch::Charge(call, around.axis * 3 * static_cast<int64_t>(sizeof(int64_t))));
  TVMVM_TRY(Groups groups, GroupItems(call, *tensor, around));

  const std::vector<size_t> order = OutputOrder(groups, call.scalars[1] != 0);
  const auto count = static_cast<int64_t>(order.size());
  TVMVM_TRY(Owned<TensorObject> firsts, NewTensor(call, DType::kI64, Shape{count}));
  TVMVM_TRY(Owned<TensorObject> inverse, NewTensor(call, DType::kI64, Shape{around.axis}));
  TVMVM_TRY(Owned<TensorObject> counts, NewTensor(call, DType::kI64, Shape{count}));
  std::vector<int64_t> items;
  for (int64_t k = 0; k < count; ++k) {
    const size_t group = order[static_cast<size_t>(k)];
    const int64_t begin = GroupBegin(groups, group);
    for (int64_t i = begin; i < groups.ends[group]; ++i)
      DataOf<int64_t>(*inverse)[groups.order[static_cast<size_t>(i)]] = k;
    items.push_back(FirstItem(groups, group));
    DataOf<int64_t>(*firsts)[k] = items.back();
    DataOf<int64_t>(*counts)[k] = groups.ends[group] - begin;
  }
  shape[axis] = count;
  TVMVM_TRY(Owned<TensorObject> distinct, Distinct(call, *tensor, around, shape, items));
  call.ref_results[0] = distinct.Give();
  call.ref_results[1] = firsts.Give();
  call.ref_results[2] = inverse.Give();
  call.ref_results[3] = counts.Give();
  return {};
}

}  // namespace tvmvm
