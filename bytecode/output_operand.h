// The second operand of `output`: which output, and the input in whose memory the caller may give it.
//
// Output k is k. With n outputs it is kDonated + i * n + k where its memory may begin where that of input i
// does: whatever of the input is needed has then been read when the output is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tvmvm {

struct OutputOperand {
  static constexpr uint32_t kDonated = 1u << 31;

  uint32_t output = 0;
  std::optional<uint32_t> donor;  // the input

  static OutputOperand Of(uint32_t word, size_t outputs) {
    if ((word & kDonated) == 0) return {word, std::nullopt};
    const auto count = static_cast<uint32_t>(outputs);
    return {(word & ~kDonated) % count, (word & ~kDonated) / count};
  }
  // Nothing: there are too many inputs and outputs.
  std::optional<uint32_t> word(size_t outputs) const {
    if (!donor) return output;
    const uint64_t number = uint64_t{*donor} * outputs + output;
    return number < kDonated ? std::optional(kDonated | static_cast<uint32_t>(number)) : std::nullopt;
  }
};

}  // namespace tvmvm
