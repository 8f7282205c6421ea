// What a run will hold of memory, computed from a program and the sizes of its dimensions before anything
// runs: no kernel is loaded, no weight is read, no device is asked.
//
// A forecast counts what Invocation::peak_bytes counts: arenas and tensors of the program, its outputs among
// them (a caller who gives memory for the outputs has them in his own account). Where neither a size nor a
// branch depends on data, it is exact, to the byte. Where one does, it is a range; a size that nothing bounds
// has no upper end, and `reasons` says which node makes it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tvm-vm/export.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"

namespace tvmvm {

// The sizes that a dimension may have; both ends are included.
struct DimRange {
  int64_t low = 0;
  int64_t high = 0;
};
// By the symbol's name ("seq"), or, where a dimension has none, by its place: "INPUT[AXIS]", as in "x[0]".
using DimRanges = std::map<std::string, DimRange>;

struct ByteRange {
  static constexpr int64_t kUnbounded = INT64_MAX;
  int64_t low = 0;
  int64_t high = 0;  // kUnbounded: nothing bounds it
  bool is_exact() const { return low == high && is_bounded(); }
  bool is_bounded() const { return high != kUnbounded; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// A run of bytes that the program makes: a value of a stage's arena, or a tensor of its own.
struct ForecastValue {
  std::string node;     // that makes it, as the model names it; of an output also "output 'y'"
  int32_t stage = -1;   // in whose arena it lies, of MemoryForecast::stages; -1: a tensor of its own
  uint32_t device = 0;  // its number in the program, 0: the host
  ByteRange bytes;
  int64_t offset = 0;      // in the stage's arena, at the upper ends; -1 where these have none
  uint32_t first = 0;      // it is alive from this position on the time line of the entry function ...
  uint32_t last = 0;       // ... to this one, which is included
  bool is_output = false;  // of the program, and no tensor that lies in an arena
};

// One plan instruction: values whose sizes are known at one point of the program, in one arena; those of a
// later stage lie in the arenas of earlier ones, too.
struct ForecastStage {
  std::string function;
  std::string node;  // where the instruction stands; empty where the line table has none
  uint32_t device = 0;
  int64_t values = 0;
  ByteRange bytes;         // of the arena, at the sizes' ends; 0: all lie in earlier ones
  ByteRange lower_bound;   // the most that is alive at once: no placement needs less
  bool is_certain = true;  // every run comes here
};

struct ForecastDevice {
  uint32_t device = 0;  // its number in the program
  std::string name;     // "cpu", "gpu", "gpu:1"
  ByteRange peak_bytes, lower_bound_bytes;
  int64_t constant_bytes = 0;  // the host's: in the file's pages; a GPU's: copied there once for all VMs
};

struct MemoryForecast {
  // As Invocation::peak_bytes after a run without memory for outputs, but for donated ones.
  ByteRange peak_bytes;
  // The largest set of values alive at once; sizes in arenas are aligned. Outputs count throughout: they are
  // the caller's, and no other value can lie in their memory. Never above the peak.
  ByteRange lower_bound_bytes;
  ByteRange output_bytes;  // the part that the program's output tensors are
  // Beside the peak: outputs whose memory the caller donates with an input. A run that is given none makes
  // them itself.
  ByteRange donated_bytes;
  ByteRange scratch_bytes;     // beside that: what each thread of the CPU has for the hungriest kernel
  int64_t register_bytes = 0;  // beside that: registers of all functions, each once
  int64_t constant_bytes = 0;  // all constants in the file
  std::vector<ForecastDevice> devices;  // those that the program uses, the host first
  std::vector<ForecastStage> stages;    // in the order of the code
  std::vector<ForecastValue> values;    // those of all stages, then tensors
  uint32_t positions = 0;               // length of the time line
  std::vector<std::string> reasons;     // why a range has no upper end; one line each
};

// Follows the program's entry function and all that it calls, with the given sizes. A dimension that is not
// given takes the bounds that the program has for it. `gpus`: how many GPUs stand in front of the CPU, as in
// VmOptions::devices. What depends on data is followed both ways; loops are followed until their turns are
// alike. Any thread may call; nothing is kept. Takes some hundred microseconds for a model of a hundred
// kernels. Errors: kInvalidArgument naming the dimensions that are missing, unknown, negative or outside of
// the program's bounds, or the instruction where sizes leave 64 bits; kUnsupported where a program is too
// large or its loops too tangled to be followed.
[[nodiscard]] TVMVM_EXPORT Expected<MemoryForecast> ForecastMemory(const Program& program,
                                                                   const DimRanges& dims, size_t gpus = 0);

// The names that ForecastMemory wants sizes for, in the order of the inputs.
TVMVM_EXPORT std::vector<std::string> ForecastDims(const Program& program);

}  // namespace tvmvm
