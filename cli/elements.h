// Single elements of a tensor, whatever its element type: for printing, comparing and making data; not for
// speed.
#pragma once

#include <complex>
#include <cstdint>
#include <string>

#include "tvm-vm/tensor.h"

namespace tvmvm::cli {

// All take a flat index in [0, element_count()).
double ReadFloat(const Tensor& tensor, int64_t index);                  // floating-point types
std::complex<double> ReadComplex(const Tensor& tensor, int64_t index);  // complex types
// Integers and bools; u64 comes as the i64 of the same bits.
int64_t ReadInteger(const Tensor& tensor, int64_t index);
void WriteFloat(Tensor& tensor, int64_t index, double value);  // rounded to the nearest of the type; NaN kept
void WriteInteger(Tensor& tensor, int64_t index, int64_t value);  // low bits
// A tensor of that shape, all of whose elements are that of `element`.
Expected<Tensor> FilledTensor(const Tensor& element, const Shape& shape);
// "1.5", "-3", "true", "\"text\"", "(1+2j)"
std::string FormatElement(const Tensor& tensor, int64_t index);

}  // namespace tvmvm::cli
