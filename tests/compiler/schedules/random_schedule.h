// Any schedule that is allowed.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>

#include "compiler/schedules/schedule_data.h"

namespace tvmvm::tensor {

// As often 2 to 3 as 1000 to 1500: what is small makes a difference for small problems, too.
inline int64_t RandomValue(const AllowedValues& allowed, std::mt19937& random) {
  const int64_t step = allowed.multiple_of, least = (allowed.least + step - 1) / step * step;
  const auto span = static_cast<uint64_t>((allowed.most - least) / step);
  const uint64_t below = uint64_t{1} << (random() % static_cast<unsigned>(std::bit_width(span) + 1));
  int64_t value = least + static_cast<int64_t>(std::min<uint64_t>(random() % below, span)) * step;
  if (allowed.powers_of_two) value = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(value)));
  return std::max(value, allowed.least);
}

// A file that gives each parameter of each family a value.
inline std::string RandomSchedules(unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  for (const ScheduleFamily* family : ScheduleFamilies()) {
    const bool is_gpu = std::ranges::count(GpuScheduleFamilies(), family) > 0;
    text += fmt::format("{}[]@{}:", family->name, is_gpu ? "gpu" : "cpu");
    for (const ScheduleParameter& parameter : family->parameters)
      text += fmt::format(" {}={}", parameter.name, RandomValue(parameter.allowed, random));
    text += "\n";
  }
  return text;
}

}  // namespace tvmvm::tensor
