// Program: what a compiled model is. Immutable once built, shared by threads and VMs; addressed by ids.
//
// A Program is made by Builder (builder.h), by the assembler, or by loading a .vmexe (serializer/). All three
// verify it; whoever holds a Program may trust every index, type and jump in it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tvm-vm/dtype.h"
#include "tvm-vm/export.h"
#include "tvm-vm/ids.h"
#include "tvm-vm/target_info.h"

namespace tvmvm {

// A dimension in a signature: a number, or a symbol shared between inputs, or neither (unknown until run).
struct DimSpec {
  int64_t value = -1;  // >= 0: fixed
  std::string
      symbol;       // for value < 0: a symbolic expression such as "n" or "n*4+1"; empty: unknown until run
  int64_t low = 0;  // bounds of the symbol where the model or --dim gave them
  int64_t high = INT64_MAX;
  friend bool operator==(const DimSpec&, const DimSpec&) = default;
};

enum class ValueKind : uint8_t { kTensor = 0, kSequence = 1, kOptional = 2, kTuple = 3 };

// The type of a function's parameter or result.
struct TypeSpec {
  ValueKind kind = ValueKind::kTensor;
  DType dtype = DType::kInvalid;   // tensors
  bool has_rank = true;            // tensors: false when even the rank is unknown
  std::vector<DimSpec> dims;       // tensors
  std::vector<TypeSpec> elements;  // sequence, optional: one; tuple: any number
  friend bool operator==(const TypeSpec&, const TypeSpec&) = default;
};

struct ParameterSpec {
  std::string name;
  TypeSpec type;
  friend bool operator==(const ParameterSpec&, const ParameterSpec&) = default;
};

// One instruction's origin. Sorted by `word`; covers all words up to the next entry's.
struct LineEntry {
  uint32_t word = 0;  // index of the first instruction word
  StringId node;      // name of the source node, "/layer.0/attention/MatMul (MatMul)"
};

// Parameters arrive in registers 0, 1, ... of each file, in order: scalars in the scalar file, references in
// the other.
struct FunctionSpec {
  std::string name;
  std::vector<ParameterSpec> inputs;   // reference parameters
  std::vector<ParameterSpec> outputs;  // reference results
  uint32_t scalar_inputs = 0;          // scalar parameters (functions called from bytecode only)
  uint32_t scalar_outputs = 0;
  uint32_t scalar_registers = 0;  // size of the frame's scalar file
  uint32_t ref_registers = 0;     // size of the frame's reference file
  uint32_t slots = 0;             // of the frame: places of plans' values
  // Numbers of the inputs and outputs that may stay in the memory of a device of the run, counting up: inputs
  // that are only copied from, element by element read or asked for their dims; outputs that are made once,
  // only copied to, and returned.
  std::vector<uint32_t> device_inputs, device_outputs;
  std::vector<uint32_t> code;
  std::vector<LineEntry> lines;
};

// What a kernel does with a buffer. kReadAligned: it reads, and the buffer begins at a multiple of
// kArgumentAlignment bytes; the VM sees to that on GPUs.
enum class Access : uint8_t { kRead = 0, kWrite = 1, kReadWrite = 2, kReadAligned = 3 };
inline constexpr int64_t kArgumentAlignment = 16;
constexpr bool IsWritten(Access access) { return access == Access::kWrite || access == Access::kReadWrite; }

struct KernelSpec {
  std::string name;                        // unique; "fused.exp_add.12"
  std::string symbol;                      // the function's symbol in each kernel library that holds it
  DeviceClass device = DeviceClass::kCpu;  // launches name the queue of a device of the class
  uint32_t scalar_count = 0;               // scalar arguments of a launch
  std::vector<Access> buffers;             // one for each buffer argument
  // What the address of each is a multiple of, up to 16; empty: nobody says (files before 1.2).
  std::vector<uint8_t> alignments;
  // Of a launch that does not give its own: bytes that each worker of a CPU has for itself, and the work of
  // the whole launch, for profiles and for deciding on threads.
  int64_t scratch_bytes = 0;
  int64_t flops = 0;
  int64_t bytes = 0;                        // of memory traffic
  std::vector<std::string> error_messages;  // message for the return codes 1, 2, ...
  std::string source_node;                  // name(s) of the source nodes that it computes
  // What a launch must fulfil so that the kernel stays within its buffers, checked at each launch:
  // "scratch bytes; bytes of buffer 0; ...; conditions", over the grid x, y, z and the scalars s0, s1, ...
  // (bytecode/launch_contract.h). Empty: nobody says, and nothing is checked.
  std::string contract;
};

// A device that functions use. Its number, the position in Program::devices, names its queue.
struct DeviceSpec {
  DeviceClass device_class = DeviceClass::kCpu;
  uint32_t ordinal = 0;  // among those of its class that a Vm is given, in the order in which it is
  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};
inline constexpr uint32_t kHostDevice = 0;  // the number of the CPU that the VM itself runs on
inline constexpr uint32_t kMaxDevices = 64;
// "cpu", "gpu"; of further ones "gpu:1"
TVMVM_EXPORT std::string DeviceSpecName(const DeviceSpec& device);

// The function that runs in place of the entry, and has its signature, where a Vm has such devices.
struct DeviceEntry {
  FunctionId function;
  std::vector<uint32_t> devices;  // their numbers, those that are preferred first
};

// What each is stands in bytecode/device_kinds.def.
enum class KernelForm : uint8_t { kSharedObject = 0, kBitcode = 1, kOpenClC = 2, kSpirV = 3 };

// Compiled kernels for one target, all of a program's kernels for that target in one blob.
struct KernelLibrarySpec {
  DeviceKind device = DeviceKind::kCpu;
  KernelForm form = KernelForm::kSharedObject;
  std::string target;                // CPU: a level's name, "x86-64-v3"
  std::span<const std::byte> bytes;  // owned by the Program's storage
};

// Where a constant's elements stand in another one of its dtype, which holds them in panels of 16 columns, as
// CPU kernels read matrices. The elements lie row-major over the axes; the one at some indices is number
//   first + column / 16 * panel + column % 16
// there; column is the sum of index * step over the axes that are columns, first that over the others.
struct PanelPlace {
  static constexpr int64_t kColumns = 16;
  struct Axis {
    int64_t extent, step;
    bool is_columns;
  };

