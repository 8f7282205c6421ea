// Schedules as data: each family of schedules has a plain struct of numbers, which one pure function chooses
// from the problem (extents, types) and the target, and another builds into loops. A family lists its
// parameters once; printing, reading, checking and overriding them are loops over that list.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/dim/dim.h"

namespace tvmvm::tensor {

// Values that a parameter may have, whatever the problem.
struct AllowedValues {
  int64_t least = 0, most = 1;
  int64_t multiple_of = 1;
  bool powers_of_two = false;

  bool Contains(int64_t value) const;
  std::string ToString() const;  // "a multiple of 4 from 4 to 64"
};

enum class ParameterScope : uint8_t {
  kEveryLevel,  // one value for all CPU levels: calls, grids and packed constants follow from it
  kOneLevel,    // each level may have its own
};

struct ScheduleParameter {
  std::string_view name;
  AllowedValues allowed;
  ParameterScope scope = ParameterScope::kEveryLevel;
  std::string_view meaning;
  int64_t (*get)(const void* schedule) = nullptr;
  void (*set)(void* schedule, int64_t value) = nullptr;
};

struct ScheduleFamily {
  std::string_view name;
  std::string_view meaning;
  std::span<const ScheduleParameter> parameters;

  const ScheduleParameter* Find(std::string_view parameter) const;  // null: there is none
};

// All families, those of CPUs first.
std::vector<const ScheduleFamily*> ScheduleFamilies();
// Of schedules/cpu and schedules/gpu.
std::span<const ScheduleFamily* const> CpuScheduleFamilies();
std::span<const ScheduleFamily* const> GpuScheduleFamilies();

// What one kernel was built from. `problem`: words that say what the choice depends on ("f32", "rows=n*4").
// Families have the names of their schedules' static member kFamily.
struct KernelSchedule {
  const ScheduleFamily* family = nullptr;
  std::string problem;
  std::vector<int64_t> values;  // of the family's parameters

  std::string ToString() const;  // "rows[f32 ...]: lanes=8 block=8192"
};

template <class Schedule>
KernelSchedule Describe(std::string problem, const Schedule& schedule) {
  KernelSchedule description{&Schedule::kFamily, std::move(problem), {}};
  for (const ScheduleParameter& parameter : Schedule::kFamily.parameters)
    description.values.push_back(parameter.get(&schedule));
  return description;
}

// A size, and sizes, as parts of a problem's words: without spaces, and of bounded length.
std::string WordOf(const ir::Dim& dim);
std::string WordOf(const ir::Dims& dims);
// Text as a part of a word.
std::string WordOf(std::string text);

template <class>
struct MemberTraits;
template <class Struct, class Number>
struct MemberTraits<Number Struct::*> {
  using Schedule = Struct;
  using Value = Number;
};

// A row of a family's list: the parameter that is member `kMember` of its struct.
template <auto kMember>
constexpr ScheduleParameter Parameter(std::string_view name, AllowedValues allowed, ParameterScope scope,
                                      std::string_view meaning) {
  using Traits = MemberTraits<decltype(kMember)>;
  return {name,
          allowed,
          scope,
          meaning,
          [](const void* schedule) {
            return static_cast<int64_t>(static_cast<const typename Traits::Schedule*>(schedule)->*kMember);
          },
          [](void* schedule, int64_t value) {
            static_cast<typename Traits::Schedule*>(schedule)->*kMember =
                static_cast<typename Traits::Value>(value);
          }};
}

}  // namespace tvmvm::tensor
