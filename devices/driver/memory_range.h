// Checks that every device makes: places in memory and grids.
#pragma once

#include <cstdint>
#include <string>

#include "tvm-vm/device.h"

namespace tvmvm {

// `bytes` from `span` on lie within its memory. Errors: kInvalidArgument.
inline Status CheckRange(const DeviceSpan& span, int64_t bytes) {
  if (bytes < 0 || span.offset < 0 || span.offset > span.memory.bytes ||
      bytes > span.memory.bytes - span.offset) [[unlikely]]
    return MakeError(Code::kInvalidArgument, std::to_string(bytes) + " bytes at offset " +
                                                 std::to_string(span.offset) + " of a block of " +
                                                 std::to_string(span.memory.bytes) + " bytes");
  return {};
}

// Both places lie within their memory and share no byte. Errors: kInvalidArgument.
inline Status CheckCopy(const DeviceSpan& to, const DeviceSpan& from, int64_t bytes) {
  TVMVM_CHECK_OK(CheckRange(to, bytes));
  TVMVM_CHECK_OK(CheckRange(from, bytes));
  const int64_t distance = to.offset - from.offset;
  if (to.memory.handle == from.memory.handle && distance < bytes && -distance < bytes)
    return MakeError(Code::kInvalidArgument, "a copy within a block whose places overlap");
  return {};
}

// The number of points of a launch's grid; -1: it is no number.
inline int64_t GridPoints(const LaunchRequest& request) {
  int64_t points = 1;
  for (int64_t extent : request.grid)
    if (extent < 0 || __builtin_mul_overflow(points, extent, &points)) [[unlikely]]
      return -1;
  return points;
}

// What is wrong with a grid that is no number of points.
[[gnu::cold]] inline tl::unexpected<Error> ImpossibleGrid(const LaunchRequest& request) {
  return MakeError(Code::kInvalidArgument, "a grid of " + std::to_string(request.grid[0]) + " x " +
                                               std::to_string(request.grid[1]) + " x " +
                                               std::to_string(request.grid[2]) + " points");
}

// Work-groups in two dimensions: x * y >= points, with fewer than y to spare.
struct GroupLayout {
  int64_t x = 1, y = 1;
};

// Errors: kUnsupported where the points do not fit into most_x * most_y.
inline Expected<GroupLayout> LayOutGroups(int64_t points, int64_t most_x, int64_t most_y) {
  GroupLayout layout;
  layout.y = (points - 1) / most_x + 1;
  layout.x = (points - 1) / layout.y + 1;
  if (layout.y <= most_y) [[likely]]
    return layout;
  return MakeError(Code::kUnsupported, "a grid of " + std::to_string(points) + " points; the device runs " +
                                           std::to_string(most_x) + " x " + std::to_string(most_y));
}

}  // namespace tvmvm
