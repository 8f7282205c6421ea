// Plans of many values, for the planner's tests.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "allocator/planner.h"

namespace tvmvm {

struct ManyValues {
  PlanSpec spec;
  std::vector<int64_t> sizes;
};

// All are alive together.
inline ManyValues ValuesAtOnce(uint32_t count) {
  std::mt19937 random(3);
  ManyValues values;
  for (uint32_t k = 0; k < count; ++k) {
    values.spec.values.push_back({0, 1, 64});
    values.sizes.push_back(1 + random() % 100'000);
  }
  return values;
}

// Of sizes and lifetimes that no order places well.
inline ManyValues ValuesThatCross(uint32_t count) {
  std::mt19937 random(5);
  ManyValues values;
  for (uint32_t k = 0; k < count; ++k) {
    const auto first = static_cast<uint32_t>(random() % count);
    const auto last = first + static_cast<uint32_t>(random() % count);
    values.spec.values.push_back({first, last, 64u << random() % 3});
    values.sizes.push_back(1 + random() % 1'000'000);
  }
  return values;
}

}  // namespace tvmvm
