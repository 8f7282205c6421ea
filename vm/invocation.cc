#include <new>

#include "vm/interpreter/vm_impl.h"

namespace tvmvm {

Invocation::Invocation(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Invocation::Invocation(Invocation&&) noexcept = default;
Invocation::~Invocation() = default;

namespace {

Status RunGuarded(Machine& machine, const Arguments& inputs, Results outputs) {
  try {
    return machine.Run(inputs, outputs);
  } catch (const std::bad_alloc&) {
    machine.End();
    return MakeError(Code::kOutOfMemory, "no memory left");  // short enough to need none
  }
}

}  // namespace

Status Invocation::Run(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  return RunGuarded(impl_->machine, inputs, outputs);
}

Status Invocation::Run(std::span<const Value> inputs, std::span<Value> outputs) {
  return RunGuarded(impl_->machine, inputs, outputs);
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
