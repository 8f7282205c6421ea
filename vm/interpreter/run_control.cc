#include "vm/interpreter/run_control.h"

#include <algorithm>
#include <string>

namespace tvmvm {
namespace {

constexpr uint64_t kNoStepLimit = UINT64_MAX;
constexpr uint64_t kStepsBetweenLooks = 256;  // a look at the clock costs as much as twenty instructions

}  // namespace

void RunControl::SetLimits(const Limits& limits) {
  limits_ = limits;
  if (limits_.max_call_depth <= 0) limits_.max_call_depth = INT32_MAX;
}

void RunControl::Begin(int64_t deadline_ns, const std::stop_token& token) {
  failed_ = false;
  steps = 0;
  next_look_ = 0;
  deadline_ns_ = 0;
  if (limits_.timeout.count() > 0 &&
      __builtin_add_overflow(SteadyNanoseconds(), limits_.timeout.count(), &deadline_ns_))
    deadline_ns_ = INT64_MAX;
  is_deadline_given_ = deadline_ns != 0 && (deadline_ns_ == 0 || deadline_ns < deadline_ns_);
  if (is_deadline_given_) deadline_ns_ = deadline_ns;
  token_ = &token;
  is_watched_ = deadline_ns_ != 0 || token.stop_possible();
}

bool RunControl::cancelled() const {
  return cancel_.load(std::memory_order_relaxed) || is_stop_requested() ||
         (deadline_ns_ != 0 && SteadyNanoseconds() > deadline_ns_);
}

bool RunControl::Look(const uint32_t* pc) {
  if (TakeCancel()) {
    Fail(pc, Code::kCancelled, "cancelled");
    return false;
  }
  const uint64_t most = limits_.max_steps > 0 ? static_cast<uint64_t>(limits_.max_steps) : kNoStepLimit;
  if (steps > most) {
    Fail(pc, Code::kDeadlineExceeded,
         "the limit of " + std::to_string(limits_.max_steps) + " steps is reached");
    return false;
  }
  if (deadline_ns_ != 0 && SteadyNanoseconds() > deadline_ns_) {
    Fail(pc, Code::kDeadlineExceeded,
         is_deadline_given_ ? "the deadline of the run is reached"
                            : "the limit of " + TimeText(limits_.timeout.count()) + " is reached");
    return false;
  }
  const uint64_t after_limit = most == kNoStepLimit ? most : most + 1;
  next_look_ = is_watched_ ? std::min(after_limit, steps + kStepsBetweenLooks) : after_limit;
  return true;
}

const uint32_t* RunControl::Fail(const uint32_t* pc, Code error_code, std::string_view message) {
  failed_ = true;
  error_.code = error_code;
  if (pc == nullptr || frames_->depth() == 0) {
    error_.message = message;
    return nullptr;
  }
  const FunctionSpec& function = *frames_->top().function;
  const FunctionId id{static_cast<uint32_t>(&function - program_.functions.data())};
  return FailAt(id, static_cast<uint32_t>(pc - function.code.data()), error_code, message);
}

const uint32_t* RunControl::FailAt(FunctionId id, uint32_t word, Code error_code, std::string_view message) {
  failed_ = true;
  error_.code = error_code;
  const FunctionSpec& function = program_.function(id);
  const auto opcode = static_cast<Opcode>(function.code[word] & 0xff);
  error_.message = "@" + function.name + ":" + std::to_string(word) + " " +
                   std::string(InfoOf(opcode).mnemonic) + ": " + std::string(message);
  if (std::string_view node = program_.SourceNode(function, word); !node.empty())
    error_.message += " (node " + std::string(node) + ")";
  return nullptr;
}

const uint32_t* RunControl::Fail(const uint32_t* pc, const Error& error) {
  return Fail(pc, error.code, error.message);
}

}  // namespace tvmvm
