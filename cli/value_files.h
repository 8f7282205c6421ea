// Values as files. A tensor is a .npy or .pb file, or, of strings, a .json file of nested lists; a sequence
// is a folder whose files 0.npy, 1.npy, ... are its elements, an .npz or .pb file; an optional without
// element is a .json file that holds null.
#pragma once

#include <string>

#include "tvm-vm/program.h"
#include "tvm-vm/value.h"

namespace tvmvm::cli {

// Reads what a parameter of this type is given. Errors name the path, what was found and what is wanted.
// `max_bytes`: of what is unpacked; 0: any.
Expected<Value> ReadValueFile(const std::string& path, const TypeSpec& wanted, int64_t max_bytes = 0);

// Writes beside one another `stem`.npy, `stem`.json or the folder `stem`; the path that it took.
Expected<std::string> WriteValueFile(const std::string& stem, const Value& value);

}  // namespace tvmvm::cli
