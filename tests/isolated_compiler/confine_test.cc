// What the compiling process gives up, tried by a process that does.
#include "isolated_compiler/runner/confine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

namespace tvmvm::isolated {
namespace {

// The exit code of a process that is confined, and does `body` then.
template <class Body>
int Confined(Body body) {
  const pid_t process = fork();
  if (process == 0) {
    GiveUpRights();
    if (!RefuseSystemCalls()) _exit(77);
    _exit(body());
  }
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define REFUSED(...) EXPECT_EQ(Confined([] { return (__VA_ARGS__) < 0 && errno == EPERM ? 0 : 1; }), 0)

TEST(ConfinedCompiler, ProgramsProcessesAndSocketsAreRefused) {
  REFUSED(execl("/bin/true", "true", nullptr));
  REFUSED(fork());
  REFUSED(vfork());
  REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
  REFUSED(socket(AF_INET, SOCK_STREAM, 0));
  REFUSED(kill(getppid(), 0));
  REFUSED(syscall(SYS_tgkill, getppid(), getppid(), 0));
  REFUSED(syscall(SYS_ptrace, 0, 0, 0, 0));
  REFUSED(syscall(SYS_io_uring_setup, 1, nullptr));
}

TEST(ConfinedCompiler, ACompilerDoesWhatItNeeds) {
  EXPECT_EQ(Confined([] {
              int files = 0;
              std::thread([&] { files = open("/proc/self/exe", O_RDONLY) >= 0 ? 1 : 0; }).join();
              return files == 1 ? 0 : 1;
            }),
            0);
  EXPECT_EQ(Confined([]() -> int { return raise(SIGABRT); }), 128 + SIGABRT);
}

TEST(ConfinedCompiler, IsTheFirstToGoWhereMemoryIsShort) {
  EXPECT_EQ(Confined([] {
              char text[8] = {};
              const int file = open("/proc/self/oom_score_adj", O_RDONLY);
              return read(file, text, sizeof text) > 0 && atoi(text) == 1000 ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace tvmvm::isolated
