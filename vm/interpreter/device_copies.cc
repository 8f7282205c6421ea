// Copies between the host and devices. Large ones go by pieces, before each of which the run's limits are
// looked at.
#include <algorithm>

#include "vm/interpreter/device_handlers.h"
#include "vm/interpreter/machine.h"

namespace tvmvm {
namespace {

// Takes about four milliseconds where the host touches its memory for the first time.
constexpr int64_t kPiece = 4 << 20;
constexpr int64_t kAhead = 16 * kPiece;  // from the host, of which a queue may hold copies

bool Submitted(Machine& m, const uint32_t* pc, uint32_t device, const Status& status, bool writes_host) {
  m.devices[device]->Submitted(status, writes_host);
  if (!status) FailWork(m, pc, status.error());
  return status.has_value();
}

DeviceSpan Behind(const DeviceSpan& span, int64_t bytes) { return {span.memory, span.offset + bytes}; }

}  // namespace

// Each piece waits for what was submitted, the one before among it: a run that ends then has little to wait
// for.
bool Machine::CopyToHost(const uint32_t* pc, char* to, uint32_t device, const DeviceSpan& from,
                         int64_t bytes) {
  for (int64_t begin = 0; begin < bytes; begin += kPiece) {
    if (bytes > kPiece && (!run.PollBeforeWork(pc) || !WaitFor(pc, device))) return false;
    const Status status = devices[device]->queue().CopyOut(to + begin, Behind(from, begin),
                                                           std::min(kPiece, bytes - begin), &run);
    if (!Submitted(*this, pc, device, status, true)) return false;
  }
  return true;
}

// Each piece is on its way while the next one is copied.
bool Machine::CopyFromHost(const uint32_t* pc, uint32_t device, const DeviceSpan& to, const char* from,
                           int64_t bytes) {
  for (int64_t begin = 0; begin < bytes; begin += kPiece) {
    if (begin > 0 && begin % kAhead == 0 && !WaitFor(pc, device)) return false;
    if (bytes > kPiece && !run.PollBeforeWork(pc)) return false;
    Queue& queue = devices[device]->queue();
    Status status = queue.CopyIn(Behind(to, begin), from + begin, std::min(kPiece, bytes - begin), &run);
    if (status && bytes > kPiece) status = queue.Flush();
    if (!Submitted(*this, pc, device, status, false)) return false;
  }
  return true;
}

// By the run's own queue: making one takes long.
Status Machine::CopyOut(const Tensor& tensor, void* to) {
  const uint32_t device = DeviceOf(tensor);
  const bool is_copied =
      CopyToHost(nullptr, static_cast<char*>(to), device, {tensor.device_memory()}, tensor.byte_count()) &&
      WaitFor(nullptr, device);
  return is_copied ? Status() : tl::unexpected(run.error());
}

Status Machine::CopyIn(const Tensor& tensor, const void* from) {
  const uint32_t device = DeviceOf(tensor);
  const bool is_copied = CopyFromHost(nullptr, device, {tensor.device_memory()},
                                      static_cast<const char*>(from), tensor.byte_count()) &&
                         WaitFor(nullptr, device);
  return is_copied ? Status() : tl::unexpected(run.error());
}

}  // namespace tvmvm
