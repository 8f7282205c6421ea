// Elements of two and four bits: packed in programs, one in a byte in NumPy.
#pragma once

#include "tvm-vm/tensor.h"

namespace tvmvm::python {

// `bytes` has the packed type's dtype, and memory of a byte for each element.
Tensor PackSubBytes(const Tensor& bytes);
// The other way: a tensor of bytes (kU8), in which negative integers have their sign.
Expected<Tensor> UnpackSubBytes(const Tensor& packed);

}  // namespace tvmvm::python
