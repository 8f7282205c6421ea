// Program -> .vmexe. The big sections are written from where they lie, so saving needs no second copy of the
// weights.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bytecode/verifier.h"
#include "serializer/wire/layout.h"
#include "serializer/wire/metadata.h"
#include "serializer/wire/sink.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

using wire::AlignUp;
using wire::FileHeader;
using wire::SectionEntry;

// A section to be written: pieces at ascending offsets of it, zeros between them.
struct OutgoingSection {
  struct Piece {
    uint64_t offset = 0;
    std::span<const std::byte> bytes;
  };
  std::string name;
  bool required = true;
  uint64_t alignment = wire::kSectionAlignment;
  std::vector<Piece> pieces;

  uint64_t bytes() const { return pieces.empty() ? 0 : pieces.back().offset + pieces.back().bytes.size(); }
};

OutgoingSection ConstantsSection(const Program& program, std::vector<uint64_t>* offsets) {
  OutgoingSection section{.name = std::string(wire::kConstantsSection)};
  for (const ConstantSpec& constant : program.constants) {
    bool large = constant.bytes.size() >= wire::kLargeConstantBytes;
    uint64_t offset = AlignUp(section.bytes(), large ? wire::kPageBytes : wire::kSectionAlignment);
    if (large) section.alignment = wire::kPageBytes;
    offsets->push_back(constant.bytes.empty() ? 0 : offset);
    if (!constant.bytes.empty()) section.pieces.push_back({offset, constant.bytes});
  }
  return section;
}

OutgoingSection CodeSection(const Program& program) {
  OutgoingSection section{.name = std::string(wire::kCodeSection)};
  for (const FunctionSpec& function : program.functions)
    section.pieces.push_back({section.bytes(), std::as_bytes(std::span(function.code))});
  return section;
}

// "kernels.cpu.x86-64-v3"; a number behind it where two libraries would have the same name.
std::string LibrarySectionName(const KernelLibrarySpec& library, std::span<const std::string> taken) {
  std::string name =
      fmt::format("{}{}.{}", wire::kKernelsPrefix, DeviceKindName(library.device), library.target);
  std::replace(name.begin(), name.end(), '\0', '_');
  constexpr size_t kRoomForNumber = 6;
  name.resize(std::min(name.size(), wire::kMaxSectionName - kRoomForNumber));
  std::string unique = name;
  for (int i = 2; std::find(taken.begin(), taken.end(), unique) != taken.end(); ++i)
    unique = fmt::format("{}.{}", name, i);
  return unique;
}

uint64_t SectionsBegin(size_t count) { return sizeof(FileHeader) + count * sizeof(SectionEntry); }

Status AppendZeros(wire::Sink* sink, uint64_t count, DigestStream* digest) {
  constexpr std::array<std::byte, wire::kPageBytes> kZeros{};
  while (count > 0) {
    auto part = std::span(kZeros).first(std::min<uint64_t>(count, kZeros.size()));
    if (digest) digest->Update(part);
    TVMVM_CHECK_OK(sink->Append(part));
    count -= part.size();
  }
  return {};
}

Expected<Digest> WriteSection(wire::Sink* sink, const OutgoingSection& section) {
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

// Sections first, with zeros in place of header and table, which hold the digests and come last.
Status WriteSections(wire::Sink* sink, std::span<const OutgoingSection> sections) {
  std::vector<SectionEntry> entries(sections.size());
  uint64_t position = SectionsBegin(sections.size());
  TVMVM_CHECK_OK(AppendZeros(sink, position, nullptr));
  for (size_t i = 0; i < sections.size(); ++i) {
    const OutgoingSection& section = sections[i];
    SectionEntry& entry = entries[i];
    std::copy(section.name.begin(), section.name.end(), entry.name.begin());
    entry.flags = section.required ? wire::kRequiredFlag : 0;
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
  header.digest = wire::HeaderDigest(header, entries).bytes;
  TVMVM_CHECK_OK(sink->Overwrite(0, std::as_bytes(std::span(&header, 1))));
  return sink->Overwrite(sizeof(header), std::as_bytes(std::span(entries)));
}

Status WriteProgram(const Program& program, wire::Sink* sink) {
  TVMVM_CHECK_OK(VerifyProgram(program));
  wire::Placement placement;
  std::vector<OutgoingSection> libraries;
  for (const KernelLibrarySpec& library : program.libraries) {
    placement.library_sections.push_back(LibrarySectionName(library, placement.library_sections));
    libraries.push_back({.name = placement.library_sections.back(), .pieces = {{0, library.bytes}}});
  }
  OutgoingSection constants = ConstantsSection(program, &placement.constant_offsets);
  TVMVM_TRY(std::vector<std::byte> metadata, wire::PackMetadata(program, placement));
  TVMVM_TRY(std::vector<std::byte> debug, wire::PackDebug(program));

  std::vector<OutgoingSection> sections;
  sections.push_back({.name = std::string(wire::kMetadataSection), .pieces = {{0, metadata}}});
  sections.push_back(CodeSection(program));
  sections.push_back({.name = std::string(wire::kDebugSection), .required = false, .pieces = {{0, debug}}});
  std::move(libraries.begin(), libraries.end(), std::back_inserter(sections));
  sections.push_back(std::move(constants));
  if (sections.size() > wire::kMaxSections)
    return MakeError(Code::kUnsupported,
                     fmt::format("{} sections, at most {}", sections.size(), wire::kMaxSections));
  return WriteSections(sink, sections);
}

}  // namespace

Status SaveProgram(const Program& program, const std::string& path) {
  TVMVM_TRY(std::unique_ptr<wire::FileSink> sink, wire::FileSink::Create(path));
  TVMVM_CHECK_OK(WriteProgram(program, sink.get()));
  return sink->Commit();
}

Expected<std::vector<std::byte>> SerializeProgram(const Program& program) {
  wire::MemorySink sink;
  TVMVM_CHECK_OK(WriteProgram(program, &sink));
  return sink.Take();
}

}  // namespace tvmvm
