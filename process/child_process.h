// A child process, as its parent sees it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "tvm-vm/status.h"

namespace tvmvm {

// How a child process ended.
struct ProcessEnd {
  enum class Kind : uint8_t {
    kExited,   // `number`: the exit code
    kSignal,   // `number`: of the signal
    kUnknown,  // this process ignores SIGCHLD, or waited for it elsewhere
  };
  Kind kind = Kind::kUnknown;
  int number = 0;
  bool killed = false;  // by Kill or AwaitEnd
};

// The thread that starts it waits for its end: a child that asks the system to end it with its parent
// (PR_SET_PDEATHSIG) ends with the thread that started it, which callers' threads may do at any time.
class ChildProcess {
 public:
  // Starts `path` with `files` as its descriptors 3, 4, ..., `standard_error` (-1: nowhere), standard input
  // and output that lead nowhere, an empty environment and nothing else of this process. Errors: kNotFound,
  // kOutOfMemory, kUnsupported.
  static Expected<std::unique_ptr<ChildProcess>> Start(const std::string& path, std::span<const int> files,
                                                       int standard_error = -1);
  ~ChildProcess();  // kills it and waits

  // From any thread.
  void Kill();
  // Waits until it ended, after `patience` by killing it.
  ProcessEnd AwaitEnd(std::chrono::milliseconds patience);

 private:
  ChildProcess() = default;
  void Live(const std::string& path, std::span<const int> files, int standard_error);
  void Reap();

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false, ended_ = false, killed_ = false;
  int start_error_ = 0;
  pid_t pid_ = -1;
  int status_ = 0;  // as waitpid says; -1: somebody else has it
};

// "SIGSEGV (Segmentation fault)".
std::string DescribeSignal(int signal);

// The folder of the library or program that this code is in, with a slash: executables that a library starts
// lie beside it.
std::string OwnFolder();

}  // namespace tvmvm
