#include "vm/interpreter/shared_plans.h"

#include <algorithm>

namespace tvmvm {

uint64_t KeptPlan::HashOf(std::span<const int64_t> sizes) {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (int64_t size : sizes) {
    hash = (hash ^ static_cast<uint64_t>(size)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

bool KeptPlan::IsFor(std::span<const int64_t> wanted) const { return std::ranges::equal(sizes, wanted); }

int64_t KeptPlan::bytes() const {
  return static_cast<int64_t>(sizeof(KeptPlan) + sizeof(int64_t) * (sizes.size() + plan.offsets.size()));
}

SharedPlans::~SharedPlans() {
  for (const Table& table : tables_)
    for (size_t i = 0; i < table.count.load(); ++i) {
      const std::unique_ptr<const KeptPlan> kept(table.plans[i].load());
      if (account_ != nullptr) account_->Release(kept->bytes());
    }
}

const KeptPlan* SharedPlans::Find(PlanId plan, uint64_t hash, std::span<const int64_t> sizes) const {
  const Table& table = tables_[plan.index];
  const size_t count = table.count.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) {
    const KeptPlan* kept = table.plans[i].load(std::memory_order_relaxed);
    if (kept->hash == hash && kept->IsFor(sizes)) return kept;
  }
  return nullptr;
}

const KeptPlan* SharedPlans::Keep(PlanId plan, std::unique_ptr<const KeptPlan>* kept) {
  const std::lock_guard lock(mutex_);
  if (const KeptPlan* found = Find(plan, (*kept)->hash, (*kept)->sizes)) return found;
  Table& table = tables_[plan.index];
  const size_t count = table.count.load(std::memory_order_relaxed);
  if (count == kPlansKept) return nullptr;
  if (account_ != nullptr && !account_->Reserve((*kept)->bytes(), "plans")) return nullptr;
  const KeptPlan* added = kept->release();
  table.plans[count].store(added, std::memory_order_relaxed);
  table.count.store(count + 1, std::memory_order_release);
  return added;
}

}  // namespace tvmvm
