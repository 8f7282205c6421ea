// The host library: what has no dense loop nest (strings, sequences, data-dependent sizes) and is therefore a
// C++ function that the opcode `host` calls by number. bytecode/host_functions.def is the list; each row has
// a function Host<Name> in one of this folder's files, one file a family.
#pragma once

#include <cstdint>
#include <span>

#include "bytecode/host_functions.h"
#include "tvm-vm/device.h"
#include "tvm-vm/status.h"
#include "vm/objects/object.h"

namespace tvmvm {

// One call, its operands as many as the verifier found the signature to want. Registers that hold null give
// null references.
struct HostCall {
  static constexpr uint32_t kNone = 0xffffffffu;

  std::span<const int64_t> scalars;
  std::span<Object* const> refs;  // borrowed
  std::span<int64_t> scalar_results;
  std::span<Object*> ref_results;  // null at first; a reference put here becomes the caller's, also on errors
  ObjectPool& pool;
  const CancelToken& cancel;  // asked now and then by what may take long
  int64_t deadline_ns = 0;    // of the run, on the steady clock; 0: none
  uint32_t moved = kNone;     // the operand whose reference became a result: its register is to forget it
  mutable int64_t work = 0;   // since `cancel` was asked, see PollWork
};

// Calls a function by number. Errors begin with the function's name; exceptions do not pass.
Status RunHostFunction(uint32_t number, HostCall& call);

#define HOST(Name, name, scalars, refs, scalar_results, ref_results, meaning) \
  Status Host##Name(HostCall& call);
#include "bytecode/host_functions.def"
#undef HOST

}  // namespace tvmvm
