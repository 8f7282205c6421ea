// Runs tasks in child processes, each forked from this one, so that a task that crashes or hangs costs nobody
// else.
#pragma once

#include <functional>
#include <string>

namespace tvmvm::cli {

struct TaskReport {
  bool finished = false;  // the task returned; `text` is its answer
  std::string text;       // else why not: the signal, the time limit, the last line on its standard error
};

struct ProcessPoolOptions {
  int jobs = 1;
  double timeout_seconds = 60;
};

// Calls task(i) for i in [0, count) in a child process each, at most `jobs` at a time, and done(i, report)
// here, in the order in which they end. The calling process must have one thread.
void RunInProcesses(int count, const ProcessPoolOptions& options, const std::function<std::string(int)>& task,
                    const std::function<void(int, const TaskReport&)>& done);

}  // namespace tvmvm::cli
