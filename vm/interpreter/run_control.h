// RunControl: when a run is to end, and with what error. Cancelling, the limits of steps and time, and the
// first failure, named by function, instruction and source node.
#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string_view>

#include "bytecode/steady_time.h"
#include "tvm-vm/device.h"
#include "tvm-vm/program.h"
#include "tvm-vm/vm.h"
#include "vm/interpreter/frames.h"

namespace tvmvm {

class RunControl final : public CancelToken {
 public:
  RunControl(const Program& program, const Frames* frames) : program_(program), frames_(frames) {}

  // For the runs that begin afterwards.
  void SetLimits(const Limits& limits);
  const Limits& limits() const { return limits_; }
  // Forgets what the last run failed with, and starts its clock. `deadline_ns` is the caller's, on the steady
  // clock, 0: none; the earlier of it and the limit counts. `token`: the caller's, too, who keeps it until
  // End.
  void Begin(int64_t deadline_ns, const std::stop_token& token);
  void End() { token_ = nullptr; }
  // By any thread; ends the run in progress, else the next one.
  void Cancel() { cancel_.store(true, std::memory_order_relaxed); }
  bool is_stop_requested() const { return token_ != nullptr && token_->stop_requested(); }
  // Whether that, or a stop of the token, was asked for; afterwards the former is not.
  bool TakeCancel() { return cancel_.exchange(false, std::memory_order_relaxed) || is_stop_requested(); }
  // True when the run is to end: asked between the tiles of long kernels, by any thread.
  bool cancelled() const override;

  // Whether it is to end, or did so for that reason.
  bool is_stopped() const {
    return (failed_ && (error_.code == Code::kCancelled || error_.code == Code::kDeadlineExceeded)) ||
           cancelled();
  }

  int64_t deadline_ns() const override { return deadline_ns_; }

  uint64_t steps = 0;  // instructions so far; up to date in all but pure instructions

  // Looks for cancel, the step limit and, now and then, the deadline and the token. False: failed.
  bool Poll(const uint32_t* pc) {
    if (steps < next_look_ && !cancel_.load(std::memory_order_relaxed)) [[likely]]
      return true;
    return Look(pc);
  }
  // The same before work that may take long: always looks at all of them.
  bool PollBeforeWork(const uint32_t* pc) { return is_watched_ ? Look(pc) : Poll(pc); }

  // Ends the run with an error that names the instruction, which belongs to the topmost frame; `pc` may be
  // null. Gives null, for handlers to return.
  [[gnu::cold, gnu::noinline]] const uint32_t* Fail(const uint32_t* pc, Code code, std::string_view message);
  [[gnu::cold, gnu::noinline]] const uint32_t* Fail(const uint32_t* pc, const Error& error);
  // The same for an instruction that was done before.
  [[gnu::cold]] const uint32_t* FailAt(FunctionId function, uint32_t word, Code code,
                                       std::string_view message);
  // The same where `cancelled` was true.
  [[gnu::cold]] const uint32_t* FailStopped(const uint32_t* pc) {
    return Look(pc) ? Fail(pc, Code::kCancelled, "stopped") : nullptr;
  }
  bool failed() const { return failed_; }
  const Error& error() const { return error_; }  // after Fail

 private:
  bool Look(const uint32_t* pc);

  const Program& program_;
  const Frames* frames_;
  Limits limits_;
  uint64_t next_look_ = 0;          // steps at which Poll looks closer
  int64_t deadline_ns_ = 0;         // on the steady clock; 0: none
  bool is_deadline_given_ = false;  // by the caller of the run; else it comes from the limits
  bool is_watched_ = false;         // there is a deadline, or a token that may ask for a stop
  const std::stop_token* token_ = nullptr;
  std::atomic<bool> cancel_{false};
  Error error_;
  bool failed_ = false;
};

}  // namespace tvmvm
