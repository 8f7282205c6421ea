// Sorting that may take long.
#pragma once

#include <algorithm>
#include <vector>

#include "vm/host/operands.h"

namespace tvmvm {

// Short runs, which are then merged, so that the run's end is noticed soon. Not stable. Errors:
// kCancelled, kOutOfMemory.
template <class T, class Less>
Status Sort(HostCall& call, std::vector<T>* items, Less less) {
  constexpr size_t kRun = size_t{1} << 14;
  const size_t count = items->size();
  auto at = [&](size_t position) {
    return items->begin() + static_cast<std::ptrdiff_t>(std::min(position, count));
  };
  for (size_t begin = 0; begin < count; begin += kRun) {
    std::sort(at(begin), at(begin + kRun), less);
    TVMVM_CHECK_OK(Poll(call));
  }
  if (count <= kRun) return {};
  TVMVM_TRY(Scratch scratch, Scratch::Charge(call, static_cast<int64_t>(count * sizeof(T))));
  std::vector<T> merged;
  merged.reserve(count);
  for (size_t run = kRun; run < count; run *= 2) {
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

// The same of numbers; and of those from `begin` to `end` of them, at once.
Status SortNumbers(HostCall& call, std::vector<uint64_t>* numbers);
void SortPart(std::vector<uint64_t>* numbers, size_t begin, size_t end);

}  // namespace tvmvm
