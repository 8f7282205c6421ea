// What a sandboxed process says of its results, in memory that it shares: values come out, or errors. The
// first byte says of how many records.
#include "vm/sandbox/packed_values.h"

#include <cstring>

#include "tests/fuzz/targets/read_values.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  if (size == 0) return 0;
  alignas(64) static std::byte memory[1 << 16];
  const size_t bytes = std::min(size - 1, sizeof memory);
  std::memcpy(memory, data + 1, bytes);
  const std::span<const std::byte> shared(memory, bytes);
  for (auto unpacking : {sandbox::Unpacking::kBorrow, sandbox::Unpacking::kCopy}) {
    const auto values = sandbox::UnpackValues(shared, 0, data[0], unpacking);
    RequireProper(values);
    if (!values) continue;
    for (const Value& value : *values) TouchElements(value);
  }
  return 0;
}
