// SPIR-V modules of a program's kernels in one blob (KernelForm::kSpirV): written by the compiler, read by
// the device. Little-endian 32-bit words:
//   magic "SPVL", version 1, count, 0
//   count entries in ascending order of symbols: offset and bytes of the symbol, offset and words of the
//   module symbols and modules; offsets are in bytes from the beginning, those of modules divisible by 4
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tvm-vm/status.h"

namespace tvmvm {

// A module whose symbol ends in one of these does what the symbol without it does, launched alike, and needs
// more of the device: the first of them is taken that declares no more than the device has.
inline constexpr std::string_view kByMatrices = "@matrices", kBySubgroups = "@subgroups";
inline constexpr std::string_view kSpirvAlternatives[] = {kByMatrices, kBySubgroups};

struct SpirvModule {
  std::string symbol;
  std::vector<uint32_t> words;
};

// Symbols are not empty and differ. Errors: kInvalidArgument; also for a blob of 4 GiB or more.
[[nodiscard]] Expected<std::vector<std::byte>> PackSpirvLibrary(std::vector<SpirvModule> modules);

// A blob whose every offset was checked. Borrows the bytes.
class SpirvLibrary {
 public:
  // `bytes` is aligned to 4, as a Program's blobs are. Errors: kInvalidProgram saying what is malformed. What
  // the modules hold behind their first words is not looked at.
  [[nodiscard]] static Expected<SpirvLibrary> Open(std::span<const std::byte> bytes);

  size_t size() const { return count_; }
  std::string_view symbol(size_t index) const;
  std::span<const uint32_t> module(size_t index) const;
  // The module of that symbol; empty where there is none.
  std::span<const uint32_t> Find(std::string_view symbol) const;

 private:
  explicit SpirvLibrary(std::span<const uint32_t> words) : words_(words), count_(words[2]) {}

  std::span<const uint32_t> words_;  // the whole blob, but for an odd tail of symbols
  size_t count_ = 0;
};

}  // namespace tvmvm
