#include <algorithm>

#include "bytecode/guarded.h"
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

[[gnu::cold, gnu::noinline]] Status Refuse(bool is_made) noexcept {
  return Guarded([&]() -> Status {
    if (!is_made) return MakeError(Code::kOutOfMemory, "there was no memory for the invocation");
    return MakeError(Code::kInvalidArgument, "the invocation is running: another thread runs it");
  });
}

// `body` with the Invocation for itself. `impl` may be null.
template <class Impl, class Body>
Status Alone(Impl* impl, const Body& body) {
  if (impl == nullptr || impl->running.exchange(true, std::memory_order_acquire)) [[unlikely]]
    return Refuse(impl != nullptr);
  Status status = Guarded([&] { return body(impl->machine); });
  impl->running.store(false, std::memory_order_release);
  return status;
}

template <class Impl>
Status RunAlone(Impl* impl, const Arguments& inputs, Results outputs, const RunOptions& options) {
  Status status = Alone(impl, [&](Machine& machine) -> Status {
    try {
      return machine.Run(inputs, outputs, NanosecondsOf(options.deadline), options.cancel);
    } catch (...) {  // of ours where memory is short, or of an observer
      machine.Abandon();
      return tl::unexpected(CaughtError());
    }
  });
  if (impl != nullptr) impl->runs->Count(impl->line, status);
  return status;
}

template <class Impl, class Set>
Status Change(Impl* impl, const Set& set) {
  return Alone(impl, [&](Machine& machine) -> Status {
    set(machine);
    return {};
  });
}

}  // namespace

Status Invocation::Run(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RunOptions& options) {
  return RunAlone(impl_.get(), inputs, outputs, options);
}

Status Invocation::Run(std::span<const Value> inputs, std::span<Value> outputs, const RunOptions& options) {
  return RunAlone(impl_.get(), inputs, outputs, options);
}

void Invocation::Cancel() {
  if (impl_ != nullptr) impl_->machine.Cancel();
}
Status Invocation::SetLimits(const Limits& limits) {
  return Change(impl_.get(), [&](Machine& machine) { machine.SetLimits(limits); });
}
Status Invocation::SetTrimPolicy(const TrimPolicy& policy) {
  return Change(impl_.get(), [&](Machine& machine) { machine.SetTrimPolicy(policy); });
}
Status Invocation::SetLaunchObserver(LaunchObserver observer) {
  return Change(impl_.get(), [&](Machine& machine) { machine.observer = std::move(observer); });
}
Status Invocation::SetCopyObserver(CopyObserver observer) {
  return Change(impl_.get(), [&](Machine& machine) { machine.copy_observer = std::move(observer); });
}
Status Invocation::SetTraceObserver(TraceObserver observer) {
  return Change(impl_.get(), [&](Machine& machine) { machine.tracer = std::move(observer); });
}
Status Invocation::Trim() {
  return Change(impl_.get(), [](Machine& machine) { machine.Trim(); });
}
int64_t Invocation::peak_bytes() const { return impl_ != nullptr ? impl_->machine.peak_bytes() : 0; }
int64_t Invocation::held_bytes() const { return impl_ != nullptr ? impl_->machine.held_bytes() : 0; }
int64_t Invocation::arena_bytes() const { return impl_ != nullptr ? impl_->machine.arena_bytes() : 0; }

}  // namespace tvmvm
