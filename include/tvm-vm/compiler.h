// The compiler as a library: an ONNX model in, a Program out. The tool opens libtvm-vm-compiler at run time
// and gets this interface from tvmvm_compiler(); a program that links the library calls GetCompiler().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tvm-vm/device.h"
#include "tvm-vm/export.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"

namespace tvmvm {

// A fact about a symbolic dimension of the inputs.
struct DimBound {
  int64_t low = 0;
  int64_t high = INT64_MAX;  // low == high fixes the dimension
};

// What numbers of type f32 may be kept in.
enum class Precision {
  kF32,
  kF16,  // on GPUs, where products read them; every operator computes in f32 or better
};

// How large constant weights of products, and tables that rows are gathered from, are kept.
enum class WeightStorage {
  kAsGiven,
  kInt8,  // codes of 8 bits with a scale, and perhaps a zero point, for each block of them
  kInt4,  // those in 4 bits that bear it, the others in 8 (docs/embedding.md)
};

struct CompileOptions {
  // In order of preference: "cpu", "opencl", "vulkan", "null"; what follows a ':' picks one of several when a
  // program runs. With a GPU the program runs on the CPU alone and with one, on each of the APIs named; with
  // several ("vulkan:0", "vulkan:1") also divided among as many.
  std::vector<std::string> devices = {"cpu"};
  bool strict = false;           // with a GPU: an error where something would run on the CPU
  bool prefer_gpu = false;       // with a GPU: small models run there, too, though the CPU alone is faster
  bool print_placement = false;  // with a GPU: what runs where, and why
  Precision precision = Precision::kF32;            // of the GPUs' code; the CPU's is f32
  WeightStorage weights = WeightStorage::kAsGiven;  // everything is computed in f32 whatever it is
  std::vector<std::string> targets;  // CPU levels: "host", "x86-64-v3", ...; empty: x86-64-v3 and x86-64-v4,
                                     // and x86-64-v4-vnni where products of bytes gain by it
  bool bitcode = false;              // also pack LLVM bitcode
  bool keep_all_values = false;      // every intermediate value becomes an output (run --dump)
  // Names of nodes and of values that become outputs, behind the model's own; in bodies of loops they are
  // collected, an element for each step, under their names with "_steps" (run --dump NAME).
  std::vector<std::string> keep_values;
  bool trace_values = false;  // the program tells a TraceObserver what each step makes
  std::map<std::string, DimBound> dims;
  bool distinct_dims = false;  // dims of the inputs that have one name may differ in a call
  // Inputs whose memory an output takes, by names: the caller may hand over an input's memory with room for
  // the output, which is written there. Both are tensors of one element type, alike along all axes but one.
  std::vector<std::pair<std::string, std::string>> donate;
  // Bytes that a run on the CPU may hold, weights apart, at the largest sizes of `dims`; 0: as many as it is
  // fastest with. Nodes run later, again or in stretches until the plan fits, which takes time
  // (MemoryReport). Errors: kOutOfMemory with the least that was reached; kInvalidArgument naming a dim
  // without an upper end.
  int64_t memory_budget = 0;
  bool strict_onnx = false;  // a model that breaks ONNX's rules is an error where it else is a warning
  std::vector<std::string> print_after;      // pass names, or "all"
  std::vector<std::string> disabled_passes;  // optional passes that do not run, or "all" of them
  std::string stop_after;                    // pass name; then no Program is made
  std::string schedules;  // overrides of what the compiler chooses, as docs/schedules.md says
  std::string schedules_name = "schedules";  // of the file that holds them, for messages
  bool verify_passes = false;  // what each pass leaves is checked, as builds without NDEBUG always do
  bool time_passes = false;
  int threads = 0;         // for code generation; 0: all that the process may use
  std::string model_name;  // for messages and provenance; empty: taken from the path
  // Both may be empty. Called on the compiling thread.
  std::function<void(const std::string& stage, double fraction)> progress;
  // Receives what print_after, print_placement and time_passes ask for.
  std::function<void(const std::string& text)> print;
};

// What CompileOptions::weights made of a constant.
struct WeightReport {
  std::string node;  // that reads it: "name (OpType)"
  std::string name;  // of the constant, where it has one
  std::vector<int64_t> dims;
  int bits = 0;       // of a code
  int64_t block = 0;  // numbers with one scale
  bool has_zero_points = false;
  int64_t bytes_before = 0, bytes = 0;
  double relative_error = 0;  // root mean square of the errors by that of the numbers
  double largest_error = 0;   // by the largest number
};

// What CompileOptions::memory_budget made of the plan, all of it at the largest sizes of dims.
struct MemoryReport {
  int64_t budget_bytes = 0;             // 0: there was none
  int64_t bytes_before = 0, bytes = 0;  // that a run holds: MemoryForecast::peak_bytes
  double time = 1, flops = 1,
         traffic = 1;                // estimates, as parts of those before; traffic: bytes read and written
  std::vector<std::string> changes;  // what is done otherwise, a line each
};

struct CompileResult {
  std::shared_ptr<const Program> program;  // null when stop_after ended the pipeline
  std::vector<std::string> warnings;       // what was assumed of the model, and what is worth knowing
  std::vector<WeightReport> weights;       // with CompileOptions::weights, in the order of the model
  MemoryReport memory;                     // with CompileOptions::memory_budget
  std::vector<std::string> kept_values;    // the outputs that CompileOptions::keep_values are
  // What was chosen for each kernel, as a text that CompileOptions::schedules takes: it gives this program.
  std::string schedules;
  // What the compiler did, counted, by names for people: the same on every machine.
  std::vector<std::pair<std::string, int64_t>> work;
};

// A row of the operator table: what an operator takes in a range of versions of its domain.
struct OperatorInfo {
  std::string domain;  // "" is ai.onnx
  std::string name;
  int since = 1;
  std::optional<int> until;        // none: any newer one
  std::vector<std::string> types;  // element types and sets of them (ElementTypeSets)
  int types_of = 0;                // the input that they are about; -1: the first output
  std::vector<std::string> devices;
};

// An operator that another runtime has and this compiler has not.
struct MissingOperatorInfo {
  std::string domain;
  std::string name;
  std::string reason;
};

// A named set of element types.
struct ElementTypeSet {
  std::string name;
  std::vector<DType> types;
};

// An operator that a model has, and how often.
struct OperatorUse {
  std::string domain;
  std::string name;
  int64_t version = 0;  // 0: the model does not say
  int64_t count = 0;
  std::string problem;  // why it is not supported; empty: it is
};

// A node as the model has it, with the graphs that its attributes hold.
struct GraphInfo;
struct NodeInfo {
  std::string name, domain, op;              // domain: "" is ai.onnx
  std::vector<std::string> inputs, outputs;  // "": absent
  std::vector<GraphInfo> graphs;
};

struct GraphInfo {
  std::string name;  // of a node's attribute: "then_branch", "body"
  std::vector<std::string> inputs, outputs;
  std::vector<NodeInfo> nodes;
};

// What an ONNX model says of itself.
struct ModelInfo {
  int64_t ir_version = 0;
  std::string producer, graph;
  std::vector<std::pair<std::string, int64_t>> opsets;  // domain ("" is ai.onnx), version
  std::vector<ParameterSpec> inputs, outputs;           // as declared; without a type where none is
  int64_t nodes = 0;                                    // of the outermost graph
  int64_t functions = 0;
  int64_t weights = 0, weight_bytes = 0;
  std::vector<OperatorUse> operators;
  GraphInfo outline;  // without weights
};

class TVMVM_EXPORT Compiler {
 public:
  virtual ~Compiler() = default;
  // The model is ONNX, or the graph IR's text form (graph/printer.h). Errors: kInvalidArgument (malformed
  // model; place and reason), kUnsupported (every unsupported operator and attribute of the model at once),
  // kNotFound.
  virtual Expected<CompileResult> CompileFile(const std::string& path,
                                              const CompileOptions& options) const = 0;
  virtual Expected<CompileResult> CompileBytes(std::span<const std::byte> model,
                                               const CompileOptions& options) const = 0;
  virtual std::vector<std::pair<std::string, std::string>> Passes() const = 0;  // name, purpose
  virtual std::vector<OperatorInfo> Operators() const = 0;                      // by domain, name and version
  // Of the domains of ONNX Runtime, what runs on its CPU; by domain and name.
  virtual std::vector<MissingOperatorInfo> MissingOperators() const = 0;
  virtual std::vector<ElementTypeSet> ElementTypeSets() const = 0;
  // What an ONNX model needs, in its subgraphs and functions too; it need not be one that compiles. Errors:
  // kInvalidArgument, kNotFound.
  virtual Expected<std::vector<OperatorUse>> OperatorsOf(const std::string& path) const = 0;
  virtual std::shared_ptr<KernelJit> CreateJit() const = 0;
  // Reads an ONNX model without compiling it. Errors: kInvalidArgument, kNotFound, kIo.
  virtual Expected<ModelInfo> DescribeFile(const std::string& path) const = 0;
};

TVMVM_EXPORT const Compiler& GetCompiler();

}  // namespace tvmvm

extern "C" {
// What the library is: TVMVM_VERSION of its own. Asked first: the rest of another version cannot be called.
TVMVM_EXPORT uint32_t tvmvm_compiler_version();
TVMVM_EXPORT const tvmvm::Compiler* tvmvm_compiler();
}
