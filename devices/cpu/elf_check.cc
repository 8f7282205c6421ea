#include "devices/cpu/elf_check.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

namespace tvmvm {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
constexpr uint16_t kMachine = EM_NONE;
#endif

tl::unexpected<Error> Malformed(const std::string& what) {
  return MakeError(Code::kInvalidProgram, "kernel library: " + what);
}

class Object {
 public:
  explicit Object(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Status Check() {
    TVMVM_CHECK_OK(CheckHeader());
    TVMVM_CHECK_OK(CheckSegments());
    TVMVM_CHECK_OK(CheckDynamicTable());
    return CheckSymbols();
  }

 private:
  // A copy, because nothing in a file is aligned for sure.
  template <class T>
  std::optional<T> Read(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  Status CheckHeader() {
    auto header = Read<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return Malformed("not an ELF file");
    header_ = *header;
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB)
      return Malformed("not a 64-bit little-endian ELF file");
    if (header_.e_type != ET_DYN)
      return Malformed("ELF type " + std::to_string(header_.e_type) + ", wanted a shared object");
    if (header_.e_machine != kMachine)
      return Malformed("made for ELF machine " + std::to_string(header_.e_machine) + ", this one is " +
                       std::to_string(kMachine));
    if (header_.e_phentsize != sizeof(Elf64_Phdr)) return Malformed("wrong size of program headers");
    return {};
  }

  Status CheckSegments() {
    uint64_t loaded_end = 0;
    for (uint16_t i = 0; i < header_.e_phnum; ++i) {
      auto segment = Read<Elf64_Phdr>(header_.e_phoff + uint64_t{i} * sizeof(Elf64_Phdr));
      if (!segment) return Malformed("program headers end beyond the file");
      if (segment->p_offset > bytes_.size() || segment->p_filesz > bytes_.size() - segment->p_offset)
        return Malformed("segment " + std::to_string(i) + " ends beyond the file");
      if (segment->p_type == PT_LOAD) {
        constexpr uint64_t kLargest = uint64_t{1} << 32;
        if (segment->p_filesz > segment->p_memsz || segment->p_memsz > kLargest ||
            segment->p_vaddr > kLargest || segment->p_vaddr < loaded_end)
          return Malformed("segment " + std::to_string(i) + " has an impossible place or size");
        loaded_end = segment->p_vaddr + segment->p_memsz;
        if (load_count_ == std::size(loads_)) return Malformed("too many segments");
        loads_[load_count_++] = *segment;
      } else if (segment->p_type == PT_DYNAMIC) {
        dynamic_ = *segment;
      } else if (segment->p_type == PT_INTERP || segment->p_type == PT_TLS) {
        return Malformed("it has an interpreter or thread-local data");
      }
    }
    if (!dynamic_ || load_count_ == 0) return Malformed("no dynamic table or nothing to load");
    return {};
  }

  Status CheckDynamicTable() {
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic_->p_filesz; at += sizeof(Elf64_Dyn)) {
      auto entry = Read<Elf64_Dyn>(dynamic_->p_offset + at);
      if (!entry || entry->d_tag == DT_NULL) break;
      switch (entry->d_tag) {
        case DT_NEEDED:
          return Malformed("it needs another library");
        case DT_INIT:
        case DT_FINI:
        case DT_INIT_ARRAY:
        case DT_FINI_ARRAY:
        case DT_PREINIT_ARRAY:
          return Malformed("it runs code when loaded or unloaded");
        case DT_TEXTREL:
          return Malformed("its code has relocations");
        case DT_SYMTAB:
          symbols_ = FileOffset(entry->d_un.d_ptr);
          break;
        case DT_HASH:
          hash_ = FileOffset(entry->d_un.d_ptr);
          break;
        case DT_GNU_HASH:
          gnu_hash_ = FileOffset(entry->d_un.d_ptr);
          break;
        case DT_STRTAB:
          strings_ = FileOffset(entry->d_un.d_ptr);
          break;
        case DT_STRSZ:
          strings_bytes_ = entry->d_un.d_val;
          break;
        default:
          break;
      }
    }
    if (!symbols_ || !strings_ || (!hash_ && !gnu_hash_)) return Malformed("no symbol table");
    if (strings_bytes_ == 0 || *strings_ > bytes_.size() || strings_bytes_ > bytes_.size() - *strings_)
      return Malformed("its names end beyond the file");
    if (bytes_[*strings_ + strings_bytes_ - 1] != std::byte{0}) return Malformed("its names do not end");
    return {};
  }

