// Signatures: what is said to be signed by the test's key is what that key signed, whatever is done to the
// file. The first byte says what the others are: the signature section of the signed file, changes of its
// sections, a file of any kind, a file with a key.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bytecode/derived_cache.h"
#include "serializer/signature/keys.h"
#include "serializer/signature/signature_section.h"
#include "serializer/signature/signing.h"
#include "serializer/wire/signed_file.h"
#include "serializer/wire/writer.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/targets/seal_file.h"
#include "tests/fuzz/targets/target.h"
#include "tvm-vm/assembler.h"

namespace tvmvm::fuzz {
namespace {

using Bytes = std::vector<std::byte>;

// A file of the system's that has a path while this lives.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes) : file_(memfd_create("file", MFD_CLOEXEC)) {
    Require(file_ >= 0 && fchmod(file_, 0600) == 0 &&
                write(file_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
            "no file");
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  const int file_;
};

struct NamedBytes {
  std::string name;
  bool required = true;
  Bytes bytes;
  friend bool operator==(const NamedBytes&, const NamedBytes&) = default;
};

std::vector<NamedBytes> SectionsOf(std::span<const wire::Section> sections) {
  std::vector<NamedBytes> all;
  for (const wire::Section& section : sections)
    all.push_back({section.name, section.required, {section.bytes.begin(), section.bytes.end()}});
  return all;
}

Bytes FileOf(const std::vector<NamedBytes>& sections) {
  std::vector<wire::OutgoingSection> outgoing;
  for (const NamedBytes& section : sections)
    outgoing.push_back({.name = section.name, .required = section.required, .pieces = {{0, section.bytes}}});
  wire::MemorySink sink;
  Require(wire::WriteSections(&sink, outgoing).has_value(), "a file is not written");
  return sink.Take();
}

constexpr const char* kProgram = R"(
entry @main
kernel @k cpu symbol "k" scalars 0 buffers [read, write]
func @main("x": i64[8]) -> ("y": i64[8]) frame 3, 2 {
  i0 = const 0
  i1 = const 1
  i2 = const 8
  r1 = output 0, [i2]
  launch @k, 0, [i2, i1, i1, i0, i0, i0], [], [r0, r1]
  return [], [r1]
}
)";

// A program with kernels, signed by a key whose 32 bytes are the numbers from 1 on. The signature is last.
struct SignedFile {
  PublicKey key;
  std::vector<NamedBytes> sections;

