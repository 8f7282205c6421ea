// Signatures as a person reads them, and the inputs that a run is given for one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bytecode/program.h"
#include "cli/options.h"
#include "vm/tensor.h"

namespace tvmvm::cli {

// "f32[batch, 3, ?]", "sequence<f32[?]>"
std::string FormatType(const TypeSpec& type);
// "f32[2, 3]"
std::string FormatType(const Tensor& tensor);
// "[0.1, 0.2, 0.3, ...]", at most `limit` elements.
std::string FormatValues(const Tensor& tensor, int64_t limit);

// One tensor for each input of `main`, in order: read from files or made at random as `arguments` say; with
// no inputs given all are made. Errors name the input, what was found and what is wanted.
Expected<std::vector<Tensor>> MakeInputs(const FunctionSpec& main, const InputArguments& arguments);

// Reads a tensor for a parameter from a .npy or .pb file, by the file name's ending.
Expected<Tensor> ReadTensorFile(const std::string& path, DType wanted);

}  // namespace tvmvm::cli
