// SandboxedVm: a program whose kernels nobody trusts (level T2 of docs/trust.md), run in a process of its own
// that can do nothing but compute: no files, no network, no other processes, so much memory, so much time.
// In libtvm-vm-sandbox, which starts the executable tvm-vm-runner beside it. Linux on x86-64 and AArch64, CPU
// only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tvm-vm/export.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"
#include "tvm-vm/tensor.h"
#include "tvm-vm/value.h"
#include "tvm-vm/vm.h"

namespace tvmvm {

struct SandboxOptions {
  int threads = 1;  // CPU workers of the process; 0: all that it may use
  // Limits of every run; 0: none. `max_bytes` bounds what its Invocation holds, by the account and, some 100
  // MB above it, by the system for whatever kernels take by themselves; inputs and outputs are bounded by it,
  // too, each for themselves. `timeout` counts from the call on.
  int64_t max_bytes = int64_t{2} << 30;
  int64_t max_steps = 0;
  std::chrono::nanoseconds timeout = std::chrono::minutes(1);
  int32_t max_call_depth = 1 << 20;
  // Until a new process is ready: it loads the file and binds the kernels.
  std::chrono::nanoseconds start_timeout = std::chrono::seconds(10);
  std::string runner;  // the executable; "": tvm-vm-runner beside this library
};

// One process at a time, which is started by Create and anew by the first run after it ended. What it says is
// taken for hostile: sizes, places, types and texts are checked before anything is made of them. The file is
// read in this process, too, as LoadProgram does, for the signature.
//
// Threads: one caller at a time, others get kInvalidArgument, as from an Invocation; Cancel and the counters
// from any. A service makes as many as it wants runs at once. Each has a thread that sleeps while its process
// lives.
class TVMVM_EXPORT SandboxedVm {
 public:
  // Errors: those of LoadProgram and, from the process, of Vm::Create; kNotFound where the runner is not
  // there; kUnsupported where the system has no filter of system calls.
  [[nodiscard]] static Expected<std::unique_ptr<SandboxedVm>> Create(const std::string& path,
                                                                     const SandboxOptions& options = {});
  // Of a program in memory, which is written to a memory file for the process.
  [[nodiscard]] static Expected<std::unique_ptr<SandboxedVm>> Create(std::shared_ptr<const Program> program,
                                                                     const SandboxOptions& options = {});
  // Ends the process.
  ~SandboxedVm();

  const Program& program() const;
  std::shared_ptr<const Program> shared_program() const;

  // As Invocation::Run, with tensors of the host. Inputs are copied to the process and outputs from it:
  // memory given for an output may be any input's, which is how donated ones are given. Errors: those of the
  // run; kDeadlineExceeded and kCancelled, at which the process is killed where it does not end by itself;
  // kOutOfMemory also where the system killed it; kInvalidProgram where it crashed, asked for what it may not
  // or answered nonsense, saying which. The next run starts a new one.
  [[nodiscard]] Status Run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                           const RunOptions& options = {});
  [[nodiscard]] Status Run(std::span<const Value> inputs, std::span<Value> outputs,
                           const RunOptions& options = {});

  // The run in progress, or else the next one, ends with kCancelled. RunOptions::cancel ends one run alone.
  void Cancel();

  RunCounters counters() const;
  int64_t starts() const;  // of processes, so far

 private:
  struct TVMVM_PRIVATE Impl;
  explicit SandboxedVm(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tvmvm