  SignedFile() {
    std::array<uint8_t, 32> seed;
    for (size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<uint8_t>(i + 1);
    const SecretKey secret(seed);
    key = signature::PublicKeyOf(secret);
    auto assembled = Assemble(kProgram);
    Require(assembled.has_value(), "no program:", assembled ? "" : assembled.error().message.c_str());
    Program program = **assembled;
    const Bytes code(40, std::byte{0x90});
    for (const char* target : {"x86-64-v3", "x86-64-v4"})
      program.libraries.push_back({DeviceKind::kCpu, KernelForm::kSharedObject, target, code});
    const auto file = SerializeProgram(program);
    Require(file.has_value(), "the program is not written:", file ? "" : file.error().message.c_str());
    const auto read = wire::ReadSections(*file);
    Require(read.has_value(), "the program is not read");
    sections = SectionsOf(*read);
    signature::SignatureSection section;
    section.sections = signature::RowsOf(*read);
    section.signatures = {signature::SignRows(section.sections, secret)};
    sections.push_back({std::string(wire::kSignatureSection), false, signature::PackSignatures(section)});
  }
};

// All sections but the signature are those that were signed.
bool IsSigned(const SignedFile& signed_file, std::span<const wire::Section> sections) {
  std::vector<NamedBytes> given = SectionsOf(sections);
  std::erase_if(given, [](const NamedBytes& section) { return section.name == wire::kSignatureSection; });
  return given.size() + 1 == signed_file.sections.size() &&
         std::ranges::all_of(given, [&](const NamedBytes& section) {
           const auto wanted = std::ranges::find(signed_file.sections, section.name, &NamedBytes::name);
           return wanted != signed_file.sections.end() && wanted->bytes == section.bytes;
         });
}

// A library that runs: what decides about its launches is as it was signed.
void CheckTrusted(const SignedFile& signed_file, std::span<const wire::Section> sections,
                  const KernelLibrarySpec& library, Trust trust) {
  for (const wire::Section& section : sections) {
    const bool is_of_kernels =
        section.name == wire::kKernelRowsSection || section.bytes.data() == library.bytes.data();
    const bool is_of_program = section.name == wire::kMetadataSection || section.name == wire::kCodeSection ||
                               section.name == wire::kDebugSection;
    if (!is_of_kernels && (trust == Trust::kSignedKernels || !is_of_program)) continue;
    const auto wanted = std::ranges::find(signed_file.sections, section.name, &NamedBytes::name);
    Require(wanted != signed_file.sections.end() && std::ranges::equal(wanted->bytes, section.bytes),
            "kernels run beside what was changed:", section.name.c_str());
  }
}

// What the verifier and the VM say of the file; whether it is signed as a whole.
bool CheckFile(const SignedFile& signed_file, const Bytes& file) {
  const std::array keys{signed_file.key};
  const Status status = signature::VerifySignature(MemoryFile(file).path(), keys);
  const auto sections = wire::ReadSections(file);
  if (!status) {
    RequireProper(status.error());
  } else {
    Require(sections && IsSigned(signed_file, *sections), "what was changed is taken for signed");
  }
  const auto program = LoadProgramFromMemory(file);
  if (!program || (*program)->derived->signed_file == nullptr) return status.has_value();
  for (const Trust trust : {Trust::kSigned, Trust::kSignedKernels}) {
    const TrustedLibraries trusted = signature::LibrariesToTrust(*(*program)->derived->signed_file, **program,
                                                                 {.trust = trust, .keys = keys});
    Require(trusted.libraries.size() == (*program)->libraries.size() || !trusted.refused.empty(),
            "kernels are refused without a reason");
    for (const KernelLibrarySpec& library : trusted.libraries)
      CheckTrusted(signed_file, *sections, library, trust);
  }
  return status.has_value();
}

// A key that is read is what the file says.
void CheckKey(std::span<const std::byte> given) {
  const MemoryFile file(given);
  const std::string_view text(reinterpret_cast<const char*>(given.data()), given.size());
  if (const auto key = signature::ReadPublicKey(file.path()))
    Require(text.starts_with("tvm-vm-public-key-ed25519 " + key->Hex()), "another public key is read");
  else
    RequireProper(key.error());
  if (const auto key = signature::ReadSecretKey(file.path()))
    Require(text.starts_with("tvm-vm-secret-key-ed25519 " + PublicKey{key->seed()}.Hex()),
            "another secret key is read");
  else
    RequireProper(key.error());
}

// Of the sections, one after another: a byte is another one, the end is cut off or longer, two change places.
std::vector<NamedBytes> Changed(std::vector<NamedBytes> sections, Choices& choices) {
  for (uint32_t left = choices.Below(4); left > 0; --left) {
    NamedBytes& section = sections[choices.Below(sections.size())];
    Bytes& bytes = section.bytes;
    switch (choices.Below(5)) {
      case 0:
        if (!bytes.empty()) bytes[choices.Below(bytes.size())] ^= static_cast<std::byte>(choices.Below(256));
        break;
      case 1:
        bytes.resize(choices.Below(bytes.size() + 16));
        break;
      case 2:
        bytes.swap(sections[choices.Below(sections.size())].bytes);
        break;
      case 3:
        section.required = !section.required;
        break;
      default:
        section.name.back() = static_cast<char>(choices.Below(128));
    }
  }
  return sections;
}

}  // namespace
}  // namespace tvmvm::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  static const SignedFile signed_file = [] {
    SignedFile file;
    Require(CheckFile(file, FileOf(file.sections)), "what was signed is refused");
    return file;
  }();
  if (size == 0) return 0;
  const auto given = BytesOf(data, size).subspan(1);
  switch (data[0] % 4) {
    case 0: {
      std::vector<NamedBytes> sections = signed_file.sections;
      sections.back().bytes.assign(given.begin(), given.end());
      CheckFile(signed_file, FileOf(sections));
      break;
    }
    case 1: {
      Choices choices(given);
      CheckFile(signed_file, FileOf(Changed(signed_file.sections, choices)));
      break;
    }
    case 2: {
      Bytes file(given.begin(), given.end());
      Seal(file);
      CheckFile(signed_file, file);
      break;
    }
    default:
      CheckKey(given);
  }
  return 0;
}
