#include "tvm-vm/memory_pool.h"

#include "allocator/account.h"

namespace tvmvm {

MemoryPool::MemoryPool(std::shared_ptr<MemoryAccount> account) : account_(std::move(account)) {}
MemoryPool::~MemoryPool() = default;

std::shared_ptr<MemoryPool> MemoryPool::Create(int64_t max_bytes, std::string name) {
  return Create(MemoryPoolOptions{.max_bytes = max_bytes, .name = std::move(name)});
}

std::shared_ptr<MemoryPool> MemoryPool::Create(const MemoryPoolOptions& options) {
  auto account = std::make_shared<MemoryAccount>(options.name, nullptr, options.max_bytes);
  account->set_max_wait(options.max_wait);
  return std::shared_ptr<MemoryPool>(new MemoryPool(std::move(account)));
}

int64_t MemoryPool::max_bytes() const { return account_->limit() == INT64_MAX ? 0 : account_->limit(); }
int64_t MemoryPool::held_bytes() const { return account_->held_bytes(); }
int64_t MemoryPool::peak_bytes() const { return account_->peak_bytes(); }
int MemoryPool::waiting() const { return account_->waiting(); }

}  // namespace tvmvm