  Status CheckSymbols() {
    std::optional<uint64_t> count = hash_ ? CountByHash() : CountByGnuHash();
    if (!count) return Malformed("its hash table is malformed");
    for (uint64_t i = 1; i < *count; ++i) {
      auto symbol = Read<Elf64_Sym>(*symbols_ + i * sizeof(Elf64_Sym));
      if (!symbol || symbol->st_name >= strings_bytes_)
        return Malformed("symbol " + std::to_string(i) + " is malformed");
      const char* name = reinterpret_cast<const char*>(bytes_.data()) + *strings_ + symbol->st_name;
      if (symbol->st_shndx == SHN_UNDEF) return Malformed("it imports '" + std::string(name) + "'");
      if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
        return Malformed("'" + std::string(name) + "' is chosen when loaded");
    }
    return {};
  }

  // Where the loaded address lies in the file.
  std::optional<uint64_t> FileOffset(uint64_t address) const {
    for (size_t i = 0; i < load_count_; ++i) {
      const Elf64_Phdr& load = loads_[i];
      if (address >= load.p_vaddr && address - load.p_vaddr < load.p_filesz)
        return load.p_offset + (address - load.p_vaddr);
    }
    return std::nullopt;
  }

  std::optional<uint64_t> CountByHash() const {
    auto count = Read<uint32_t>(*hash_ + sizeof(uint32_t));
    if (!count || *count > bytes_.size() / sizeof(Elf64_Sym)) return std::nullopt;
    return *count;
  }

  // The table holds no count: it is the end of the chain of the bucket with the largest symbol.
  std::optional<uint64_t> CountByGnuHash() const {
    auto header = Read<std::array<uint32_t, 4>>(*gnu_hash_);  // buckets, first symbol, bloom words, shift
    if (!header) return std::nullopt;
    const auto [buckets, first, bloom_words, shift] = *header;
    if (buckets > bytes_.size() / sizeof(uint32_t) || bloom_words > bytes_.size() / sizeof(uint64_t))
      return std::nullopt;
    const uint64_t bucket_table = *gnu_hash_ + sizeof *header + uint64_t{bloom_words} * sizeof(uint64_t);
    const uint64_t chains = bucket_table + uint64_t{buckets} * sizeof(uint32_t);
    uint32_t last = 0;
    for (uint32_t i = 0; i < buckets; ++i) {
      auto bucket = Read<uint32_t>(bucket_table + uint64_t{i} * sizeof(uint32_t));
      if (!bucket) return std::nullopt;
      last = std::max(last, *bucket);
    }
    if (last < first) return first;  // no symbol is exported; those before `first` still count
    for (;; ++last) {
      auto chain = Read<uint32_t>(chains + uint64_t{last - first} * sizeof(uint32_t));
      if (!chain) return std::nullopt;
      if (*chain & 1) return uint64_t{last} + 1;
    }
  }

  std::span<const std::byte> bytes_;
  Elf64_Ehdr header_{};
  Elf64_Phdr loads_[16];
  size_t load_count_ = 0;
  std::optional<Elf64_Phdr> dynamic_;
  std::optional<uint64_t> symbols_, strings_, hash_, gnu_hash_;
  uint64_t strings_bytes_ = 0;
};

}  // namespace

Status CheckKernelObject(std::span<const std::byte> object) { return Object(object).Check(); }

}  // namespace tvmvm
