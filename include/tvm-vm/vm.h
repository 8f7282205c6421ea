// The virtual machine as a library: Program (immutable, shared) -> Vm (devices bound, shared by threads) ->
// Invocation (one caller at a time, reused; a warm call allocates nothing on the host).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "tvm-vm/device.h"
#include "tvm-vm/export.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"
#include "tvm-vm/tensor.h"
#include "tvm-vm/trust.h"
#include "tvm-vm/value.h"

namespace tvmvm {

struct DimRange;        // forecast.h
struct MemoryForecast;  // forecast.h
class MemoryPool;       // memory_pool.h

struct VmOptions {
  int threads = 0;                   // CPU workers; 0: all that the process may use
  std::shared_ptr<WorkerPool> pool;  // the service's own threads; null: the Vm makes its own
  std::shared_ptr<KernelJit> jit;    // for programs that hold only bitcode for this machine
  // In order of preference. A program runs on as many of the GPUs in front of the CPU as it was compiled for,
  // the first ones, else on the CPU alone. Where there is no CPU among them, one is made from the options
  // above.
  std::vector<std::shared_ptr<Device>> devices;
  // False: a program that runs code of its own, in whatever form (shared objects, bitcode, OpenCL C, SPIR-V),
  // is refused. What the code may do nobody checks.
  bool allow_native = true;
  std::string force_cpu_level;  // tests: run at most this level's kernels
  // Bounds what all Invocations of the Vm hold, together with those of other Vms that are given it; null: no
  // bound but each Invocation's own.
  std::shared_ptr<MemoryPool> memory;
  // Which kernels may run. Where it refuses those of the entry for the GPUs given, one runs that needs none
  // of them, with fewer GPUs; where there is none such, Create fails with kInvalidProgram.
  Trust trust = Trust::kAny;
  std::vector<PublicKey> trusted_keys;  // kSigned, kSignedKernels: whose signatures count
  // kSigned: the constants have to be as they were signed, too. Reads all of them.
  bool signed_constants = false;
};

// Limits of one Invocation; 0 or max means none.
struct Limits {
  // That the Invocation holds: blocks of arenas on the host and on devices, tensors of the program,
  // registers, plans. A run that would hold more ends with kOutOfMemory, before anything is allocated.
  int64_t max_bytes = 0;
  int64_t max_steps = 0;  // bytecode instructions
  std::chrono::nanoseconds timeout{0};
  int32_t max_call_depth = 1 << 20;
};

// When an Invocation gives back by itself what Trim gives back; 0: not for this reason.
struct TrimPolicy {
  int64_t runs = 0;                  // after every so many runs
  std::chrono::nanoseconds idle{0};  // before a run that begins so long after the end of the last one
  int64_t held_bytes = 0;            // after a run that leaves more than this held
};

// What holds for one run alone.
struct RunOptions {
  // The run ends with kDeadlineExceeded soon behind it, or when Limits::timeout is over, whichever is
  // earlier.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // Once a stop is requested, by any thread, the run ends with kCancelled soon, and one that has not begun
  // does not begin. One source may serve any number of runs, of any Invocations, and ends no others.
  std::stop_token cancel;
};

// Told of every kernel launch, on the invoking thread; not thread-safe. Throwing ends the run: kInternal.
struct LaunchRecord {
  KernelId kernel;
  FunctionId function;
  uint32_t word = 0;                 // instruction, for Program::SourceNode
  uint32_t device = kHostDevice;     // its number in the program
  int64_t begin_ns = 0, end_ns = 0;  // steady clock
  int64_t flops = 0, bytes = 0;
  int64_t grid = 0;
};
using LaunchObserver = std::function<void(const LaunchRecord&)>;

// Told of every copy to, from and within a device with memory of its own; thread rules as of LaunchObserver.
// While one is given each copy is waited for, before and after, so that the times are those of copies alone.
struct CopyRecord {
  uint32_t from = kHostDevice, to = kHostDevice;  // numbers in the program
  FunctionId function;
  uint32_t word = 0;                 // instruction, for Program::SourceNode
  int64_t begin_ns = 0, end_ns = 0;  // steady clock
  int64_t bytes = 0;
};
using CopyObserver = std::function<void(const CopyRecord&)>;

// Told what a program that was compiled to be traced says of its values, one line at a time; not thread-safe,
// called on the invoking thread.
using TraceObserver = std::function<void(std::string_view line)>;

// A device that a Vm uses.
struct DeviceUse {
  uint32_t device = kHostDevice;  // its number in the program
  std::string name;               // "cpu", "vulkan:0"
  size_t kernels = 0;             // that run there
  std::string form;               // of the kernels; empty where there are none
};

// How the runs of a Vm ended so far, of all its Invocations together.
struct RunCounters {
  int64_t ok = 0;
  int64_t refused = 0;    // what was given is wrong: kInvalidArgument, kUnsupported
  int64_t limited = 0;    // by a limit on memory, steps or time: kOutOfMemory, kDeadlineExceeded
  int64_t cancelled = 0;  // kCancelled
  int64_t lost = 0;       // with a device: kDeviceLost
  int64_t failed = 0;     // everything else
};

// An output that may be given in the memory of an input (CompileOptions::donate): numbers in the signature.
struct Donation {
  uint32_t input = 0, output = 0;
};

class Vm;

class TVMVM_EXPORT Invocation {
 public:
  ~Invocation();
  Invocation(Invocation&&) noexcept;
  // False: there was no memory for it, or it was moved from. Its runs end with kOutOfMemory.
  explicit operator bool() const { return impl_ != nullptr; }

