#include "cli/process_pool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>

namespace tvmvm::cli {
namespace {

using Clock = std::chrono::steady_clock;

// A child at work. `answer` is the read end of its pipe, `errors` a memory file that is its standard error.
struct Child {
  int task = 0;
  pid_t pid = -1;
  int answer = -1;
  int errors = -1;
  Clock::time_point deadline;
  std::string text;
};

void WriteAll(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    ssize_t written = write(fd, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    at += static_cast<size_t>(written);
  }
}

constexpr char kEndMark = '\x04';  // the last byte of a whole answer

[[noreturn]] void BeChild(int task_index, int answer, int errors,
                          const std::function<std::string(int)>& task) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (errors >= 0) dup2(errors, STDERR_FILENO);
  std::string text;
  try {
    text = task(task_index);
  } catch (const std::exception& error) {
    WriteAll(STDERR_FILENO, std::string("exception: ") + error.what());
    _exit(1);
  }
  WriteAll(answer, text + kEndMark);
  _exit(0);
}

bool Start(int task_index, const ProcessPoolOptions& options, const std::function<std::string(int)>& task,
           Child* child) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  int errors = memfd_create("stderr", MFD_CLOEXEC);
  std::fflush(stdout);
  std::fflush(stderr);
  pid_t pid = fork();
  if (pid == 0) BeChild(task_index, ends[1], errors, task);
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    if (errors >= 0) close(errors);
    return false;
  }
  auto limit =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.timeout_seconds));
  *child = {task_index, pid, ends[0], errors, Clock::now() + limit, ""};
  return true;
}

// Takes what the child has written; true at the end of its pipe.
bool ReadAnswer(Child& child) {
  char buffer[4096];
  ssize_t got = read(child.answer, buffer, sizeof(buffer));
  if (got > 0) child.text.append(buffer, static_cast<size_t>(got));
  return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

// The last line on the child's standard error that says something.
std::string LastErrorLine(int errors) {
  if (errors < 0) return "";
  off_t size = lseek(errors, 0, SEEK_END);
  constexpr off_t kTail = 4096;
  std::string text(static_cast<size_t>(std::min(size, kTail)), '\0');
  ssize_t got = pread(errors, text.data(), text.size(), std::max<off_t>(0, size - kTail));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  text.resize(text.find_last_not_of(" \n\r\t") + 1);
  return text.substr(text.rfind('\n') + 1);
}

TaskReport Finish(Child& child, bool timed_out, double timeout_seconds) {
  if (timed_out) kill(child.pid, SIGKILL);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  close(child.answer);
  TaskReport report;
  std::string last_line = LastErrorLine(child.errors);
  if (child.errors >= 0) close(child.errors);
  if (!child.text.empty() && child.text.back() == kEndMark) {
    child.text.pop_back();
    return {true, std::move(child.text)};
  }
  if (timed_out) {
    report.text = fmt::format("no answer within {} s", timeout_seconds);
  } else if (WIFSIGNALED(status)) {
    report.text = fmt::format("crashed: {}", strsignal(WTERMSIG(status)));
  } else {
    report.text = fmt::format("ended with exit code {}", WEXITSTATUS(status));
  }
  if (!last_line.empty()) report.text += ": " + last_line;
  return report;
}

int MillisecondsToFirstDeadline(const std::vector<Child>& children) {
  Clock::time_point first = Clock::time_point::max();
  for (const Child& child : children) first = std::min(first, child.deadline);
  auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1000));
}

}  // namespace

void RunInProcesses(int count, const ProcessPoolOptions& options, const std::function<std::string(int)>& task,
                    const std::function<void(int, const TaskReport&)>& done) {
  std::vector<Child> children;
  int next = 0;
  while (next < count || !children.empty()) {
    while (next < count && static_cast<int>(children.size()) < options.jobs) {
      Child child;
      if (Start(next, options, task, &child)) {
        children.push_back(std::move(child));
      } else {
        done(next, {false, fmt::format("cannot start a process: {}", std::strerror(errno))});
      }
      ++next;
    }
    std::vector<pollfd> polls;
    for (const Child& child : children) polls.push_back({child.answer, POLLIN, 0});
    poll(polls.data(), polls.size(), children.empty() ? 0 : MillisecondsToFirstDeadline(children));
    for (size_t i = children.size(); i-- > 0;) {
      bool ended = polls[i].revents != 0 && ReadAnswer(children[i]);
      bool timed_out = !ended && Clock::now() >= children[i].deadline;
      if (!ended && !timed_out) continue;
      int index = children[i].task;
      TaskReport report = Finish(children[i], timed_out, options.timeout_seconds);
      children.erase(children.begin() + static_cast<ptrdiff_t>(i));
      done(index, report);
    }
  }
}

}  // namespace tvmvm::cli
