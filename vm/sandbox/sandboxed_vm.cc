#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <stop_token>

#include "process/memory_file.h"
#include "tvm-vm/sandbox.h"
#include "tvm-vm/vmexe.h"
#include "vm/sandbox/result_check.h"
#include "vm/sandbox/session.h"

namespace tvmvm {

using sandbox::Deadline;

struct SandboxedVm::Impl {
  Impl(std::shared_ptr<const Program> program, FileDescriptor file, uint64_t bytes,
       const SandboxOptions& options)
      : program(std::move(program)), timeout(options.timeout), session(std::move(file), bytes, options) {}

  Status Run(std::span<const Value> inputs, std::span<Value> outputs, const RunOptions& options);
  Status RunAlone(std::span<const Value> inputs, std::span<Value> outputs, Deadline deadline);
  void Count(const Status& status);

  const std::shared_ptr<const Program> program;
  const std::chrono::nanoseconds timeout;
  sandbox::Session session;
  std::atomic<bool> running{false};
  std::atomic<int64_t> ok{0}, refused{0}, limited{0}, cancelled{0}, failed{0};
};

namespace {

// A file and what is mapped of it.
struct MappedFile {
  FileDescriptor file;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

// Opened once: what this process checks and what the other one runs is the same file.
Expected<MappedFile> MapFile(const std::string& path) {
  MappedFile mapped{FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)), {}, nullptr};
  struct stat status;
  if (mapped.file.get() < 0 || fstat(mapped.file.get(), &status) != 0)
    return MakeError(errno == ENOENT ? Code::kNotFound : Code::kIo,
                     "cannot read '" + path + "': " + std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return MakeError(Code::kIo, "cannot read '" + path + "': it is no regular file");
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return mapped;
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, mapped.file.get(), 0);
  if (memory == MAP_FAILED) return MakeError(Code::kIo, "cannot map '" + path + "': " + std::strerror(errno));
  mapped.owner =
      std::shared_ptr<const void>(memory, [size](const void* at) { munmap(const_cast<void*>(at), size); });
  mapped.bytes = {static_cast<const std::byte*>(memory), size};
  return mapped;
}

Deadline Earlier(std::chrono::nanoseconds timeout, Deadline deadline) {
  if (timeout.count() <= 0) return deadline;
  const Deadline now = Deadline::clock::now();
  return timeout < sandbox::kNoDeadline - now ? std::min(deadline, now + timeout) : deadline;
}

// Where the run failed while its process was being killed for Cancel.
constexpr const char* kCancelled = "cancelled: the sandboxed process was killed";

}  // namespace

Status SandboxedVm::Impl::Run(std::span<const Value> inputs, std::span<Value> outputs,
                              const RunOptions& options) {
  if (running.exchange(true, std::memory_order_acquire))
    return MakeError(Code::kInvalidArgument, "the sandboxed VM is running: another thread runs it");
  const Deadline deadline = Earlier(timeout, options.deadline);
  Status status;
  try {
    if (session.TakeCancel() || options.cancel.stop_requested()) {
      status = MakeError(Code::kCancelled, "cancelled");
    } else {
      const std::stop_callback kill(options.cancel, [&] { session.Cancel(); });
      status = RunAlone(inputs, outputs, deadline);
    }
    // What the token asked for is for this run alone, also where it came behind the run.
    if ((!status || options.cancel.stop_requested()) && session.TakeCancel() && !status)
      status = MakeError(Code::kCancelled, kCancelled);
  } catch (const std::bad_alloc&) {
    session.TakeCancel();  // which was for this run
    session.GiveUp();
    status = MakeError(Code::kOutOfMemory, "no memory left");
  }
  Count(status);
  running.store(false, std::memory_order_release);
  return status;
}

Status SandboxedVm::Impl::RunAlone(std::span<const Value> inputs, std::span<Value> outputs,
                                   Deadline deadline) {
  const std::vector<ParameterSpec>& wanted = program->main().outputs;
  if (outputs.size() != wanted.size())
    return MakeError(Code::kInvalidArgument, "room for " + std::to_string(outputs.size()) +
                                                 " outputs given, the program has " +
                                                 std::to_string(wanted.size()));
  TVMVM_TRY(std::vector<Value> results, session.Run(inputs, outputs, deadline));
  if (Status fits = sandbox::CheckResults(results, wanted); !fits) {
    session.GiveUp();
    return MakeError(Code::kInvalidProgram,
                     "the sandboxed process answered nonsense and was killed: " + fits.error().message);
  }
  std::ranges::move(results, outputs.begin());
  return {};
}

void SandboxedVm::Impl::Count(const Status& status) {
  if (status) {
    ++ok;
    return;
  }
  switch (status.error().code) {
    case Code::kInvalidArgument:
    case Code::kUnsupported:
      ++refused;
      break;
    case Code::kOutOfMemory:
    case Code::kDeadlineExceeded:
      ++limited;
      break;
    case Code::kCancelled:
      ++cancelled;
      break;
    default:
      ++failed;
  }
}

SandboxedVm::SandboxedVm(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SandboxedVm::~SandboxedVm() = default;

Expected<std::unique_ptr<SandboxedVm>> SandboxedVm::Create(const std::string& path,
                                                           const SandboxOptions& options) {
  TVMVM_TRY(MappedFile mapped, MapFile(path));
  TVMVM_TRY(auto program, LoadProgramFromMemory(mapped.bytes, mapped.owner));
  auto impl =
      std::make_unique<Impl>(std::move(program), std::move(mapped.file), mapped.bytes.size(), options);
  TVMVM_CHECK_OK(impl->session.Open());
  return std::unique_ptr<SandboxedVm>(new SandboxedVm(std::move(impl)));
}

Expected<std::unique_ptr<SandboxedVm>> SandboxedVm::Create(std::shared_ptr<const Program> program,
                                                           const SandboxOptions& options) {
  TVMVM_TRY(const std::vector<std::byte> bytes, SerializeProgram(*program));
  TVMVM_TRY(FileDescriptor file, SealedMemoryFile(bytes));
  auto impl = std::make_unique<Impl>(std::move(program), std::move(file), bytes.size(), options);
  TVMVM_CHECK_OK(impl->session.Open());
  return std::unique_ptr<SandboxedVm>(new SandboxedVm(std::move(impl)));
}

const Program& SandboxedVm::program() const { return *impl_->program; }

std::shared_ptr<const Program> SandboxedVm::shared_program() const { return impl_->program; }

Status SandboxedVm::Run(std::span<const Value> inputs, std::span<Value> outputs, const RunOptions& options) {
  return impl_->Run(inputs, outputs, options);
}

Status SandboxedVm::Run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                        const RunOptions& options) {
  for (const ParameterSpec& output : program().main().outputs)
    if (output.type.kind == ValueKind::kSequence || output.type.kind == ValueKind::kTuple)
      return MakeError(Code::kInvalidArgument,
                       "output '" + output.name + "' is no tensor: run the program with values");
  const std::vector<Value> given(inputs.begin(), inputs.end());
  std::vector<Value> results(outputs.begin(), outputs.end());
  TVMVM_CHECK_OK(impl_->Run(given, results, options));
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = results[i].is_tensor() ? results[i].tensor() : Tensor();
  return {};
}

void SandboxedVm::Cancel() { impl_->session.Cancel(); }

RunCounters SandboxedVm::counters() const {
  return {.ok = impl_->ok,
          .refused = impl_->refused,
          .limited = impl_->limited,
          .cancelled = impl_->cancelled,
          .failed = impl_->failed};
}

int64_t SandboxedVm::starts() const { return impl_->session.starts(); }

}  // namespace tvmvm