  // Runs the entry function. `inputs` in the order of the signature. `outputs` has one element for each
  // output: an empty handle asks for a new tensor; a tensor given there receives the result in its memory
  // (dtype and shape must fit) and stays the caller's. Tensors on the run's GPU are read and written there,
  // across the bus only where the program itself wants them on the host. Memory given for an output is apart
  // from that of all other outputs and, on the host, from all inputs, but for donated ones: where the program
  // was compiled so (Vm::Donations), the output's memory may begin where the input's does, be as long as the
  // output is, and holds the output in place of the input afterwards. Inputs are checked before anything
  // runs: count, dtype, rank, dims, shared symbols. On an error no output is changed other than by partial
  // writes into the caller's own memory, and the Invocation can be used again. Inputs and outputs that are
  // optional tensors may be empty handles. While a run is in progress another one is refused
  // (kInvalidArgument).
  [[nodiscard]] Status Run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                           const RunOptions& options = {});
  // The same with sequences, optionals and tuples among them. Memory may be given for outputs that are
  // tensors; whatever lies at the place of another is replaced. Elements that the program made are handed
  // out; those that alias inputs or constants are copies. What is one object in the program is shared in the
  // value.
  [[nodiscard]] Status Run(std::span<const Value> inputs, std::span<Value> outputs,
                           const RunOptions& options = {});

  // From any thread: the run in progress, or else the next one, whosever it is, ends with kCancelled soon.
  // RunOptions::cancel ends one run alone.
  void Cancel();

  // For the runs that follow. While one is in progress these change nothing: kInvalidArgument.
  Status SetLimits(const Limits& limits);
  Status SetTrimPolicy(const TrimPolicy& policy);
  Status SetLaunchObserver(LaunchObserver observer);  // empty: none
  Status SetCopyObserver(CopyObserver observer);      // empty: none
  Status SetTraceObserver(TraceObserver observer);    // empty: none
  // Gives memory back that only serves to make the next call warm, with the scratch of the process's threads.
  Status Trim();

  // Between runs.
  int64_t peak_bytes() const;   // largest arena plus allocated tensors of one run so far
  int64_t arena_bytes() const;  // held now
  int64_t held_bytes() const;   // now: what Limits::max_bytes bounds

 private:
  friend class Vm;
  struct TVMVM_PRIVATE Impl;
  explicit Invocation(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class TVMVM_EXPORT Vm : public std::enable_shared_from_this<Vm> {
 public:
  // Binds the program's kernels to devices. Errors: kUnsupported when no device can run a kernel, naming
  // both.
  [[nodiscard]] static Expected<std::shared_ptr<Vm>> Create(std::shared_ptr<const Program> program,
                                                            const VmOptions& options = {});
  ~Vm();

  const Program& program() const;
  // One that is false where the host has no memory for it.
  Invocation NewInvocation();
  // Which form of the kernels was taken, per device.
  std::vector<std::string> KernelDescriptions() const;
  // Where tensors save the way across the bus: the first GPU that runs use; null: none.
  std::shared_ptr<Device> gpu() const;
  // What a run with these dims will hold, on the devices of this Vm: ForecastMemory (forecast.h), which says
  // what the dims are. Nothing runs.
  [[nodiscard]] Expected<MemoryForecast> Plan(const std::map<std::string, DimRange>& dims) const;
  // What all Invocations of this Vm hold now, and the plans that they share. From any thread.
  int64_t held_bytes() const;
  // From any thread; runs in progress are in none of them.
  RunCounters counters() const;
  // The devices that a run uses, the CPU first.
  std::vector<DeviceUse> Devices() const;
  // Which outputs may be given in the memory of which inputs.
  std::vector<Donation> Donations() const;

 private:
  Vm();
  friend class Invocation;
  struct TVMVM_PRIVATE Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tvmvm
