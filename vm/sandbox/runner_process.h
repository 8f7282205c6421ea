// The runner, as the library sees it: a child process and the socket to it.
#pragma once

#include <memory>
#include <string>

#include "bytecode/file_descriptor.h"
#include "process/child_process.h"
#include "tvm-vm/status.h"

namespace tvmvm::sandbox {

class RunnerProcess {
 public:
  // Starts `path` with the descriptors of protocol.h. Errors: as ChildProcess::Start.
  static Expected<std::unique_ptr<RunnerProcess>> Start(const std::string& path, int program_file,
                                                        int shared_file);

  int socket() const { return socket_.get(); }
  // From any thread.
  void Kill() { process_->Kill(); }
  // Waits until the process ended, which it does soon by itself when its socket is closed, or is killed. Says
  // how: kOutOfMemory where somebody else killed it.
  Error HowItEnded();

 private:
  FileDescriptor socket_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace tvmvm::sandbox
