// Loads a packed kernel library (a shared object in memory) into the process.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "bytecode/kernel_abi.h"
#include "tvm-vm/status.h"

namespace tvmvm {

// The code stays mapped as long as the object lives.
class LoadedKernels {
 public:
  // Errors: kInvalidProgram for an object that is malformed, imports anything or runs code when loaded;
  // kUnsupported, kOutOfMemory where the system refuses to map it.
  static Expected<std::unique_ptr<LoadedKernels>> Load(std::span<const std::byte> object);
  ~LoadedKernels();
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;

  // Null where the library has no such symbol.
  KernelFunction Find(const std::string& symbol) const;

 private:
  LoadedKernels() = default;
  void* handle_ = nullptr;
};

}  // namespace tvmvm
