// The host library: what has no dense loop nest (strings, sequences, data-dependent sizes) and is therefore a
// C++ function that the opcode `host` calls by number. The numbers are part of the file format: append only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "bytecode/status.h"
#include "vm/interpreter/object.h"

namespace tvmvm {

// One call. Registers that hold null give null references.
struct HostCall {
  std::span<const int64_t> scalars;
  std::span<Object* const> refs;  // borrowed
  std::span<int64_t> scalar_results;
  std::span<Object*> ref_results;  // null at first; a reference put here becomes the caller's
  ObjectPool& pool;
  Budget& budget;
};

struct HostFunction {
  std::string_view name;
  uint32_t scalars = 0;
  uint32_t refs = 0;
  uint32_t scalar_results = 0;
  uint32_t ref_results = 0;
  Status (*run)(HostCall& call) = nullptr;
  std::string_view reason;  // why it is here and not a kernel
};

// All functions, by number.
std::span<const HostFunction> HostFunctions();

}  // namespace tvmvm
