#include "vm/c/pool.h"

#include "vm/c/sized.h"

namespace tvmvm::c {
namespace {

class CallersPool final : public WorkerPool {
 public:
  CallersPool(const tvmvm_worker_pool& pool, int workers) : pool_(pool), workers_(workers) {}
  ~CallersPool() override {
    if (pool_.free != nullptr) pool_.free(pool_.context);
  }
  CallersPool(const CallersPool&) = delete;
  CallersPool& operator=(const CallersPool&) = delete;

  int worker_count() const override { return workers_; }
  void Run(int64_t count, int64_t grain, void (*task)(void* context, int worker, int64_t begin, int64_t end),
           void* context) override {
    pool_.run(pool_.context, count, grain, task, context);
  }

 private:
  const tvmvm_worker_pool pool_;
  const int workers_;
};

}  // namespace

Expected<std::shared_ptr<WorkerPool>> PoolFrom(const tvmvm_worker_pool* pool) {
  if (pool == nullptr) return nullptr;
  TVMVM_TRY(const tvmvm_worker_pool read, ReadSized(*pool, sizeof *pool, "pool"));
  if (read.worker_count == nullptr || read.run == nullptr)
    return MakeError(Code::kInvalidArgument, "pool.worker_count or pool.run is null");
  const int workers = read.worker_count(read.context);
  if (workers < 1)
    return MakeError(Code::kInvalidArgument, "the pool has " + std::to_string(workers) + " workers");
  return std::make_shared<CallersPool>(read, workers);
}

}  // namespace tvmvm::c
