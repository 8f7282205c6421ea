// A model ready to run: from a packaged .vmexe, or from ONNX, compiled in memory.
#pragma once

#include <memory>
#include <string>

#include "bytecode/program.h"
#include "cli/options.h"
#include "vm/vm.h"

namespace tvmvm::cli {

using ProgramPointer = std::shared_ptr<const Program>;

bool IsOnnxFile(const std::string& path);  // by its ending, ".onnx"

// Compiles with a progress line and prints the warnings as notes. `program` is null when options.stop_after
// ended it.
Expected<CompileResult> CompileWithProgress(const std::string& path, CompileOptions options);
// Loads a .vmexe, or compiles an .onnx; `keep_all_values` as in CompileOptions.
Expected<ProgramPointer> LoadModel(const ModelArguments& model, bool keep_all_values = false);
// As SaveProgram; what exists and is not a regular file (/dev/null) is written to, not replaced.
Status SaveModel(const Program& program, const std::string& path);
// Binds the program to this machine; opens the compiler library only for a program that holds nothing but
// bitcode for it.
Expected<std::shared_ptr<Vm>> CreateVm(ProgramPointer program, int threads);

}  // namespace tvmvm::cli
