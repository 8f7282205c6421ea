// The child process, as its parent sees it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "bytecode/file_descriptor.h"
#include "tvm-vm/status.h"
#include "vm/sandbox/channel.h"

namespace tvmvm::sandbox {

// The thread that starts it waits for its end: the system kills the child when the thread that started it is
// gone, which callers' threads may be at any time.
class RunnerProcess {
 public:
  // Starts `path` with the descriptors of protocol.h, an empty environment and nothing else of this process.
  // Errors: kNotFound, kUnsupported.
  static Expected<std::unique_ptr<RunnerProcess>> Start(const std::string& path, int program_file,
                                                        int shared_file);
  ~RunnerProcess();  // kills it and waits

  int socket() const { return socket_.get(); }
  // From any thread.
  void Kill();
  // Waits until the process ended, which it does soon by itself when its socket is closed, or is killed. Says
  // how: kOutOfMemory where somebody else killed it.
  Error HowItEnded();

 private:
  RunnerProcess() = default;
  void Live(const std::string& path, int runner_socket, int program_file, int shared_file);
  void AwaitEnd();

  FileDescriptor socket_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false, ended_ = false, killed_ = false;
  int start_error_ = 0;
  pid_t pid_ = -1;
  int status_ = 0;  // as waitpid says; -1: somebody else has it
};

}  // namespace tvmvm::sandbox
