// .vmexe files: what is loaded, prints, is the same when written and loaded again, and runs under limits. The
// digests are made right before, else nothing would come past them.
#include <algorithm>
#include <cstring>
#include <vector>

#include "serializer/wire/layout.h"
#include "tests/fuzz/run_program.h"
#include "tests/fuzz/targets/target.h"
#include "tvm-vm/assembler.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::fuzz {
namespace {

void Seal(std::span<std::byte> file) {
  wire::FileHeader header;
  if (file.size() < sizeof header) return;
  std::memcpy(&header, file.data(), sizeof header);
  const size_t room = (file.size() - sizeof header) / sizeof(wire::SectionEntry);
  if (header.section_count == 0 || header.section_count > room) return;
  std::vector<wire::SectionEntry> entries(header.section_count);
  std::memcpy(entries.data(), file.data() + sizeof header, entries.size() * sizeof(wire::SectionEntry));
  for (wire::SectionEntry& entry : entries)
    if (entry.offset <= file.size() && entry.bytes <= file.size() - entry.offset)
      entry.digest = DigestOf(file.subspan(entry.offset, entry.bytes)).bytes;
  header.file_bytes = file.size();
  header.digest = wire::HeaderDigest(header, entries).bytes;
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, entries.data(), entries.size() * sizeof(wire::SectionEntry));
}

}  // namespace
}  // namespace tvmvm::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  const auto given = BytesOf(data, size);
  std::vector<std::byte> file(given.begin(), given.end());
  Seal(file);
  auto program = LoadProgramFromMemory(file);
  if (!program) return RequireProper(program), 0;
  const std::string text = Disassemble(**program);
  auto written = SerializeProgram(**program);
  Require(written.has_value(), "a program that was loaded is not written");
  auto again = LoadProgramFromMemory(*written);
  Require(again.has_value(), "what was written is refused:", again ? "" : again.error().message.c_str());
  Require(Disassemble(**again) == text, "a program is another one once written");
  Choices choices(1);
  if (Status status = RunUnderLimits(*program, choices, true); !status) RequireProper(status.error());
  return 0;
}
