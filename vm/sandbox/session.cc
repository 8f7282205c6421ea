#include "vm/sandbox/session.h"

#include <algorithm>
#include <utility>

#include "vm/sandbox/protocol.h"
#include "vm/sandbox/system_call_names.h"

namespace tvmvm::sandbox {
namespace {

constexpr uint64_t kFirstRoom = uint64_t{1} << 18;  // for outputs, before any told how large they are
// What a run that ends by itself at its deadline may take to say so, before it is killed.
constexpr std::chrono::milliseconds kGrace(5);

uint64_t Aligned(uint64_t bytes) { return (bytes + kPackedAlignment - 1) & ~(kPackedAlignment - 1); }

}  // namespace

Status Session::Open() {
  TVMVM_CHECK_OK(shared_.Create());
  TVMVM_CHECK_OK(shared_.Grow(kFirstRoom));
  return StartProcess(kNoDeadline);
}

Expected<std::vector<Value>> Session::Run(std::span<const Value> inputs, std::span<const Value> given,
                                          Deadline deadline) {
  TVMVM_TRY(const ValuePacker packer, ValuePacker::Create(inputs, "input"));
  TVMVM_CHECK_OK(CheckSize("inputs", packer.bytes()));
  TVMVM_CHECK_OK(EnsureProcess(deadline));
  const uint64_t place = Aligned(packer.bytes());
  TVMVM_CHECK_OK(shared_.Grow(place + kFirstRoom));
  packer.WriteTo(shared_.data(), 0);
  Message message{.kind = MessageKind::kRun,
                  .file_bytes = shared_.size(),
                  .place = place,
                  .records = packer.record_count()};
  if (deadline != kNoDeadline)
    message.deadline_ns = std::chrono::nanoseconds(deadline.time_since_epoch()).count();
  if (!Send(process_->socket(), message)) return Ended();
  TVMVM_TRY(message, AwaitResult(place, deadline));
  if (message.code != 0) return tl::unexpected(ErrorOf(message));
  if (deadline != kNoDeadline && Deadline::clock::now() > deadline)
    return MakeError(Code::kDeadlineExceeded, "the result came behind the deadline");
  auto outputs = UnpackValues(shared_.bytes(), place, message.records, Unpacking::kCopy, given);
  if (!outputs && outputs.error().code == Code::kInvalidProgram) return Nonsense(outputs.error().message);
  return outputs;
}

Expected<Message> Session::AwaitResult(uint64_t place, Deadline deadline) {
  TVMVM_TRY(Message message, Await(MessageKind::kResult, deadline));
  if (message.kind == MessageKind::kResult) return message;
  // It computed the outputs and asks for room, once.
  if (Status fits = CheckSize("outputs", message.bytes); !fits) {
    GiveUp();  // it would wait for an answer
    return tl::unexpected(fits.error());
  }
  if (Status status = shared_.Grow(place + message.bytes); !status) {
    GiveUp();
    return tl::unexpected(status.error());
  }
  if (!Send(process_->socket(), {.kind = MessageKind::kRoom, .file_bytes = shared_.size()})) return Ended();
  TVMVM_TRY(message, Await(MessageKind::kResult, deadline));
  if (message.kind != MessageKind::kResult) return Nonsense("it asks for room again");
  return message;
}

// A message of that kind; in place of kResult kNeedsRoom may come, too.
Expected<Message> Session::Await(MessageKind wanted, Deadline deadline) {
  Message message;
  const Deadline last = deadline == kNoDeadline ? deadline : deadline + kGrace;
  switch (Receive(process_->socket(), &message, last)) {
    case Received::kMessage:
      break;
    case Received::kClosed:
      return Ended();
    case Received::kLate:
      GiveUp();
      return MakeError(Code::kDeadlineExceeded, "the time is over: the sandboxed process was killed");
    case Received::kGarbage:
      return Nonsense("a message of another size or version");
  }
  if (message.kind == MessageKind::kRefusedCall) {
    GiveUp();
    return MakeError(Code::kInvalidProgram, "the sandboxed process was ended: it made the system call " +
                                                SystemCallName(message.number) + ", which is refused");
  }
  const bool fits =
      message.kind == wanted || (wanted == MessageKind::kResult && message.kind == MessageKind::kNeedsRoom);
  if (!fits) return Nonsense("a message that was not due");
  return message;
}

Status Session::EnsureProcess(Deadline deadline) {
  // What says something that nobody asked for, or is gone, serves no more.
  if (process_ != nullptr && HasInput(process_->socket())) GiveUp();
  return process_ == nullptr ? StartProcess(deadline) : Status();
}

Status Session::StartProcess(Deadline deadline) {
  TVMVM_TRY(const std::string path, RunnerPath());
  dying_.reset();  // waits for its end: nobody else writes to the shared memory then
  TVMVM_TRY(std::unique_ptr<RunnerProcess> process,
            RunnerProcess::Start(path, program_file_.get(), shared_.file()));
  {
    std::lock_guard lock(mutex_);
    process_ = std::move(process);
    if (cancelled_) process_->Kill();
  }
  starts_.fetch_add(1, std::memory_order_relaxed);
  if (!Send(process_->socket(), {.kind = MessageKind::kStart,
                                 .file_bytes = program_bytes_,
                                 .number = needs_companions_ ? 1 : 0,
                                 .max_bytes = options_.max_bytes,
                                 .max_steps = options_.max_steps,
                                 .max_call_depth = options_.max_call_depth,
                                 .threads = options_.threads}))
    return Ended();
  const Deadline now = Deadline::clock::now();
  if (options_.start_timeout < kNoDeadline - now) deadline = std::min(deadline, now + options_.start_timeout);
  TVMVM_TRY(const Message ready, Await(MessageKind::kReady, deadline));
  if (ready.code == 0 && ready.number == 0) return {};
  GiveUp();
  if (ready.code != 0) return tl::unexpected(ErrorOf(ready));
  if (needs_companions_) return Nonsense("it asks for libraries again");
  needs_companions_ = true;
  return StartProcess(deadline);
}

Expected<std::string> Session::RunnerPath() const {
  const std::string path = options_.runner.empty() ? OwnFolder() + "tvm-vm-runner" : options_.runner;
  if (access(path.c_str(), X_OK) == 0) return path;
  return MakeError(Code::kNotFound, "sandbox: there is no runner '" + path + "'");
}

Status Session::CheckSize(const char* what, uint64_t bytes) const {
  const auto most = static_cast<uint64_t>(options_.max_bytes > 0 ? options_.max_bytes : INT64_MAX / 4);
  if (bytes <= most) return {};
  return MakeError(Code::kOutOfMemory, "sandbox: the " + std::string(what) + " take " +
                                           std::to_string(bytes) + " bytes, the limit is " +
                                           std::to_string(most));
}

void Session::Cancel() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  if (process_ != nullptr) process_->Kill();
}

bool Session::TakeCancel() {
  {
    std::lock_guard lock(mutex_);
    if (!std::exchange(cancelled_, false)) return false;
  }
  GiveUp();  // it was killed, with or without a run
  return true;
}

void Session::GiveUp() {
  std::lock_guard lock(mutex_);
  if (process_ == nullptr) return;
  process_->Kill();
  dying_ = std::move(process_);
}

tl::unexpected<Error> Session::Ended() {
  Error error = process_->HowItEnded();
  GiveUp();
  return tl::unexpected(std::move(error));
}

tl::unexpected<Error> Session::Nonsense(const std::string& what) {
  GiveUp();
  return MakeError(Code::kInvalidProgram, "the sandboxed process answered nonsense and was killed: " + what);
}

}  // namespace tvmvm::sandbox
