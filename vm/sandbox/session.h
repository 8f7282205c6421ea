// One child process and what is said to it: started when a run needs one, given up when anything is wrong.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "tvm-vm/sandbox.h"
#include "vm/sandbox/channel.h"
#include "vm/sandbox/packed_values.h"
#include "vm/sandbox/runner_process.h"
#include "vm/sandbox/shared_memory.h"

namespace tvmvm::sandbox {

// Belongs to one thread at a time, but for Cancel and `starts`.
class Session {
 public:
  Session(FileDescriptor program_file, uint64_t program_bytes, const SandboxOptions& options)
      : program_file_(std::move(program_file)), program_bytes_(program_bytes), options_(options) {}

  // Makes what is shared and starts the first process.
  Status Open();
  // The outputs, of which nothing is known yet but that they are values; in the memory of `given` where that
  // has any.
  Expected<std::vector<Value>> Run(std::span<const Value> inputs, std::span<const Value> given,
                                   Deadline deadline);
  void Cancel();
  // What a run that Cancel ended, or is about to end, says.
  bool TakeCancel();
  // After an answer that cannot be: the next run starts a new process.
  void GiveUp();
  int64_t starts() const { return starts_.load(std::memory_order_relaxed); }

 private:
  Status EnsureProcess(Deadline deadline);
  Status StartProcess(Deadline deadline);
  Expected<std::string> RunnerPath() const;
  Status CheckSize(const char* what, uint64_t bytes) const;
  Expected<Message> Await(MessageKind wanted, Deadline deadline);
  Expected<Message> AwaitResult(uint64_t place, Deadline deadline);
  tl::unexpected<Error> Ended();
  tl::unexpected<Error> Nonsense(const std::string& what);

  const FileDescriptor program_file_;
  const uint64_t program_bytes_;
  const SandboxOptions options_;
  SharedMemory shared_;
  std::mutex mutex_;  // of the pointer and of `cancelled_`, which change together
  std::unique_ptr<RunnerProcess> process_;
  // Was killed; who gave it up did not wait until it had given back its memory.
  std::unique_ptr<RunnerProcess> dying_;
  bool needs_companions_ = false;
  bool cancelled_ = false;
  std::atomic<int64_t> starts_{0};
};

}  // namespace tvmvm::sandbox
