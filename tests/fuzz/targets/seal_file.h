// Digests of .vmexe files: made right, else nothing would come past them.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "serializer/wire/layout.h"

namespace tvmvm::fuzz {

// The header and the table of a file; no entries where there is no room for them.
struct FileTable {
  explicit FileTable(std::span<const std::byte> file) {
    if (file.size() < sizeof header) return;
    std::memcpy(&header, file.data(), sizeof header);
    const size_t room = (file.size() - sizeof header) / sizeof(wire::SectionEntry);
    if (header.section_count == 0 || header.section_count > room) return;
    entries.resize(header.section_count);
    std::memcpy(entries.data(), file.data() + sizeof header, entries.size() * sizeof(wire::SectionEntry));
  }
  wire::FileHeader header;
  std::vector<wire::SectionEntry> entries;
};

inline void Seal(std::span<std::byte> file) {
  auto [header, entries] = FileTable(file);
  if (entries.empty()) return;
  for (wire::SectionEntry& entry : entries)
    if (entry.offset <= file.size() && entry.bytes <= file.size() - entry.offset)
      entry.digest = DigestOf(file.subspan(entry.offset, entry.bytes)).bytes;
  header.file_bytes = file.size();
  header.digest = wire::HeaderDigest(header, entries).bytes;
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, entries.data(), entries.size() * sizeof(wire::SectionEntry));
}

}  // namespace tvmvm::fuzz
