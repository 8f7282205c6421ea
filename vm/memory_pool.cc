#include "tvm-vm/memory_pool.h"

#include "allocator/account.h"

namespace tvmvm {

MemoryPool::MemoryPool(std::shared_ptr<MemoryAccount> account) : account_(std::move(account)) {}
MemoryPool::~MemoryPool() = default;

std::shared_ptr<MemoryPool> MemoryPool::Create(int64_t max_bytes, std::string name) {
  auto account = std::make_shared<MemoryAccount>(std::move(name), nullptr, max_bytes);
  return std::shared_ptr<MemoryPool>(new MemoryPool(std::move(account)));
}

int64_t MemoryPool::max_bytes() const { return account_->limit() == INT64_MAX ? 0 : account_->limit(); }
int64_t MemoryPool::held_bytes() const { return account_->held_bytes(); }
int64_t MemoryPool::peak_bytes() const { return account_->peak_bytes(); }

}  // namespace tvmvm
