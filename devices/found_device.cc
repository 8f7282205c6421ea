#include "devices/found_device.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tvmvm {

std::vector<size_t> FastestFirst(std::span<const FoundDevice> found) {
  std::vector<size_t> order(found.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t position) {
    const FoundDevice& device = found[position];
    return std::tuple(!device.unusable.empty(), device.description.type, -device.description.memory_bytes);
  });
  return order;
}

}  // namespace tvmvm
