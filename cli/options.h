// What each command was asked to do, as plain data, and the small languages inside option values. main.cc
// fills these from the command line; nothing else reads argv.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tvm-vm/compiler.h"
#include "tvm-vm/status.h"
#include "tvm-vm/trust.h"

namespace tvmvm::cli {

// "NAME=N", "NAME=LO..HI", "NAME=LO.." or "NAME=..HI"; 0 <= LO <= HI.
Expected<std::pair<std::string, DimBound>> ParseDim(std::string_view text);

// From `low` up to, but without, `high`.
struct ValueRange {
  double low = 0, high = 0;
};

// Where an input comes from: a file or folder (value_files.h), a value as text (json_values.h) or seeded
// random numbers.
struct InputSpec {
  std::string name;                          // empty: the next input in the order of the signature
  std::string path;                          // "-": standard input; empty: a literal, random, or absent
  std::string entry;                         // the array of an .npz file; empty: all of the file
  std::string literal;                       // "5", "[1, 2]"; empty: none
  bool absent = false;                       // an optional without element
  std::optional<std::vector<int64_t>> dims;  // random, or of a raw file: all dims as given; none: from the
                                             // signature and --dim
  std::optional<ValueRange> range;           // random
  std::string text;                          // all of it, as it was given
};
// "x.npy", "NAME=x.npy", "NAME=x.bin:4x128", "NAME=5", "NAME=[1,2]", "NAME=random", "NAME=random:4x128",
// "NAME=random:0..9", "NAME=random:4x128:0..9", "random:4x128", "NAME=none", "-". A text that names an
// existing file is a path even where it holds a '='. The name ends at the first '='; MakeInputs (signature.h)
// knows of names that hold one.
Expected<InputSpec> ParseInput(std::string_view text);
// The same with a name that is known.
Expected<InputSpec> ParseInput(std::string_view name, std::string_view value);

// "INPUT=OUTPUT"
Expected<std::pair<std::string, std::string>> ParseDonation(std::string_view text);

struct Expectation {
  std::string name;  // empty: the next output in order
  std::string path;
};
Expected<Expectation> ParseExpectation(std::string_view text);

using DimBounds = std::map<std::string, DimBound>;

struct CompileArguments {
  std::string model;
  std::string output;
  CompileOptions options;
  bool print_weights = false;
  std::string schedule, write_schedule;  // files; empty: none
  bool json = false;
};

// Inputs of a run, as `run` and `bench` take them.
struct InputArguments {
  std::vector<InputSpec> inputs;
  DimBounds dims;
  uint64_t seed = 0;
};

// How an ONNX model is read, as in CompileOptions.
struct ImportArguments {
  bool strict_onnx = false;
  bool distinct_dims = false;
};

// Whose kernels run.
struct TrustArguments {
  Trust trust = Trust::kAny;
  std::vector<std::string> keys;  // files
  bool check_constants = false;
};

// How a model is loaded: the file, and how to compile it where it is ONNX.
struct ModelArguments {
  std::string path;
  std::vector<std::string> devices = {"cpu"};
  std::vector<std::string> targets = {"host"};
  Precision precision = Precision::kF32;
  ImportArguments import;
  int threads = 0;
  bool strict = false;  // what would run on the CPU beside a GPU is an error
  bool no_native = false;
  TrustArguments trust;
};

// What a run may take; 0: as much as it wants.
struct LimitArguments {
  int64_t max_bytes = 0;
  int64_t max_steps = 0;
  double timeout_seconds = 0;
};

struct RunArguments {
  ModelArguments model;
  InputArguments inputs;
  LimitArguments limits;
  std::string output_dir;
  std::vector<Expectation> expectations;
  std::optional<double> rtol, atol;
  std::string dump;  // a node's or value's name, or "all"; empty: none
  bool trace_values = false;
  bool sandbox = false;  // in a process that may do nothing else
  bool json = false;
};

struct BenchArguments {
  ModelArguments model;
  InputArguments inputs;
  LimitArguments limits;
  double seconds = 1.0;
  int64_t repeat = 0;       // > 0: this many runs, whatever they take
  int64_t warm_up = 1;      // runs between the first and the timed ones
  int clients = 1;          // that run at once
  int64_t memory_pool = 0;  // bytes that all clients share; 0: as much as each wants
  double pool_wait = 0;     // seconds that a run waits for them
  std::string shapes;       // file of shapes, one a line; empty: the one of `inputs`
  std::string times;        // file for the time of every run; empty: none
  bool resident = false;
  bool sandbox = false;  // in processes that may do nothing else
  bool profile = false;
  bool measure = false;  // the machine anew, for the profile
  std::string trace;     // file for a Chrome trace; empty: none
  bool json = false;
};

struct PlanArguments {
  ModelArguments model;
  DimBounds dims;
  std::string svg;   // file for a picture; empty: none
  std::string html;  // the same as a page
  bool json = false;
};

struct TestArguments {
  std::vector<std::string> folders;
  std::vector<std::string> devices = {"cpu"};
  bool strict = false;  // what would run on the CPU beside a GPU is an error
  std::vector<std::string> targets = {"host"};
  Precision precision = Precision::kF32;
  ImportArguments import;
  int jobs = 0;  // 0: one for each CPU
  double timeout_seconds = 60;
  int64_t max_bytes = 0;  // of one run; 0: as much as it wants
  int threads = 1;
  bool json = false;
};

struct InspectArguments {
  std::string path;
  std::string dot;  // empty: no picture
  bool json = false;
};

struct DisasmArguments {
  std::string path;
  std::string output;  // empty: standard output
  bool constants = false;
};

struct AsmArguments {
  std::string path;
  std::string output;
};

struct VerifyArguments {
  std::vector<std::string> paths;
  std::vector<std::string> keys;  // files; none: signatures do not count
  bool json = false;
};

struct KeygenArguments {
  std::string path;
};

struct SignArguments {
  std::string path, key;
  std::string output;  // empty: `path` is replaced
};

struct WarmArguments {
  std::string path;
  TrustArguments trust;
  std::vector<std::string> devices;
  bool json = false;
};

struct OpsArguments {
  std::string model;  // empty: the whole table
  bool json = false;
  bool markdown = false;
};

struct DevicesArguments {
  bool json = false;
};

struct VersionArguments {
  bool json = false;
};

}  // namespace tvmvm::cli
