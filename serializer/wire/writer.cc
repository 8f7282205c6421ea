#include "serializer/wire/writer.h"

#include <algorithm>
#include <array>

#include "bytecode/format_text.h"

namespace tvmvm::wire {
namespace {

uint64_t SectionsBegin(size_t count) { return sizeof(FileHeader) + count * sizeof(SectionEntry); }

Status AppendZeros(Sink* sink, uint64_t count, DigestStream* digest) {
  constexpr std::array<std::byte, kPageBytes> kZeros{};
  while (count > 0) {
    auto part = std::span(kZeros).first(std::min<uint64_t>(count, kZeros.size()));
    if (digest) digest->Update(part);
    TVMVM_CHECK_OK(sink->Append(part));
    count -= part.size();
  }
  return {};
}

Expected<Digest> WriteSection(Sink* sink, const OutgoingSection& section) {
  DigestStream digest;
  uint64_t position = 0;
  for (const OutgoingSection::Piece& piece : section.pieces) {
    TVMVM_CHECK_OK(AppendZeros(sink, piece.offset - position, &digest));
    digest.Update(piece.bytes);
    TVMVM_CHECK_OK(sink->Append(piece.bytes));
    position = piece.offset + piece.bytes.size();
  }
  return digest.Finish();
}

}  // namespace

// Sections first, with zeros in place of header and table, which hold the digests and come last.
Status WriteSections(Sink* sink, std::span<const OutgoingSection> sections) {
  if (sections.size() > kMaxSections)
    return MakeError(Code::kUnsupported,
                     FormatText("{} sections, at most {}", sections.size(), kMaxSections));
  std::vector<SectionEntry> entries(sections.size());
  uint64_t position = SectionsBegin(sections.size());
  TVMVM_CHECK_OK(AppendZeros(sink, position, nullptr));
  for (size_t i = 0; i < sections.size(); ++i) {
    const OutgoingSection& section = sections[i];
    SectionEntry& entry = entries[i];
    std::copy(section.name.begin(), section.name.end(), entry.name.begin());
    entry.flags = section.required ? kRequiredFlag : 0;
    entry.offset = AlignUp(position, section.alignment);
    entry.bytes = section.bytes();
    TVMVM_CHECK_OK(AppendZeros(sink, entry.offset - position, nullptr));
    TVMVM_TRY(Digest digest, WriteSection(sink, section));
    entry.digest = digest.bytes;
    position = entry.offset + entry.bytes;
  }

  FileHeader header;
  header.file_bytes = position;
  header.section_count = static_cast<uint32_t>(sections.size());
  header.digest = HeaderDigest(header, entries).bytes;
  TVMVM_CHECK_OK(sink->Overwrite(0, std::as_bytes(std::span(&header, 1))));
  return sink->Overwrite(sizeof(header), std::as_bytes(std::span(entries)));
}

}  // namespace tvmvm::wire
