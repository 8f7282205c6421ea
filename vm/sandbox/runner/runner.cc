// tvm-vm-runner: the process of a SandboxedVm. It is started by the library and by nobody else: it takes its
// orders from a socket, gives up what it may do, and only then loads the program.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "allocator/host_memory.h"
#include "tvm-vm/cpu_device.h"
#include "tvm-vm/vm.h"
#include "tvm-vm/vmexe.h"
#include "vm/sandbox/channel.h"
#include "vm/sandbox/packed_values.h"
#include "vm/sandbox/runner/companions.h"
#include "vm/sandbox/runner/confine.h"
#include "vm/sandbox/shared_memory.h"

namespace tvmvm::sandbox {
namespace {

// Whatever an allocator or a thread does once in its life is done while it may.
void WarmUp(WorkerPool& pool) {
  constexpr int64_t kSizes[] = {64, 1 << 20, 64 << 20};
  for (const int64_t bytes : kSizes) FreeHost(TryAllocateHost(bytes));
  auto allocate = [](void*, int, int64_t, int64_t) {
    FreeHost(TryAllocateHost(64));
    std::free(std::malloc(64));
  };
  pool.Run(int64_t{64} * pool.worker_count(), 1, allocate, nullptr);
}

class Runner {
 public:
  // The exit code: 0 where the parent went away.
  int Live() {
    Message start;
    if (Receive(kSocket, &start, kNoDeadline) != Received::kMessage || start.kind != MessageKind::kStart)
      return 2;
    Message ready{.kind = MessageKind::kReady};
    if (Status status = Prepare(start, &ready); !status) SetError(&ready, status.error());
    if (!Send(kSocket, ready) || ready.code != 0 || ready.number != 0) return 0;
    Message message;
    while (Receive(kSocket, &message, kNoDeadline) == Received::kMessage && message.kind == MessageKind::kRun)
      if (!Answer(message)) break;
    return 0;
  }

 private:
  Status Prepare(const Message& start, Message* ready) {
    if (start.number != 0) TVMVM_CHECK_OK(OpenCompanions());
    const std::shared_ptr<WorkerPool> pool = CreateWorkerPool(start.threads);
    VmOptions options;
    options.devices = {CreateCpuDevice({.pool = pool})};
    WarmUp(*pool);
    shared_.Open(FileDescriptor(kSharedFile));
    const auto size = static_cast<size_t>(start.file_bytes);
    void* file = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, kProgramFile, 0);
    if (file == MAP_FAILED)
      return MakeError(Code::kOutOfMemory, "the sandboxed process cannot map the program");
    if (!Confine({start.max_bytes, start.file_bytes, pool->worker_count()}))
      return MakeError(Code::kUnsupported, "the system has no filter of system calls");

    const std::span bytes(static_cast<const std::byte*>(file), size);
    TVMVM_TRY(auto program,
              LoadProgramFromMemory(bytes, std::shared_ptr<const void>(file, [](const void*) {})));
    ready->number = start.number == 0 && NeedsCompanions(*program) ? 1 : 0;
    if (ready->number != 0) return {};  // for the next process
    TVMVM_TRY(vm_, Vm::Create(program, options));
    invocation_.emplace(vm_->NewInvocation());
    return invocation_->SetLimits(
        {.max_bytes = start.max_bytes, .max_steps = start.max_steps, .max_call_depth = start.max_call_depth});
  }

  // False where the parent is gone.
  bool Answer(const Message& run) {
    Message result{.kind = MessageKind::kResult};
    bool is_there = true;
    try {
      if (Status status = Run(run, &result, &is_there); !status) SetError(&result, status.error());
    } catch (const std::bad_alloc&) {
      SetError(&result, {Code::kOutOfMemory, "no memory left"});
    }
    return is_there && Send(kSocket, result);
  }

  Status Run(const Message& run, Message* result, bool* is_there) {
    TVMVM_CHECK_OK(shared_.Map(run.file_bytes));
    TVMVM_TRY(const std::vector<Value> inputs,
              UnpackValues(shared_.bytes(), 0, run.records, Unpacking::kBorrow));
    std::vector<Value> outputs(vm_->program().main().outputs.size());
    RunOptions options;
    if (run.deadline_ns != 0) options.deadline = Deadline(std::chrono::nanoseconds(run.deadline_ns));
    TVMVM_CHECK_OK(invocation_->Run(inputs, outputs, options));
    TVMVM_TRY(const ValuePacker packer, ValuePacker::Create(outputs, "output"));
    if (run.place + packer.bytes() > shared_.size()) {
      Message room;
      *is_there = Send(kSocket, {.kind = MessageKind::kNeedsRoom, .bytes = packer.bytes()}) &&
                  Receive(kSocket, &room, kNoDeadline) == Received::kMessage;
      if (!*is_there) return {};
      TVMVM_CHECK_OK(shared_.Map(room.file_bytes));
    }
    packer.WriteTo(shared_.data(), run.place);
    result->records = packer.record_count();
    result->bytes = packer.bytes();
    return {};
  }

  SharedMemory shared_;
  std::shared_ptr<Vm> vm_;
  std::optional<Invocation> invocation_;
};

// Nothing that the parent had open is left, but for what it gave.
bool TakeDescriptors() {
  close_range(kKernelFile, ~0u, 0);
  const int file = memfd_create("tvm-vm-kernels", MFD_CLOEXEC);
  return file == kKernelFile;
}

}  // namespace
}  // namespace tvmvm::sandbox

int main() {
  using namespace tvmvm::sandbox;  // NOLINT
  if (!TakeDescriptors()) return 2;
  LeaveNamespaces();
  return Runner().Live();
}
