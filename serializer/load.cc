// .vmexe -> Program. All sections are read but the constants: weights stay untouched.
#include <algorithm>

#include "bytecode/blob.h"
#include "bytecode/derived_cache.h"
#include "bytecode/format_text.h"
#include "bytecode/guarded.h"
#include "bytecode/verifier.h"
#include "serializer/wire/layout.h"
#include "serializer/wire/mapped_file.h"
#include "serializer/wire/metadata.h"
#include "serializer/wire/signed_file.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

// Puts the file in front of what is wrong with it.
template <class T>
Expected<T> InFile(const std::string& path, Expected<T> result) {
  if (!result) result.error().message = FormatText("{}: {}", path, result.error().message);
  return result;
}

Expected<std::shared_ptr<const Program>> LoadBlob(Blob blob, const LoadOptions& options) {
  TVMVM_TRY(std::vector<wire::Section> sections, wire::ReadSections(blob.bytes));
  for (const wire::Section& section : sections)
    if (section.name != wire::kConstantsSection || options.check_constants)
      TVMVM_CHECK_OK(wire::CheckDigest(section));
  TVMVM_TRY(Program program, wire::UnpackProgram(sections));
  TVMVM_CHECK_OK(VerifyProgram(program));
  if (wire::FindSection(sections, wire::kSignatureSection) != nullptr)
    program.derived->signed_file =
        std::make_shared<const wire::SignedFile>(wire::SignedFile{std::move(sections)});
  program.derived->is_cut = blob.is_cut;
  program.storage.push_back(std::move(blob.owner));
  return std::make_shared<const Program>(std::move(program));
}

Status CheckPadding(std::span<const std::byte> file, uint64_t begin, uint64_t end) {
  auto gap = file.subspan(begin, end - begin);
  if (std::all_of(gap.begin(), gap.end(), [](std::byte byte) { return byte == std::byte{0}; })) return {};
  return MakeError(Code::kInvalidProgram,
                   FormatText("bytes {} to {} belong to no section and are not 0", begin, end));
}

// Every byte of the file belongs to the header, to a section with the right digest, or is 0.
Status VerifyBlob(const Blob& blob) {
  TVMVM_TRY(std::vector<wire::Section> sections, wire::ReadSections(blob.bytes));
  uint64_t position = sizeof(wire::FileHeader) + sections.size() * sizeof(wire::SectionEntry);
  for (const wire::Section& section : sections) {
    TVMVM_CHECK_OK(wire::CheckDigest(section));
    TVMVM_CHECK_OK(CheckPadding(blob.bytes, position, section.offset));
    position = section.offset + section.bytes.size();
  }
  TVMVM_CHECK_OK(CheckPadding(blob.bytes, position, blob.bytes.size()));
  TVMVM_TRY(std::shared_ptr<const Program> program, LoadBlob(blob, {}));
  return {};
}

}  // namespace

Expected<std::shared_ptr<const Program>> LoadProgram(const std::string& path, const LoadOptions& options) {
  return Guarded([&]() -> Expected<std::shared_ptr<const Program>> {
    TVMVM_TRY(Blob blob, wire::MapFile(path));
    return InFile(path, LoadBlob(std::move(blob), options));
  });
}

Expected<std::shared_ptr<const Program>> LoadProgramFromMemory(std::span<const std::byte> bytes,
                                                               std::shared_ptr<const void> owner,
                                                               const LoadOptions& options) {
  return Guarded([&]() -> Expected<std::shared_ptr<const Program>> {
    if (owner != nullptr && IsBlobAligned(bytes.data()))
      return LoadBlob({.bytes = bytes, .owner = std::move(owner)}, options);
    TVMVM_TRY(Blob copy, CopyToBlob(bytes));
    return LoadBlob(std::move(copy), options);
  });
}

Status VerifyFile(const std::string& path) {
  return Guarded([&]() -> Status {
    TVMVM_TRY(Blob blob, wire::MapFile(path));
    return InFile(path, VerifyBlob(blob));
  });
}

Expected<std::vector<SectionInfo>> ListSections(const std::string& path) {
  return Guarded([&]() -> Expected<std::vector<SectionInfo>> {
    TVMVM_TRY(Blob blob, wire::MapFile(path));
    TVMVM_TRY(std::vector<wire::Section> sections, InFile(path, wire::ReadSections(blob.bytes)));
    std::vector<SectionInfo> infos;
    for (const wire::Section& section : sections)
      infos.push_back(
          {section.name, section.offset, section.bytes.size(), section.digest.Hex(), section.required});
    return infos;
  });
}

}  // namespace tvmvm
