#include "bytecode/spirv_library.h"

#include <algorithm>
#include <cstring>

namespace tvmvm {
namespace {

constexpr uint32_t kMagic = 0x4c565053;  // "SPVL"
constexpr uint32_t kVersion = 1;
constexpr uint32_t kSpirvMagic = 0x07230203;
constexpr size_t kHeaderWords = 4;
constexpr size_t kEntryWords = 4;
constexpr size_t kSpirvHeaderWords = 5;

struct Entry {
  uint32_t symbol_offset = 0, symbol_bytes = 0, module_offset = 0, module_words = 0;
};

Entry EntryAt(std::span<const uint32_t> words, size_t index) {
  const uint32_t* at = words.data() + kHeaderWords + index * kEntryWords;
  return {at[0], at[1], at[2], at[3]};
}

std::string_view SymbolOf(std::span<const uint32_t> words, const Entry& entry) {
  return {reinterpret_cast<const char*>(words.data()) + entry.symbol_offset, entry.symbol_bytes};
}

tl::unexpected<Error> Malformed(const std::string& what) {
  return MakeError(Code::kInvalidProgram, "SPIR-V library: " + what);
}

Status CheckEntry(std::span<const uint32_t> words, size_t count, size_t index) {
  const Entry entry = EntryAt(words, index);
  const std::string which = "entry " + std::to_string(index) + " of " + std::to_string(count);
  const uint64_t size = words.size_bytes(), begin = (kHeaderWords + kEntryWords * count) * sizeof(uint32_t);
  if (entry.symbol_bytes == 0 || entry.symbol_offset < begin ||
      uint64_t{entry.symbol_offset} + entry.symbol_bytes > size)
    return Malformed(which + " has its symbol outside of the library");
  if (entry.module_offset % sizeof(uint32_t) != 0 || entry.module_offset < begin ||
      uint64_t{entry.module_offset} + uint64_t{entry.module_words} * sizeof(uint32_t) > size)
    return Malformed(which + " has its module outside of the library");
  if (entry.module_words < kSpirvHeaderWords || words[entry.module_offset / sizeof(uint32_t)] != kSpirvMagic)
    return Malformed(which + " is no SPIR-V module");
  if (index > 0 && SymbolOf(words, EntryAt(words, index - 1)) >= SymbolOf(words, entry))
    return Malformed(which + " is out of order");
  return {};
}

}  // namespace

Expected<std::vector<std::byte>> PackSpirvLibrary(std::vector<SpirvModule> modules) {
  std::sort(modules.begin(), modules.end(),
            [](const SpirvModule& a, const SpirvModule& b) { return a.symbol < b.symbol; });
  uint64_t bytes = (kHeaderWords + kEntryWords * modules.size()) * sizeof(uint32_t);
  std::vector<uint32_t> table = {kMagic, kVersion, static_cast<uint32_t>(modules.size()), 0};
  for (size_t i = 0; i < modules.size(); ++i) {
    const SpirvModule& module = modules[i];
    if (module.symbol.empty() || (i > 0 && modules[i - 1].symbol == module.symbol))
      return MakeError(Code::kInvalidArgument,
                       module.symbol.empty() ? "a SPIR-V module without symbol"
                                             : "two SPIR-V modules with the symbol '" + module.symbol + "'");
    if (module.words.size() < kSpirvHeaderWords || module.words[0] != kSpirvMagic)
      return MakeError(Code::kInvalidArgument, "'" + module.symbol + "' is no SPIR-V module");
    const uint64_t symbol_offset = bytes + module.words.size() * sizeof(uint32_t);
    const uint64_t end = symbol_offset + (module.symbol.size() + 3) / 4 * 4;
    if (end > UINT32_MAX) return MakeError(Code::kInvalidArgument, "a SPIR-V library of 4 GiB or more");
    for (uint64_t word :
         {symbol_offset, uint64_t{module.symbol.size()}, bytes, uint64_t{module.words.size()}})
      table.push_back(static_cast<uint32_t>(word));
    bytes = end;
  }
  std::vector<std::byte> blob(bytes);
  std::memcpy(blob.data(), table.data(), table.size() * sizeof(uint32_t));
  for (size_t i = 0; i < modules.size(); ++i) {
    const Entry entry = EntryAt(table, i);
    std::memcpy(blob.data() + entry.module_offset, modules[i].words.data(),
                modules[i].words.size() * sizeof(uint32_t));
    std::memcpy(blob.data() + entry.symbol_offset, modules[i].symbol.data(), modules[i].symbol.size());
  }
  return blob;
}

Expected<SpirvLibrary> SpirvLibrary::Open(std::span<const std::byte> bytes) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint32_t) != 0)
    return Malformed("at an odd address");
  const std::span<const uint32_t> words(reinterpret_cast<const uint32_t*>(bytes.data()),
                                        bytes.size() / sizeof(uint32_t));
  if (words.size() < kHeaderWords || words[0] != kMagic) return Malformed("its header is missing");
  if (words[1] != kVersion)
    return MakeError(Code::kUnsupported, "SPIR-V library of version " + std::to_string(words[1]) + ", " +
                                             std::to_string(kVersion) + " is known");
  const size_t count = words[2];
  if (count > (words.size() - kHeaderWords) / kEntryWords) return Malformed("its table is cut off");
  for (size_t i = 0; i < count; ++i) TVMVM_CHECK_OK(CheckEntry(words, count, i));
  return SpirvLibrary(words);
}

std::string_view SpirvLibrary::symbol(size_t index) const { return SymbolOf(words_, EntryAt(words_, index)); }

std::span<const uint32_t> SpirvLibrary::module(size_t index) const {
  const Entry entry = EntryAt(words_, index);
  return words_.subspan(entry.module_offset / sizeof(uint32_t), entry.module_words);
}

std::span<const uint32_t> SpirvLibrary::Find(std::string_view wanted) const {
  size_t low = 0, high = count_;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (symbol(middle) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count_ && symbol(low) == wanted ? module(low) : std::span<const uint32_t>();
}

}  // namespace tvmvm
