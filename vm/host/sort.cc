#include "vm/host/sort.h"

#include <functional>

namespace tvmvm {

Status SortNumbers(HostCall& call, std::vector<uint64_t>* numbers) {
  return Sort(call, numbers, std::less<uint64_t>());
}

void SortPart(std::vector<uint64_t>* numbers, size_t begin, size_t end) {
  std::sort(numbers->begin() + static_cast<std::ptrdiff_t>(begin),
            numbers->begin() + static_cast<std::ptrdiff_t>(end), std::less<uint64_t>());
}

}  // namespace tvmvm