  ConstantId constant;           // that has the bytes; none: the constant has its own
  int64_t panel = 0;             // elements from a panel to the next
  std::vector<int64_t> numbers;  // extent, step and 1 for columns of each axis, outermost first

  size_t axes() const { return numbers.size() / 3; }
  Axis axis(size_t k) const { return {numbers[3 * k], numbers[3 * k + 1], numbers[3 * k + 2] != 0}; }
  void Add(const Axis& axis) {
    numbers.insert(numbers.end(), {axis.extent, axis.step, int64_t{axis.is_columns}});
  }
};

// A constant tensor.
struct ConstantSpec {
  std::string name;
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
  // 64-byte aligned, read-only, owned by the Program's storage; empty for strings and where there is a place
  std::span<const std::byte> bytes;
  std::vector<std::string> strings;  // kString only
  // Only launches on devices other than the host's CPU read a constant that has one; it is made when it is
  // copied there.
  PanelPlace place;

  bool has_place() const { return place.constant.valid(); }
};

// Lifetimes of the values of one arena, for the planner: value k is alive over [first, last], both positions
// included. A plan instruction gives the sizes; see allocator/planner.h.
struct PlanSpec {
  struct Interval {
    uint32_t first = 0;
    uint32_t last = 0;
    uint32_t alignment = 64;  // power of two, bytes
  };
  std::vector<Interval> values;
};

struct Provenance {
  std::string producer;       // "tvm-vm 0.1.0"
  std::string source;         // file name of the model, no folders
  std::string source_digest;  // xxh3-128 of the model file, hex
  std::string options;        // the compile options that matter, as given
};

class DerivedCache;

class TVMVM_EXPORT Program {
 public:
  Program();

  // What the builder and the loader fill in; public data because a Program is only ever handed out as const.
  std::vector<FunctionSpec> functions;
  std::vector<KernelSpec> kernels;
  std::vector<KernelLibrarySpec> libraries;
  std::vector<ConstantSpec> constants;
  std::vector<PlanSpec> plans;
  std::vector<std::string> strings;  // messages and source node names
  // The first is the host's CPU.
  std::vector<DeviceSpec> devices = {{DeviceClass::kCpu, 0}, {DeviceClass::kGpu, 0}};
  FunctionId entry;                         // the function that Invocation::Run runs
  std::vector<DeviceEntry> device_entries;  // those that run instead
  Provenance provenance;
  std::vector<std::shared_ptr<const void>> storage;  // keeps mapped files and owned blobs alive
  // What VMs make from the program and share; the one part that changes, and nobody sees it.
  std::shared_ptr<DerivedCache> derived;

  std::optional<FunctionId> FindFunction(std::string_view name) const;
  const FunctionSpec& function(FunctionId id) const { return functions[id.index]; }
  const FunctionSpec& main() const { return functions[entry.index]; }
  // The source node of an instruction word, or "" where the line table has none.
  std::string_view SourceNode(const FunctionSpec& function, uint32_t word) const;
};

}  // namespace tvmvm
