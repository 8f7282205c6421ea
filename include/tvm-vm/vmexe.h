// Program <-> .vmexe bytes. The layout is described in docs/bytecode.md; DESIGN: header, FlatBuffers
// metadata, code, constants (aligned, mapped), kernel libraries. Little-endian. Loading costs O(metadata),
// not O(weights).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tvm-vm/export.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"

namespace tvmvm {

// Of the files that this version writes; docs/bytecode.md says which it reads.
inline constexpr uint16_t kFormatMajor = 1, kFormatMinor = 4;

struct SectionInfo {
  std::string name;  // "metadata", "code", "constants", "kernels.rows", "kernels.cpu.x86-64-v3", ...
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string digest;  // xxh3-128, hex
  bool required = true;
};

// Writes to a temporary file beside `path`, syncs, and renames. Errors: kInvalidArgument naming path and
// system error.
[[nodiscard]] TVMVM_EXPORT Status SaveProgram(const Program& program, const std::string& path);
[[nodiscard]] TVMVM_EXPORT Expected<std::vector<std::byte>> SerializeProgram(const Program& program);

struct LoadOptions {
  bool check_constants = false;  // their digest, too: reads all of them
};

// Maps the file read-only; constants and kernels are views of the mapping, which the Program keeps alive. All
// sections are checked by digest but the constants, which are checked on request and by VerifyFile: loading
// does not touch the weights. Who may write to the file while the Program lives is trusted
// (docs/trust.md), but see CatchCutFiles.
[[nodiscard]] TVMVM_EXPORT Expected<std::shared_ptr<const Program>> LoadProgram(
    const std::string& path, const LoadOptions& options = {});
// `owner` keeps `bytes` alive; null copies them. Bytes must be 64-byte aligned to be used in place.
[[nodiscard]] TVMVM_EXPORT Expected<std::shared_ptr<const Program>> LoadProgramFromMemory(
    std::span<const std::byte> bytes, std::shared_ptr<const void> owner = nullptr,
    const LoadOptions& options = {});

// Programs are used where their files are mapped. Where somebody cuts such a file meanwhile, reading what it
// lost is a SIGBUS, which ends the process. Behind this call it ends the run instead, and every later one of
// that program, with kInvalidProgram: what was lost reads as zeros. It handles SIGBUS for the whole process;
// what has to do with no program goes to the handler of before. Once is enough. Errors: kUnsupported.
[[nodiscard]] TVMVM_EXPORT Status CatchCutFiles();

// Checks every section's digest. Errors: kInvalidProgram naming the section.
[[nodiscard]] TVMVM_EXPORT Status VerifyFile(const std::string& path);
[[nodiscard]] TVMVM_EXPORT Expected<std::vector<SectionInfo>> ListSections(const std::string& path);

}  // namespace tvmvm
