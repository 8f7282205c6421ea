#include "vm/host/sort.h"

#include <functional>

namespace tvmvm {

Status SortNumbers(HostCall& call, ScratchVector<uint64_t>* numbers) {
  return Sort(call, numbers, std::less<uint64_t>());
}

void SortPart(ScratchVector<uint64_t>* numbers, size_t begin, size_t end) {
  std::sort(numbers->begin() + begin, numbers->begin() + end, std::less<uint64_t>());
}

}  // namespace tvmvm
