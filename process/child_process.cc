#include "process/child_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <new>
#include <system_error>
#include <vector>

#include "bytecode/file_descriptor.h"

namespace tvmvm {
namespace {

constexpr int kFirstFile = 3;

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

  int Run(const std::string& path, std::span<const int> files, int standard_error, pid_t* pid) {
    const int end = kFirstFile + static_cast<int>(files.size());
    for (int fd : {0, 1, 2})
      posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
    if (int error = Give(standard_error, 2, end); error != 0) return error;
    for (size_t i = 0; i < files.size(); ++i)
      if (int error = Give(files[i], kFirstFile + static_cast<int>(i), end); error != 0) return error;
    posix_spawn_file_actions_addclosefrom_np(&actions_, end);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    // A group of its own: signals of a terminal are for the service alone.
    char* const arguments[] = {const_cast<char*>(path.c_str()), nullptr};
    char* const no_environment[] = {nullptr};
    return posix_spawn(pid, path.c_str(), &actions_, &attributes_, arguments, no_environment);
  }

 private:
  // By way of a copy above all numbers that the child wants, so that none is replaced before it is copied.
  int Give(int file, int number, int end) {
    if (file < 0) return 0;
    copies_.emplace_back(fcntl(file, F_DUPFD_CLOEXEC, end));
    if (copies_.back().get() < 0) return errno;
    posix_spawn_file_actions_adddup2(&actions_, copies_.back().get(), number);
    return 0;
  }

  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
  std::vector<FileDescriptor> copies_;
};

}  // namespace

Expected<std::unique_ptr<ChildProcess>> ChildProcess::Start(const std::string& path,
                                                            std::span<const int> files, int standard_error) {
  std::unique_ptr<ChildProcess> process(new ChildProcess);
  // The thread takes no signals that are the service's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  try {
    process->thread_ =
        std::thread([&, process = process.get()] { process->Live(path, files, standard_error); });
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
    return MakeError(error == ENOENT                      ? Code::kNotFound
                     : error == ENOMEM || error == EAGAIN ? Code::kOutOfMemory
                                                          : Code::kUnsupported,
                     "cannot start '" + path + "': " + std::strerror(error));
  return process;
}

ChildProcess::~ChildProcess() {
  Kill();
  if (thread_.joinable()) thread_.join();
}

// References are to what Start holds until `started_` is set.
void ChildProcess::Live(const std::string& path, std::span<const int> files, int standard_error) {
  pid_t pid = -1;
  int error = 0;
  try {
    error = Spawn().Run(path, files, standard_error, &pid);
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  }
  {
    std::lock_guard lock(mutex_);
    started_ = true;
    start_error_ = error;
    pid_ = pid;
    ended_ = error != 0;
  }
  changed_.notify_all();
  if (error == 0) Reap();
}

void ChildProcess::Reap() {
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

void ChildProcess::Kill() {
  std::lock_guard lock(mutex_);
  if (!started_ || ended_) return;
  killed_ = true;
  kill(pid_, SIGKILL);
}

ProcessEnd ChildProcess::AwaitEnd(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  const bool by_itself = changed_.wait_for(lock, patience, [this] { return ended_; });
  if (!by_itself) {
    killed_ = true;
    kill(pid_, SIGKILL);
    changed_.wait(lock, [this] { return ended_; });
  }
  if (status_ == -1) return {ProcessEnd::Kind::kUnknown, 0, killed_};
  if (WIFEXITED(status_)) return {ProcessEnd::Kind::kExited, WEXITSTATUS(status_), killed_};
  return {ProcessEnd::Kind::kSignal, WTERMSIG(status_), killed_};
}

std::string DescribeSignal(int signal) {
  const char* name = sigabbrev_np(signal);
  const char* description = sigdescr_np(signal);
  const std::string named = name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
  return named + (description != nullptr ? " (" + std::string(description) + ")" : "");
}

std::string OwnFolder() {
  Dl_info info;
  static const char kHere = 0;
  std::string path = dladdr(&kHere, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
  if (path.find('/') == std::string::npos) {  // a program found by PATH
    char target[PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", target, sizeof target);
    path.assign(target, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  }
  return path.substr(0, path.rfind('/') + 1);
}

}  // namespace tvmvm
