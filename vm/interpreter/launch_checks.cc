#include "vm/interpreter/launch_checks.h"

#include <algorithm>
#include <utility>

namespace tvmvm {

LaunchChecks::LaunchChecks(const Binding& binding) : checks_(binding.contracts.size()) {
  const std::vector<KernelSpec>& kernels = binding.program->kernels;
  size_t numbers = binding.longest_list;
  for (size_t id = 0; id < checks_.size(); ++id)
    if (const auto& contract = binding.contracts[id])
      numbers += 2 * (contract->initial().size() + kernels[id].buffers.size());
  numbers_.resize(numbers);
  int64_t* next = numbers_.data() + binding.longest_list;  // zeros in front, for kernels without a contract
  for (size_t id = 0; id < checks_.size(); ++id) {
    LaunchCheck& check = checks_[id];
    check.last.bytes = numbers_.data();
    if (!binding.contracts[id]) continue;
    check.contract = &*binding.contracts[id];
    for (CheckedNumbers* set : {&check.last, &check.other}) {
      set->values = std::exchange(next, next + check.contract->initial().size());
      std::ranges::copy(check.contract->initial(), set->values);
      set->Forget();
      set->bytes = std::exchange(next, next + kernels[id].buffers.size());
    }
  }
}

}  // namespace tvmvm
