#include "vm/interpreter/plan_cache.h"

namespace tvmvm {

const MemoryPlan* PlanCache::Get(PlanId plan, std::span<const int64_t> sizes, const CancelToken* cancel) {
  Table& table = tables_[plan.index];
  if (table.last != nullptr && table.last->IsFor(sizes)) return &table.last->plan;

  const uint64_t hash = KeptPlan::HashOf(sizes);
  const KeptPlan* found = shared_ != nullptr ? shared_->Find(plan, hash, sizes) : nullptr;
  for (size_t i = 0; found == nullptr && i < table.own.size(); ++i)
    if (table.own[i]->hash == hash && table.own[i]->IsFor(sizes)) found = table.own[i].get();
  if (found != nullptr) return &(table.last = found)->plan;

  ++misses_;
  // All that may fail comes first; only then does anything here change.
  const PlanSpec& spec = specs_[plan.index];
  const std::function<bool()> cancelled = [cancel] { return cancel != nullptr && cancel->cancelled(); };
  Expected<MemoryPlan> made = sizes.size() > spec.values.size() ? PlanAmong(spec, sizes, cancelled)
                                                                : PlanMemory(spec, sizes, cancelled);
  if (!made) return nullptr;
  return Keep(
      plan, std::make_unique<const KeptPlan>(KeptPlan{hash, {sizes.begin(), sizes.end()}, std::move(*made)}));
}

const MemoryPlan* PlanCache::Keep(PlanId plan, std::unique_ptr<const KeptPlan> made) {
  Table& table = tables_[plan.index];
  if (shared_ != nullptr)
    if (const KeptPlan* kept = shared_->Keep(plan, &made)) return &(table.last = kept)->plan;
  // Plans make room where memory is short, but for the one that is wanted.
  const int64_t bytes = made->bytes();
  if (account_ != nullptr && bytes > account_->limit() - account_->held_bytes()) Drop(&table);
  const KeptPlan* kept = made.get();
  if (table.own.size() < kPlansKept) {
    table.own.push_back(std::move(made));
  } else {
    if (account_ != nullptr) account_->Release(table.own[table.victim]->bytes());
    table.own[table.victim] = std::move(made);
    table.victim = (table.victim + 1) % kPlansKept;
  }
  table.last = kept;
  if (account_ != nullptr) account_->Add(bytes);
  return &kept->plan;
}

void PlanCache::Drop(Table* table) {
  if (account_ != nullptr)
    for (const auto& kept : table->own) account_->Release(kept->bytes());
  *table = {};
}

void PlanCache::Clear() {
  for (Table& table : tables_) Drop(&table);
}

}  // namespace tvmvm
