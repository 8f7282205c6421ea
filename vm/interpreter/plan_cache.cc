#include "vm/interpreter/plan_cache.h"

#include <algorithm>

namespace tvmvm {
namespace {

uint64_t HashOf(std::span<const int64_t> sizes) {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (int64_t size : sizes) {
    hash = (hash ^ static_cast<uint64_t>(size)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

bool SameSizes(const std::vector<int64_t>& a, std::span<const int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

const MemoryPlan* PlanCache::Get(PlanId plan, std::span<const int64_t> sizes, const CancelToken* cancel) {
  Table& table = tables_[plan.index];
  if (table.last < table.entries.size() && SameSizes(table.entries[table.last].sizes, sizes))
    return &table.entries[table.last].plan;

  const uint64_t hash = HashOf(sizes);
  for (size_t i = 0; i < table.entries.size(); ++i) {
    const Entry& entry = table.entries[i];
    if (entry.hash != hash || !SameSizes(entry.sizes, sizes)) continue;
    table.last = i;
    return &entry.plan;
  }

  ++misses_;
  // All that may fail comes first; only then does anything here change.
  Expected<MemoryPlan> made =
      PlanMemory(specs_[plan.index], sizes, [cancel] { return cancel != nullptr && cancel->cancelled(); });
  if (!made) return nullptr;
  Entry entry{hash, {sizes.begin(), sizes.end()}, std::move(*made)};
  // Plans make room where memory is short, but for the one that is wanted.
  const int64_t bytes = BytesOf(entry);
  if (account_ != nullptr && bytes > account_->limit() - account_->held_bytes()) Drop(&table);
  if (table.entries.size() < kPlansKept) {
    table.entries.push_back(std::move(entry));
    table.last = table.entries.size() - 1;
  } else {
    if (account_ != nullptr) account_->Release(BytesOf(table.entries[table.victim]));
    table.entries[table.victim] = std::move(entry);
    table.last = table.victim;
    table.victim = (table.victim + 1) % kPlansKept;
  }
  if (account_ != nullptr) account_->Add(bytes);
  return &table.entries[table.last].plan;
}

int64_t PlanCache::BytesOf(const Entry& entry) {
  return static_cast<int64_t>(sizeof(Entry) +
                              sizeof(int64_t) * (entry.sizes.size() + entry.plan.offsets.size()));
}

void PlanCache::Drop(Table* table) {
  if (account_ != nullptr)
    for (const Entry& entry : table->entries) account_->Release(BytesOf(entry));
  *table = {};
}

void PlanCache::Clear() {
  for (Table& table : tables_) Drop(&table);
}

}  // namespace tvmvm
