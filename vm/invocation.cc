#include <algorithm>
#include <new>

#include "vm/interpreter/vm_impl.h"

namespace tvmvm {

Invocation::Invocation(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Invocation::Invocation(Invocation&&) noexcept = default;
Invocation::~Invocation() = default;

namespace {

int64_t NanosecondsOf(std::chrono::steady_clock::time_point deadline) {
  if (deadline == std::chrono::steady_clock::time_point::max()) [[likely]]
    return 0;
  return std::max<int64_t>(std::chrono::nanoseconds(deadline.time_since_epoch()).count(), 1);
}

[[gnu::cold, gnu::noinline]] Status Refuse() {
  return MakeError(Code::kInvalidArgument, "the invocation is running: another thread runs it");
}

// Also where an observer throws.
struct RunEnd {
  std::atomic<bool>& running;
  ~RunEnd() { running.store(false, std::memory_order_release); }
};

template <class Impl>
Status RunGuarded(Impl& impl, const Arguments& inputs, Results outputs, const RunOptions& options) {
  if (impl.running.exchange(true, std::memory_order_acquire)) [[unlikely]]
    return Refuse();
  const RunEnd end{impl.running};
  try {
    return impl.machine.Run(inputs, outputs, NanosecondsOf(options.deadline));
  } catch (const std::bad_alloc&) {
    impl.machine.End();
    return MakeError(Code::kOutOfMemory, "no memory left");  // short enough to need none
  }
}

}  // namespace

Status Invocation::Run(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RunOptions& options) {
  return RunGuarded(*impl_, inputs, outputs, options);
}

Status Invocation::Run(std::span<const Value> inputs, std::span<Value> outputs, const RunOptions& options) {
  return RunGuarded(*impl_, inputs, outputs, options);
}

void Invocation::SetLimits(const Limits& limits) { impl_->machine.SetLimits(limits); }
void Invocation::Cancel() { impl_->machine.Cancel(); }
void Invocation::SetLaunchObserver(LaunchObserver observer) { impl_->machine.observer = std::move(observer); }
void Invocation::SetCopyObserver(CopyObserver observer) {
  impl_->machine.copy_observer = std::move(observer);
}
void Invocation::SetTraceObserver(TraceObserver observer) { impl_->machine.tracer = std::move(observer); }
int64_t Invocation::peak_bytes() const { return impl_->machine.peak_bytes(); }
int64_t Invocation::arena_bytes() const { return impl_->machine.arena_bytes(); }
void Invocation::Trim() { impl_->machine.Trim(); }

}  // namespace tvmvm
