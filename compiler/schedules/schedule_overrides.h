// Files that say what schedules are to be, instead of what the compiler chooses: what a person or a tuner
// found, or what another compilation chose. An entry is a line:
//
//   product[f32 rows=n*384 columns=3072]@x86-64-v4: tile_rows=6 tile_panels=4   # a remark
//
// It sets parameters of the family `product` for kernels whose problem has all words in brackets, on a
// target: "cpu" (all levels), a level, or "gpu". Later lines win. docs/schedules.md has the families.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/schedules/group.h"
#include "compiler/schedules/schedule_data.h"
#include "tvm-vm/status.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::tensor {

// "gpu", or a CPU level's name.
std::string ScheduleTarget(const TargetInfo& target);

struct TargetSchedule {
  std::string target;  // as ScheduleTarget
  KernelSchedule schedule;
};

class ScheduleOverrides {
 public:
  // `file` is for messages. Errors: kInvalidArgument with the line, what was found and what is allowed.
  static Expected<ScheduleOverrides> Parse(std::string_view text, std::string_view file);

  // Sets what entries say of a kernel.
  void Apply(const ScheduleFamily& family, std::string_view problem, const TargetInfo& target,
             void* schedule) const;
  // A sentence for each entry that is of none of the kernels, though one of its targets is among theirs.
  std::vector<std::string> Unmatched(const std::vector<TargetSchedule>& chosen) const;

 private:
  struct Entry {
    std::string place;  // "file:line"
    std::string text;   // up to the parameters
    const ScheduleFamily* family = nullptr;
    std::vector<std::string> words;
    std::string target;
    std::vector<std::pair<const ScheduleParameter*, int64_t>> settings;

    bool IsFor(std::string_view of) const;
    bool Matches(const ScheduleFamily& of, std::string_view problem) const;
  };
  static Expected<Entry> ParseEntry(std::string_view line);

  std::vector<Entry> entries_;
};

// A file that gives each kernel what was chosen for it. Where kernels of one problem were given different
// values of a parameter, it is left out.
std::string WriteSchedules(const std::vector<TargetSchedule>& chosen);

// Overrides *schedule, has `fit` bring it to what the problem allows, and says what came of it.
template <class Schedule, class Fit>
KernelSchedule Decide(const GroupView& group, const TargetInfo& target, std::string problem,
                      Schedule* schedule, Fit fit) {
  if (group.overrides() != nullptr) group.overrides()->Apply(Schedule::kFamily, problem, target, schedule);
  fit(schedule);
  return Describe(std::move(problem), *schedule);
}

template <class Schedule>
KernelSchedule Decide(const GroupView& group, const TargetInfo& target, std::string problem,
                      Schedule* schedule) {
  return Decide(group, target, std::move(problem), schedule, [](Schedule*) {});
}

}  // namespace tvmvm::tensor
