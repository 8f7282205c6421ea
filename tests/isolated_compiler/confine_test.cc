// What the compiling process gives up, tried by a process that does.
#include "isolated_compiler/runner/confine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
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

TEST(ConfinedCompiler, EndsWithItsParent) {
  int alive[2], ready[2];
  ASSERT_TRUE(pipe(alive) == 0 && pipe(ready) == 0);
  const pid_t parent = fork();
  if (parent == 0) {
    char byte = 0;
    if (fork() == 0) {
      GiveUpRights();
      (void)!write(ready[1], &byte, 1);
      close(alive[0]);
      for (;;) pause();
    }
    _exit(read(ready[0], &byte, 1) == 1 ? 0 : 1);
  }
  int status = 0;
  waitpid(parent, &status, 0);
  EXPECT_EQ(status, 0);
  close(alive[1]);
  pollfd gone{.fd = alive[0], .events = POLLIN};
  EXPECT_EQ(poll(&gone, 1, 10'000), 1);
  for (const int file : {alive[0], ready[0], ready[1]}) close(file);
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
