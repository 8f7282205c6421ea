// A file mapped read-only.
#pragma once

#include <string>

#include "bytecode/blob.h"
#include "tvm-vm/status.h"

namespace tvmvm::wire {

// The whole file as bytes; pages are read when touched and shared between processes. Behind CatchCutFiles, pages
// that are cut off read as zeros, and Blob::is_cut says so.
// Errors: kNotFound, kInvalidArgument with the path and the system's reason; kInvalidProgram for an empty
// file.
[[nodiscard]] Expected<Blob> MapFile(const std::string& path);

}  // namespace tvmvm::wire
