// NumPy's .npy files, format versions 1 to 3.
//
// How element types that NumPy does not have are stored (as numpy.save stores arrays of the ml_dtypes
// package):
//   bf16 '<V2' · f8e5m2 '<f1' · the other f8 types, f6e2m3, f6e3m2, f4e2m1, i4, u4, i2, u2 '|V1' with one
//   element a byte
// Strings are '<U...' arrays ('|S...' where they are not valid UTF-8).
#pragma once

#include <span>
#include <string>

#include "cli/files.h"
#include "tvm-vm/dtype.h"
#include "tvm-vm/status.h"
#include "tvm-vm/tensor.h"

namespace tvmvm::cli {

// Big-endian and Fortran-order arrays are converted. `wanted` tells what a '|V1' or '<V2' array holds, and
// lets plain integers stand for sub-byte ones where they fit; it converts nothing else. Errors:
// kInvalidArgument or kUnsupported with the path and what was found.
Expected<Tensor> ReadNpy(const std::string& path, DType wanted = DType::kInvalid);
Expected<Tensor> ReadNpy(const InputFile& file, DType wanted = DType::kInvalid);
// The size of the whole file that begins so, by its header. Errors: as above.
Expected<int64_t> NpyFileBytes(const InputFile& beginning, DType wanted = DType::kInvalid);
Status WriteNpy(const std::string& path, const Tensor& tensor);

}  // namespace tvmvm::cli
