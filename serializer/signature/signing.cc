#include "serializer/signature/signing.h"

#include <fmt/format.h>

#include <algorithm>

#include "serializer/signature/signature_section.h"
#include "serializer/wire/mapped_file.h"
#include "serializer/wire/sink.h"
#include "serializer/wire/writer.h"

namespace tvmvm::signature {
namespace {

// The signatures in the file that are still of what it holds.
Expected<std::vector<Signature>> SignaturesToKeep(std::span<const wire::Section> sections,
                                                  const std::vector<SignedSection>& rows) {
  if (wire::FindSection(sections, wire::kSignatureSection) == nullptr) return std::vector<Signature>();
  TVMVM_TRY(SignatureSection before, ReadSignatures(sections));
  if (before.sections != rows) return std::vector<Signature>();
  return std::move(before.signatures);
}

Expected<SignatureSection> Sign(std::span<const wire::Section> sections, const SecretKey& key) {
  SignatureSection signatures;
  signatures.sections = RowsOf(sections);
  TVMVM_TRY(signatures.signatures, SignaturesToKeep(sections, signatures.sections));
  const Signature ours = SignRows(signatures.sections, key);
  std::erase_if(signatures.signatures, [&](const Signature& other) { return other.key == ours.key; });
  if (signatures.signatures.size() >= kMaxSignatures)
    return MakeError(Code::kUnsupported, fmt::format("the file has {} signatures, which is as many as it may",
                                                     signatures.signatures.size()));
  signatures.signatures.push_back(ours);
  return signatures;
}

Status WriteSigned(std::span<const wire::Section> sections, std::span<const std::byte> signature,
                   const std::string& output) {
  std::vector<wire::OutgoingSection> outgoing;
  for (const wire::Section& section : sections) {
    if (section.name == wire::kSignatureSection) continue;
    const bool is_paged = section.offset % wire::kPageBytes == 0;
    outgoing.push_back({.name = section.name,
                        .required = section.required,
                        .alignment = is_paged ? wire::kPageBytes : wire::kSectionAlignment,
                        .pieces = {{0, section.bytes}}});
  }
  outgoing.push_back(
      {.name = std::string(wire::kSignatureSection), .required = false, .pieces = {{0, signature}}});
  TVMVM_TRY(std::unique_ptr<wire::FileSink> sink, wire::FileSink::Create(output));
  TVMVM_CHECK_OK(wire::WriteSections(sink.get(), outgoing));
  return sink->Commit();
}

Status CheckAll(std::span<const wire::Section> sections, std::span<const PublicKey> keys) {
  TVMVM_TRY(const SignatureSection signatures, ReadSignatures(sections));
  TVMVM_CHECK_OK(TrustedSignature(signatures, keys, SignedPart::kProgram));
  for (const wire::Section& section : sections)
    if (section.name != wire::kSignatureSection) TVMVM_CHECK_OK(CheckSigned(signatures, section));
  for (const SignedSection& row : signatures.sections)
    if (wire::FindSection(sections, row.name.data()) == nullptr)
      return MakeError(Code::kInvalidProgram,
                       fmt::format("section '{}' was there when the file was signed", row.name.data()));
  return {};
}

// The section that a library is; null where it is none of the file's kernels.
const wire::Section* SectionOf(const wire::SignedFile& file, const KernelLibrarySpec& library) {
  const auto found = std::ranges::find_if(file.sections, [&](const wire::Section& section) {
    return section.name.starts_with(wire::kKernelsPrefix) && section.bytes.data() == library.bytes.data() &&
           section.bytes.size() == library.bytes.size();
  });
  return found != file.sections.end() ? &*found : nullptr;
}

// That a trusted key signed what the file says of kernels and of how they are called.
Status CheckProgram(const wire::SignedFile& file, const SignatureSection& signatures,
                    const TrustOptions& options) {
  TVMVM_CHECK_OK(TrustedSignature(signatures, options.keys, SignedPart::kProgram));
  for (const wire::Section& section : file.sections) {
    const bool is_read = section.name == wire::kMetadataSection || section.name == wire::kCodeSection ||
                         section.name == wire::kDebugSection || section.name == wire::kKernelRowsSection ||
                         (options.with_constants && section.name == wire::kConstantsSection);
    if (is_read) TVMVM_CHECK_OK(CheckSigned(signatures, section));
  }
  return {};
}

// The same of what the file says of kernels alone. Where the rows are in the metadata, nobody signed them
// with the kernels.
Status CheckRows(const wire::SignedFile& file, const SignatureSection& signatures,
                 const TrustOptions& options) {
  TVMVM_CHECK_OK(TrustedSignature(signatures, options.keys, SignedPart::kKernels));
  const wire::Section* rows = wire::FindSection(file.sections, wire::kKernelRowsSection);
  if (rows != nullptr) return CheckSigned(signatures, *rows);
  return MakeError(Code::kInvalidProgram,
                   fmt::format("the file has no section '{}', which files have since version 1.3",
                               wire::kKernelRowsSection));
}

Status CheckLibrary(const wire::SignedFile& file, const SignatureSection& signatures,
                    const KernelLibrarySpec& library) {
  const wire::Section* section = SectionOf(file, library);
  if (section != nullptr) return CheckSigned(signatures, *section);
  return MakeError(Code::kInvalidProgram,
                   "the kernels for '" + library.target + "' did not come from the signed file");
}

Expected<TrustedLibraries> Trusted(const wire::SignedFile& file, const Program& program,
                                   const TrustOptions& options) {
  TVMVM_TRY(const SignatureSection signatures, ReadSignatures(file.sections));
  const bool kernels_alone = options.trust == Trust::kSignedKernels;
  TVMVM_CHECK_OK((kernels_alone ? CheckRows : CheckProgram)(file, signatures, options));
  TrustedLibraries trusted;
  for (const KernelLibrarySpec& library : program.libraries) {
    const Status status = CheckLibrary(file, signatures, library);
    if (status)
      trusted.libraries.push_back(library);
    else if (trusted.refused.empty())
      trusted.refused = status.error().message;
  }
  return trusted;
}

}  // namespace

Status SignFile(const std::string& path, const SecretKey& key, const std::string& output) {
  TVMVM_TRY(const Blob blob, wire::MapFile(path));
  TVMVM_TRY(const std::vector<wire::Section> sections, wire::ReadSections(blob.bytes));
  TVMVM_TRY(const SignatureSection signatures, Sign(sections, key));
  return WriteSigned(sections, PackSignatures(signatures), output);
}

Status VerifySignature(const std::string& path, std::span<const PublicKey> keys) {
  TVMVM_TRY(const Blob blob, wire::MapFile(path));
  Status status = [&]() -> Status {
    TVMVM_TRY(const std::vector<wire::Section> sections, wire::ReadSections(blob.bytes));
    return CheckAll(sections, keys);
  }();
  if (!status) status.error().message = fmt::format("{}: {}", path, status.error().message);
  return status;
}

TrustedLibraries LibrariesToTrust(const wire::SignedFile& file, const Program& program,
                                  const TrustOptions& options) {
  Expected<TrustedLibraries> trusted = Trusted(file, program, options);
  if (!trusted) return {{}, trusted.error().message};
  return *std::move(trusted);
}

}  // namespace tvmvm::signature
