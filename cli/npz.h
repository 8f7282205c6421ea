// NumPy's .npz files: a zip archive of .npy files, stored or deflated.
#pragma once

#include <string>
#include <vector>

#include "tvm-vm/dtype.h"
#include "tvm-vm/status.h"
#include "tvm-vm/tensor.h"

namespace tvmvm::cli {

// The arrays in the order of the archive, whatever their names are; numpy.savez writes its arguments in
// order. `wanted` as for ReadNpy. Nothing is unpacked beyond what an entry's header tells of; with
// `max_bytes`, no entry that makes all of them larger than that. Errors name the archive and the entry.
Expected<std::vector<Tensor>> ReadNpz(const std::string& path, DType wanted = DType::kInvalid,
                                      int64_t max_bytes = 0);
// Their names, without .npy; in the order of the archive.
Expected<std::vector<std::string>> ArraysInNpz(const std::string& path);
// The array of that name. Errors: as above, kNotFound.
Expected<Tensor> ReadNpzArray(const std::string& path, const std::string& name,
                              DType wanted = DType::kInvalid, int64_t max_bytes = 0);

}  // namespace tvmvm::cli
