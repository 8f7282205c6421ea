// What opcode handlers do where an operand is on a device with memory of its own. Each does the whole
// instruction and gives the next one, or null after Machine::Fail.
#pragma once

#include <span>
#include <string>

#include "vm/interpreter/machine.h"

namespace tvmvm {

inline constexpr const char* kWritesReadOnly = "writes to an input or a constant";

const uint32_t* LaunchOnDevice(Machine& m, const uint32_t* pc);
const uint32_t* CopyOnDevice(Machine& m, const uint32_t* pc);  // at least one side is on the device
const uint32_t* FillOnDevice(Machine& m, const uint32_t* pc);
const uint32_t* ViewOnDevice(Machine& m, const uint32_t* pc, BufferOperand source, const Shape& shape);
const uint32_t* LoadFromDevice(Machine& m, const uint32_t* pc, BufferOperand source);
const uint32_t* StoreToDevice(Machine& m, const uint32_t* pc, BufferOperand target);
// For instructions that know the CPU's memory only.
const uint32_t* FailOnDevice(Machine& m, const uint32_t* pc, uint32_t reg);

// launch.cc
// "kernel 'x': index out of range"
// `scalars`: of the launch, where they are still known.
std::string KernelFailureText(const KernelSpec& kernel, int32_t code, std::span<const int64_t> scalars = {});
// Of launches that do not fulfil the kernel's contract. `numbers`: as the contract's values have them;
// `failed`: the expression.
std::string NumbersText(const KernelSpec& kernel, std::span<const int64_t> numbers, uint32_t failed);
std::string WritesReadOnlyText(const KernelSpec& kernel, uint32_t buffer);
std::string TooFewBytesText(const KernelSpec& kernel, uint32_t buffer, int64_t found, int64_t wanted);
// Grid, scratch and work of a launch, from its shape list and the kernel.
inline void SetShape(const Machine& m, const KernelSpec& kernel, const uint32_t* shape,
                     LaunchRequest* request) {
  const int64_t* scalars = m.frames.scalars;
  for (int axis = 0; axis < 3; ++axis) request->grid[axis] = scalars[shape[1 + axis]];
  if (shape[0] == kLaunchGridSize) {
    request->scratch_bytes = kernel.scratch_bytes;
    request->flops = kernel.flops;
    request->bytes = kernel.bytes;
  } else {
    request->scratch_bytes = scalars[shape[4]];
    request->flops = scalars[shape[5]];
    request->bytes = scalars[shape[6]];
  }
}
// The numbers of the launch are others than the last time: whether they are what the kernel's contract wants,
// and how many bytes of each buffer go with them, which is known where they are those before; false after
// Fail.
[[gnu::noinline]] bool CheckNumbers(Machine& m, const uint32_t* pc, const KernelSpec& kernel,
                                    const LaunchRequest& request, const uint32_t* scalars);
// The same, at once where the numbers are those of the last launch of the kernel. `check` has a contract.
inline bool Fulfils(Machine& m, const uint32_t* pc, const KernelSpec& kernel, const LaunchCheck& check,
                    const LaunchRequest& request, const uint32_t* scalars) {
  const int64_t* values = check.last.values;
  bool same = values[LaunchContract::kGrid] == request.grid[0] && values[1] == request.grid[1] &&
              values[2] == request.grid[2] && values[LaunchContract::kScratch] == request.scratch_bytes;
  values += LaunchContract::kFirstScalar;
  for (uint32_t i = 0; same && i < scalars[0]; ++i) same = values[i] == m.frames.scalars[scalars[1 + i]];
  return same || CheckNumbers(m, pc, kernel, request, scalars);
}
void ObserveLaunch(Machine& m, const uint32_t* pc, const LaunchRequest& request, int64_t begin_ns);
// Work that was stopped: the machine knows whether by cancel or by the deadline.
const uint32_t* FailWork(Machine& m, const uint32_t* pc, const Error& error);

}  // namespace tvmvm
