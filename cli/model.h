// A model ready to run: from a packaged .vmexe, or from ONNX or graph IR text, compiled in memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/json.h"
#include "cli/options.h"
#include "tvm-vm/program.h"
#include "tvm-vm/vm.h"

namespace tvmvm::cli {

using ProgramPointer = std::shared_ptr<const Program>;

// By its ending: ".onnx", ".pb", or ".ir", the graph IR as text; and by what it begins with, which is not a
// program.
bool IsModelFile(const std::string& path);
// "a/b.onnx" -> "a/b.vmexe"
std::string ProgramNameFor(const std::string& model);
// kInvalidArgument where writing to `output` would replace the file that `input` is.
Status CheckOutput(const std::string& output, const std::string& input);

// Compiles with a progress line and prints the warnings as notes. `program` is null when options.stop_after
// ended it.
Expected<CompileResult> CompileWithProgress(const std::string& path, CompileOptions options);
// What a run wants to see of the values inside a model, as in CompileOptions.
struct ModelView {
  bool keep_all_values = false;
  bool trace_values = false;
  std::vector<std::string> keep_values;
};
// Loads a .vmexe, or compiles an .onnx, and says which. `kept`, if any, gets CompileResult::kept_values.
Expected<ProgramPointer> LoadModel(const ModelArguments& model, const ModelView& view = {},
                                   bool* is_compiled_here = nullptr,
                                   std::vector<std::string>* kept = nullptr);
// As SaveProgram; what exists and is not a regular file (/dev/null) is written to, not replaced; a symbolic
// link stays one, and "-" is standard output.
Status SaveModel(const Program& program, const std::string& path);
// Binds the program to this machine; opens the compiler library only for a program that holds nothing but
// bitcode for it. `options` say what is trusted.
Expected<std::shared_ptr<Vm>> CreateVm(ProgramPointer program, int threads,
                                       const std::vector<std::string>& devices = {"cpu"},
                                       VmOptions options = {});
// The same for what LoadModel gave: what was compiled here is not refused.
Expected<std::shared_ptr<Vm>> CreateVm(ProgramPointer program, const ModelArguments& model,
                                       bool is_compiled_here, std::shared_ptr<MemoryPool> memory = nullptr);
// Errors: kInvalidArgument where signatures are wanted and no key is named; those of ReadPublicKey.
Expected<VmOptions> TrustOf(const TrustArguments& trust);
// "12 kernels on vulkan:0 (SPIR-V), 2 on cpu (x86-64-v4 shared object)"
std::string DescribeDevices(const Vm& vm);
// The same for machines: a list of {name, kernels, form}.
Json DevicesToJson(const Vm& vm);
Limits LimitsOf(const LimitArguments& limits);

}  // namespace tvmvm::cli
