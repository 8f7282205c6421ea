// plan_costs together|crossing COUNT: plans so many values, to be looked at by a tool that counts
// instructions.
#include <cstdlib>
#include <string_view>

#include "tests/allocator/hard_plans.h"

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const auto values = static_cast<uint32_t>(std::atoi(arguments[2]));
  const tvmvm::ManyValues plan = std::string_view(arguments[1]) == "together"
                                     ? tvmvm::ValuesAtOnce(values)
                                     : tvmvm::ValuesThatCross(values);
  return tvmvm::PlanMemory(plan.spec, plan.sizes).total_bytes > 0 ? 0 : 1;
}
