// A .vmexe in memory that tests take apart and put together again with right digests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "serializer/wire/layout.h"

namespace tvmvm {

class EditableFile {
 public:
  explicit EditableFile(std::span<const std::byte> bytes) {
    std::memcpy(&header, bytes.data(), sizeof(header));
    entries.resize(header.section_count);
    std::memcpy(entries.data(), bytes.data() + sizeof(header), entries.size() * sizeof(wire::SectionEntry));
    for (const wire::SectionEntry& entry : entries) {
      auto section = bytes.subspan(entry.offset, entry.bytes);
      sections.emplace_back(section.begin(), section.end());
    }
  }

  std::vector<std::byte>& section(std::string_view name) { return sections[IndexOf(name)]; }

  void Remove(std::string_view name) {
    auto index = static_cast<std::ptrdiff_t>(IndexOf(name));
    entries.erase(entries.begin() + index);
    sections.erase(sections.begin() + index);
  }

  void Add(std::string_view name, bool required, std::vector<std::byte> bytes) {
    wire::SectionEntry entry;
    std::copy(name.begin(), name.end(), entry.name.begin());
    entry.flags = required ? wire::kRequiredFlag : 0;
    entries.push_back(entry);
    sections.push_back(std::move(bytes));
  }

  // Header, table and sections; places, sizes and digests are made anew.
  std::vector<std::byte> Build() {
    std::vector<std::byte> file(sizeof(header) + entries.size() * sizeof(wire::SectionEntry));
    for (size_t i = 0; i < entries.size(); ++i) {
      bool constants = std::string_view(entries[i].name.data()) == wire::kConstantsSection;
      file.resize(wire::AlignUp(file.size(), constants ? wire::kPageBytes : wire::kSectionAlignment));
      entries[i].offset = file.size();
      entries[i].bytes = sections[i].size();
      entries[i].digest = DigestOf(sections[i]).bytes;
      file.insert(file.end(), sections[i].begin(), sections[i].end());
    }
    header.file_bytes = file.size();
    header.section_count = static_cast<uint32_t>(entries.size());
    Seal(&file);
    return file;
  }

  // Writes header and table as they stand, with the right header digest.
  void Seal(std::vector<std::byte>* file) {
    header.digest = wire::HeaderDigest(header, entries).bytes;
    std::memcpy(file->data(), &header, sizeof(header));
    std::memcpy(file->data() + sizeof(header), entries.data(), entries.size() * sizeof(wire::SectionEntry));
  }

  wire::FileHeader header;
  std::vector<wire::SectionEntry> entries;
  std::vector<std::vector<std::byte>> sections;

 private:
  size_t IndexOf(std::string_view name) const {
    for (size_t i = 0; i < entries.size(); ++i)
      if (name == entries[i].name.data()) return i;
    ADD_FAILURE() << "no section " << name;
    return 0;
  }
};

}  // namespace tvmvm
