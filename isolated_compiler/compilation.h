// One compilation in a process of its own.
#pragma once

#include <span>
#include <string>

#include "isolated_compiler/messages.h"
#include "tvm-vm/isolated_compiler.h"

namespace tvmvm::isolated {

// Either a path or bytes.
struct Model {
  std::string path;
  std::span<const std::byte> bytes;
  bool is_file = false;
};

// As CompileFileIsolated; exceptions pass.
Expected<CompileResult> CompileInProcess(const Model& model, const CompileOptions& options,
                                         const IsolationOptions& isolation);

}  // namespace tvmvm::isolated
