// What tells contents apart, for people and scripts: digests (bytecode/digest.h) as hexadecimal digits.
#pragma once

#include <string>
#include <vector>

#include "tvm-vm/tensor.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::cli {

// Of a file, by the digests of its sections: equal files have equal ones, and no weight is read.
std::string FileDigest(const std::vector<SectionInfo>& sections);
// Of the elements' bytes; of strings, of each and the zero behind it.
std::string ElementsDigest(const Tensor& tensor);

}  // namespace tvmvm::cli
