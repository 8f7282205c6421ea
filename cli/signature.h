// The inputs that a run is given for a signature.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cli/json.h"
#include "cli/options.h"
#include "tvm-vm/program.h"
#include "tvm-vm/value.h"

namespace tvmvm::cli {

// What is to be said of inputs that were made.
struct InputReport {
  std::map<std::string, int64_t> assumed;  // dims that nobody told, and what they were taken for
  std::set<std::string> used, unused;      // those of --dim
};
// "assumed for inputs that are made: batch = 1", "--dim seq has no effect: ..."
std::vector<std::string> NotesOf(const InputReport& report);

// One value for each input of `main`, in order: read from files, told or made at random as `arguments` say;
// with no inputs given all are made. `max_bytes`: of what is unpacked, and of what is made; 0: any. Errors
// name the input, what was found and what is wanted.
Expected<std::vector<Value>> MakeInputs(const FunctionSpec& main, const InputArguments& arguments,
                                        int64_t max_bytes = 0, InputReport* report = nullptr);

// "x: f32[2, 3], mask: bool[2]"
std::string FormatInputs(const FunctionSpec& main, std::span<const Value> inputs);
// [{"name": "x", "dtype": "f32", "shape": [2, 3]}]
Json DescribeInputs(const FunctionSpec& main, std::span<const Value> inputs);

}  // namespace tvmvm::cli
