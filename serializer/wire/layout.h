// Header and section table of a .vmexe file, as they stand in it. Little-endian; described in
// docs/bytecode.md.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/digest.h"
#include "tvm-vm/status.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::wire {

static_assert(std::endian::native == std::endian::little, "the file is mapped as it stands");

// The high bit and the line end show a file that went through a text-mode transfer.
inline constexpr std::array<char, 8> kMagic = {'\x89', 'T', 'V', 'M', 'V', 'M', '\r', '\n'};
inline constexpr uint16_t kMajorVersion = kFormatMajor;
inline constexpr uint16_t kMinorVersion = kFormatMinor;
inline constexpr uint64_t kSectionAlignment = 64;
inline constexpr uint64_t kPageBytes = 4096;
inline constexpr uint64_t kLargeConstantBytes = 64 << 10;  // from here on a constant starts a page
inline constexpr uint32_t kMaxSections = 1024;

struct FileHeader {
  std::array<char, 8> magic = kMagic;
  uint16_t major = kMajorVersion;
  uint16_t minor = kMinorVersion;
  uint32_t flags = 0;  // none yet
  uint64_t file_bytes = 0;
  uint32_t section_count = 0;
  uint32_t reserved0 = 0;
  std::array<uint8_t, 16> digest{};  // of this header, with the digest as zeros, and the section table
  std::array<uint8_t, 16> reserved1{};
};
static_assert(sizeof(FileHeader) == 64);

inline constexpr uint32_t kRequiredFlag = 1;  // a reader that does not know the section refuses the file

struct SectionEntry {
  std::array<char, 40> name{};  // padded with zeros
  uint32_t flags = 0;
  uint32_t reserved = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::array<uint8_t, 16> digest{};
};
static_assert(sizeof(SectionEntry) == 80);
inline constexpr size_t kMaxSectionName = sizeof(SectionEntry::name) - 1;

inline constexpr std::string_view kMetadataSection = "metadata";
inline constexpr std::string_view kCodeSection = "code";
inline constexpr std::string_view kDebugSection = "debug";
inline constexpr std::string_view kConstantsSection = "constants";
inline constexpr std::string_view kSignatureSection = "signature";  // signature_section.h
inline constexpr std::string_view kKernelsPrefix = "kernels.";      // what a signature of the kernels covers
inline constexpr std::string_view kKernelRowsSection = "kernels.rows";

constexpr uint64_t AlignUp(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

Digest HeaderDigest(FileHeader header, std::span<const SectionEntry> entries);

struct Section {
  std::string name;
  bool required = true;
  uint64_t offset = 0;
  std::span<const std::byte> bytes;
  Digest digest;
};

// The sections of a whole file, ascending and apart from each other. Checks magic, version, size, the
// header's digest and every entry. Errors: kInvalidProgram; kUnsupported for another format version or an
// unknown required section.
[[nodiscard]] Expected<std::vector<Section>> ReadSections(std::span<const std::byte> file);

// Null where there is none.
const Section* FindSection(std::span<const Section> sections, std::string_view name);

// Errors: kInvalidProgram naming the section and both digests.
[[nodiscard]] Status CheckDigest(const Section& section);

}  // namespace tvmvm::wire
