// Program <-> the FlatBuffers of the metadata, kernels.rows and debug sections (program.fbs).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "serializer/wire/layout.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"

namespace tvmvm::wire {

// Where the writer puts what the metadata refers to.
struct Placement {
  std::vector<uint64_t> constant_offsets;     // in the constants section
  std::vector<std::string> library_sections;  // names
};

// Errors: kUnsupported when the metadata would exceed FlatBuffers' 2 GiB.
[[nodiscard]] Expected<std::vector<std::byte>> PackMetadata(const Program& program,
                                                            const Placement& placement);
// What launches of kernels are held to, and which library holds them for what.
[[nodiscard]] std::vector<std::byte> PackKernelRows(const Program& program, const Placement& placement);
// Line tables and the strings that only they use.
[[nodiscard]] Expected<std::vector<std::byte>> PackDebug(const Program& program);

// The program that untrusted sections describe. Every offset and size is checked, nothing else: VerifyProgram
// does the rest. Constants and libraries are views of `sections`. Errors: kInvalidProgram.
[[nodiscard]] Expected<Program> UnpackProgram(std::span<const Section> sections);

}  // namespace tvmvm::wire
