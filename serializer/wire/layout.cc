#include "serializer/wire/layout.h"

#include <algorithm>
#include <cstring>

#include "bytecode/format_text.h"

namespace tvmvm::wire {
namespace {

template <class... Args>
tl::unexpected<Error> Malformed(TextFormat<sizeof...(Args)> format, const Args&... args) {
  return MakeError(Code::kInvalidProgram, FormatText(format, args...));
}

Expected<FileHeader> ReadHeader(std::span<const std::byte> file) {
  FileHeader header;
  if (file.size() < sizeof(header))
    return Malformed("{} bytes are too few for a .vmexe header of {}", file.size(), sizeof(header));
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.magic != kMagic) return Malformed("not a .vmexe file: it starts with other bytes");
  if (header.major != kMajorVersion)
    return MakeError(Code::kUnsupported,
                     FormatText("the file has format version {}.{}, this build reads version {}.{}",
                                header.major, header.minor, kMajorVersion, kMinorVersion));
  if (header.flags != 0)
    return MakeError(Code::kUnsupported, FormatText("unknown file flags {:#x}", header.flags));
  if (header.file_bytes != file.size())
    return Malformed("the file has {} bytes, its header says {}", file.size(), header.file_bytes);
  uint64_t room = (file.size() - sizeof(header)) / sizeof(SectionEntry);
  if (header.section_count > kMaxSections || header.section_count > room)
    return Malformed("{} sections do not fit the file", header.section_count);
  return header;
}

bool IsKnown(std::string_view name) {
  return name == kMetadataSection || name == kCodeSection || name == kDebugSection ||
         name == kConstantsSection || name == kSignatureSection || name.starts_with(kKernelsPrefix);
}

Expected<Section> ReadEntry(std::span<const std::byte> file, const SectionEntry& entry) {
  auto end = std::find(entry.name.begin(), entry.name.end(), '\0');
  if (end == entry.name.begin() || end == entry.name.end()) return Malformed("a section's name is malformed");
  Section section;
  section.name.assign(entry.name.begin(), end);
  section.required = (entry.flags & kRequiredFlag) != 0;
  section.digest.bytes = entry.digest;
  if (section.required && !IsKnown(section.name))
    return MakeError(Code::kUnsupported,
                     FormatText("the file needs section '{}', which this build does not know", section.name));
  if (entry.offset % kSectionAlignment != 0 || entry.offset > file.size() ||
      entry.bytes > file.size() - entry.offset)
    return Malformed("section '{}': {} bytes at {} are misplaced in a file of {}", section.name, entry.bytes,
                     entry.offset, file.size());
  section.offset = entry.offset;
  section.bytes = file.subspan(entry.offset, entry.bytes);
  return section;
}

}  // namespace

Digest HeaderDigest(FileHeader header, std::span<const SectionEntry> entries) {
  header.digest.fill(0);
  DigestStream stream;
  stream.Update(std::as_bytes(std::span(&header, 1)));
  stream.Update(std::as_bytes(entries));
  return stream.Finish();
}

Expected<std::vector<Section>> ReadSections(std::span<const std::byte> file) {
  TVMVM_TRY(FileHeader header, ReadHeader(file));
  std::vector<SectionEntry> entries(header.section_count);
  if (!entries.empty())
    std::memcpy(entries.data(), file.data() + sizeof(header), entries.size() * sizeof(SectionEntry));
  if (HeaderDigest(header, entries).bytes != header.digest)
    return Malformed("the header is damaged: its digest is another");

  std::vector<Section> sections;
  uint64_t end = sizeof(header) + entries.size() * sizeof(SectionEntry);
  for (const SectionEntry& entry : entries) {
    TVMVM_TRY(Section section, ReadEntry(file, entry));
    if (section.offset < end) return Malformed("section '{}' overlaps what is before it", section.name);
    if (FindSection(sections, section.name)) return Malformed("two sections are named '{}'", section.name);
    end = section.offset + section.bytes.size();
    sections.push_back(std::move(section));
  }
  return sections;
}

const Section* FindSection(std::span<const Section> sections, std::string_view name) {
  for (const Section& section : sections)
    if (section.name == name) return &section;
  return nullptr;
}

Status CheckDigest(const Section& section) {
  Digest found = DigestOf(section.bytes);
  if (found == section.digest) return {};
  return Malformed("section '{}' is damaged: its digest is {}, the table says {}", section.name, found.Hex(),
                   section.digest.Hex());
}

}  // namespace tvmvm::wire
