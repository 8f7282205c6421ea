#include "allocator/block_times.h"

#include <algorithm>
#include <limits>

#include "bytecode/steady_time.h"

namespace tvmvm {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

}  // namespace

int64_t BlockTimes::Estimate(int64_t bytes) const {
  const double estimate = static_cast<double>(bytes) / kMegabyte * static_cast<double>(megabyte_ns_);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 2;
  return estimate < static_cast<double>(kMost) ? static_cast<int64_t>(estimate) : kMost;
}

void BlockTimes::Learn(int64_t bytes, int64_t nanoseconds) {
  if (megabyte_ns_ == 0 || bytes < kTelling) return;
  const int64_t seen = nanoseconds / (bytes / kMegabyte);
  megabyte_ns_ = std::clamp<int64_t>((megabyte_ns_ + seen) / 2, 1, 2 * megabyte_ns_);
}

Status BlockTimes::Check(int64_t bytes, int64_t left_ns) const {
  const int64_t estimate = Estimate(bytes);
  if (estimate == 0 || estimate <= left_ns) return {};
  return MakeError(Code::kDeadlineExceeded, "no " + std::to_string(bytes) +
                                                " bytes: to get them takes about " + TimeText(estimate) +
                                                ", and " + TimeText(left_ns) + " are left");
}

}  // namespace tvmvm
