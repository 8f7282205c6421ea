// Sorting that may take long.
#pragma once

#include <algorithm>

#include "vm/host/scratch.h"

namespace tvmvm {

// Merges runs of `run` sorted items, so that the run's end is noticed soon; it is no harm where `less` does
// not hold to an order any more. Errors: kCancelled, kOutOfMemory.
template <class T, class Less>
Status Merge(HostCall& call, ScratchVector<T>* items, Less less, size_t run) {
  const size_t count = items->size();
  if (count <= run) return {};
  auto at = [&](size_t position) { return items->begin() + std::min(position, count); };
  TVMVM_TRY(ScratchVector<T> merged, ScratchVector<T>::WithRoom(call, static_cast<int64_t>(count)));
  for (; run < count; run *= 2) {
    merged.clear();
    for (size_t begin = 0; begin < count; begin += 2 * run) {
      const auto middle = at(begin + run), end = at(begin + 2 * run);
      for (auto left = at(begin), right = middle; left != middle || right != end;) {
        const bool takes_right = left == middle || (right != end && less(*right, *left));
        merged.push_back(takes_right ? *right++ : *left++);
        TVMVM_CHECK_OK(PollStep(call, static_cast<int64_t>(merged.size())));
      }
    }
    items->swap(merged);
  }
  return {};
}

// Short runs, which are then merged. Not stable. Errors: kCancelled, kOutOfMemory.
template <class T, class Less>
Status Sort(HostCall& call, ScratchVector<T>* items, Less less) {
  constexpr size_t kRun = size_t{1} << 14;
  for (size_t begin = 0; begin < items->size(); begin += kRun) {
    T* const first = items->begin() + begin;
    std::sort(first, first + std::min(kRun, items->size() - begin), less);
    TVMVM_CHECK_OK(Poll(call));
  }
  return Merge(call, items, less, kRun);
}

// The same of numbers; and of those from `begin` to `end` of them, at once.
Status SortNumbers(HostCall& call, ScratchVector<uint64_t>* numbers);
void SortPart(ScratchVector<uint64_t>* numbers, size_t begin, size_t end);

}  // namespace tvmvm
