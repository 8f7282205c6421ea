#include "vm/sandbox/runner_process.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "vm/sandbox/protocol.h"

namespace tvmvm::sandbox {
namespace {

// How long a process that closed its socket may take to be gone. One that is at its end already, and gives
// back what it held, still tells what ended it when it is killed.
constexpr std::chrono::milliseconds kEnding(20);

}  // namespace

Expected<std::unique_ptr<RunnerProcess>> RunnerProcess::Start(const std::string& path, int program_file,
                                                              int shared_file) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return MakeError(Code::kUnsupported, std::string("sandbox: no socket: ") + std::strerror(errno));
  auto runner = std::make_unique<RunnerProcess>();
  runner->socket_ = FileDescriptor(ends[0]);
  const FileDescriptor runner_socket(ends[1]);
  const std::array files{runner_socket.get(), program_file, shared_file};
  static_assert(kSocket == 3 && kProgramFile == 4 && kSharedFile == 5);
  auto process = ChildProcess::Start(path, files);
  if (!process) return MakeError(process.error().code, "sandbox: " + process.error().message);
  runner->process_ = std::move(*process);
  return runner;
}

Error RunnerProcess::HowItEnded() {
  const ProcessEnd end = process_->AwaitEnd(kEnding);
  if (end.kind == ProcessEnd::Kind::kUnknown)
    return {Code::kInternal, "the sandboxed process ended; another part of this one knows how"};
  if (end.kind == ProcessEnd::Kind::kExited)
    return {Code::kInvalidProgram,
            "the sandboxed process ended by itself, with exit code " + std::to_string(end.number)};
  if (end.number == SIGKILL && end.killed)
    return {Code::kInvalidProgram, "the sandboxed process closed its connection and was killed"};
  if (end.number == SIGKILL)
    return {Code::kOutOfMemory,
            "the sandboxed process was killed (SIGKILL), as the system does where memory is short"};
  if (end.number == SIGSYS)
    return {Code::kInvalidProgram,
            "the sandboxed process was killed (SIGSYS): it made a system call that is refused"};
  return {Code::kInvalidProgram, "the sandboxed process crashed: " + DescribeSignal(end.number)};
}

}  // namespace tvmvm::sandbox
