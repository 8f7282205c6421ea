// Program -> .vmexe. The big sections are written from where they lie, so saving needs no second copy of the
// weights.
#include <algorithm>

#include "bytecode/format_text.h"
#include "bytecode/guarded.h"
#include "bytecode/verifier.h"
#include "serializer/wire/layout.h"
#include "serializer/wire/metadata.h"
#include "serializer/wire/sink.h"
#include "serializer/wire/writer.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

using wire::AlignUp;
using wire::OutgoingSection;

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
      FormatText("{}{}.{}", wire::kKernelsPrefix, DeviceKindName(library.device), library.target);
  std::replace(name.begin(), name.end(), '\0', '_');
  constexpr size_t kRoomForNumber = 6;
  name.resize(std::min(name.size(), wire::kMaxSectionName - kRoomForNumber));
  std::string unique = name;
  for (int i = 2; std::find(taken.begin(), taken.end(), unique) != taken.end(); ++i)
    unique = FormatText("{}.{}", name, i);
  return unique;
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
  const std::vector<std::byte> rows = wire::PackKernelRows(program, placement);
  TVMVM_TRY(std::vector<std::byte> debug, wire::PackDebug(program));

  std::vector<OutgoingSection> sections;
  sections.push_back({.name = std::string(wire::kMetadataSection), .pieces = {{0, metadata}}});
  sections.push_back(CodeSection(program));
  sections.push_back({.name = std::string(wire::kDebugSection), .required = false, .pieces = {{0, debug}}});
  sections.push_back({.name = std::string(wire::kKernelRowsSection), .pieces = {{0, rows}}});
  std::move(libraries.begin(), libraries.end(), std::back_inserter(sections));
  sections.push_back(std::move(constants));
  return wire::WriteSections(sink, sections);
}

}  // namespace

Status SaveProgram(const Program& program, const std::string& path) {
  return Guarded([&]() -> Status {
    TVMVM_TRY(std::unique_ptr<wire::FileSink> sink, wire::FileSink::Create(path));
    TVMVM_CHECK_OK(WriteProgram(program, sink.get()));
    return sink->Commit();
  });
}

Expected<std::vector<std::byte>> SerializeProgram(const Program& program) {
  return Guarded([&]() -> Expected<std::vector<std::byte>> {
    wire::MemorySink sink;
    TVMVM_CHECK_OK(WriteProgram(program, &sink));
    return sink.Take();
  });
}

}  // namespace tvmvm
