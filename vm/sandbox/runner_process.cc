#include "vm/sandbox/runner_process.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <vector>

#include "vm/sandbox/protocol.h"

namespace tvmvm::sandbox {
namespace {

// How long a process that closed its socket may take to be gone. One that is at its end already, and gives
// back what it held, still tells what ended it when it is killed.
constexpr std::chrono::milliseconds kEnding(20);

// What posix_spawn is told; 0 or an errno.
class Spawn {
 public:
  Spawn() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~Spawn() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  int Run(const std::string& path, int socket, int program, int shared, pid_t* pid) {
    // Above all numbers that the child wants, so that none is replaced before it is copied.
    std::vector<FileDescriptor> copies;
    for (const int fd : {socket, program, shared}) {
      copies.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, kKernelFile + 1));
      if (copies.back().get() < 0) return errno;
    }
    for (int fd : {0, 1, 2})
      posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, copies[0].get(), kSocket);
    posix_spawn_file_actions_adddup2(&actions_, copies[1].get(), kProgramFile);
    posix_spawn_file_actions_adddup2(&actions_, copies[2].get(), kSharedFile);
    posix_spawn_file_actions_addclosefrom_np(&actions_, kSharedFile + 1);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    char* const arguments[] = {const_cast<char*>(path.c_str()), nullptr};
    char* const no_environment[] = {nullptr};
    return posix_spawn(pid, path.c_str(), &actions_, &attributes_, arguments, no_environment);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

Expected<std::unique_ptr<RunnerProcess>> RunnerProcess::Start(const std::string& path, int program_file,
                                                              int shared_file) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return MakeError(Code::kUnsupported, std::string("sandbox: no socket: ") + std::strerror(errno));
  std::unique_ptr<RunnerProcess> process(new RunnerProcess);
  process->socket_ = FileDescriptor(ends[0]);
  const FileDescriptor runner_socket(ends[1]);
  // The thread takes no signals that are the service's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  try {
    process->thread_ = std::thread(
        [&, process = process.get()] { process->Live(path, ends[1], program_file, shared_file); });
  } catch (const std::system_error& failure) {
    error = failure.code().value();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) {
    std::unique_lock lock(process->mutex_);
    process->changed_.wait(lock, [&] { return process->started_; });
    error = process->start_error_;
  }
  if (error != 0)
    return MakeError(error == ENOENT ? Code::kNotFound : Code::kUnsupported,
                     "sandbox: cannot start '" + path + "': " + std::strerror(error));
  return process;
}

RunnerProcess::~RunnerProcess() {
  Kill();
  if (thread_.joinable()) thread_.join();
}

// References are to what Start holds until `started_` is set.
void RunnerProcess::Live(const std::string& path, int runner_socket, int program_file, int shared_file) {
  pid_t pid = -1;
  const int error = Spawn().Run(path, runner_socket, program_file, shared_file, &pid);
  {
    std::lock_guard lock(mutex_);
    started_ = true;
    start_error_ = error;
    pid_ = pid;
    ended_ = error != 0;
  }
  changed_.notify_all();
  if (error == 0) AwaitEnd();
}

void RunnerProcess::AwaitEnd() {
  siginfo_t info;
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  {
    // Under the lock, so that nobody kills whoever gets the number next.
    std::lock_guard lock(mutex_);
    if (waitpid(pid_, &status_, 0) != pid_) status_ = -1;
    ended_ = true;
  }
  changed_.notify_all();
}

void RunnerProcess::Kill() {
  std::lock_guard lock(mutex_);
  if (!started_ || ended_) return;
  killed_ = true;
  kill(pid_, SIGKILL);
}

Error RunnerProcess::HowItEnded() {
  std::unique_lock lock(mutex_);
  const bool by_itself = changed_.wait_for(lock, kEnding, [this] { return ended_; });
  if (!by_itself) {
    killed_ = true;
    kill(pid_, SIGKILL);
    changed_.wait(lock, [this] { return ended_; });
  }
  if (status_ == -1)
    return {Code::kInternal, "the sandboxed process ended; another part of this one knows how"};
  if (WIFEXITED(status_))
    return {Code::kInvalidProgram,
            "the sandboxed process ended by itself, with exit code " + std::to_string(WEXITSTATUS(status_))};
  const int signal = WTERMSIG(status_);
  const char* name = sigabbrev_np(signal);
  const std::string named = name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
  if (signal == SIGKILL && killed_)
    return {Code::kInvalidProgram, "the sandboxed process closed its connection and was killed"};
  if (signal == SIGKILL)
    return {Code::kOutOfMemory,
            "the sandboxed process was killed (SIGKILL), as the system does where memory is short"};
  if (signal == SIGSYS)
    return {Code::kInvalidProgram,
            "the sandboxed process was killed (SIGSYS): it made a system call that is refused"};
  const char* description = sigdescr_np(signal);
  return {Code::kInvalidProgram, "the sandboxed process crashed: " + named +
                                     (description != nullptr ? " (" + std::string(description) + ")" : "")};
}

}  // namespace tvmvm::sandbox
