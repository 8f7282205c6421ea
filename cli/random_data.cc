#include "cli/random_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/elements.h"

namespace tvmvm::cli {
namespace {

// SplitMix64: a counter and three mixing steps.
class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [-1, 1), a multiple of 2^-23.
  double NextFloat() { return static_cast<double>(Next() >> 40) * 0x1p-23 - 1.0; }
  int64_t NextBelow(int64_t count) { return static_cast<int64_t>(Next() % static_cast<uint64_t>(count)); }

 private:
  uint64_t state_;
};

int64_t NextInteger(Generator& generator, DType dtype) {
  if (dtype == DType::kBool || DTypeBits(dtype) >= 32) return generator.NextBelow(2);
  int64_t count = std::min<int64_t>(16, int64_t{1} << DTypeBits(dtype));
  return generator.NextBelow(count) - (IsSignedInteger(dtype) ? count / 2 : 0);
}

}  // namespace

Expected<Tensor> MakeRandomTensor(DType dtype, const Shape& shape, uint64_t seed) {
  Generator generator(seed);
  if (dtype == DType::kString) {
    std::vector<std::string> strings(shape.ElementCount().value_or(0));
    for (std::string& text : strings) text = fmt::format("s{}", generator.NextBelow(10));
    return Tensor::FromStrings(shape, std::move(strings));
  }
  TVMVM_TRY(Tensor tensor, Tensor::Allocate(dtype, shape));
  int64_t count = tensor.element_count();
  if (dtype == DType::kF32) {  // the common case, quickly
    float* values = static_cast<float*>(tensor.data());
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(generator.NextFloat());
    return tensor;
  }
  for (int64_t i = 0; i < count; ++i) {
    if (IsFloat(dtype) || IsComplex(dtype)) {
      WriteFloat(tensor, i, generator.NextFloat());
    } else {
      WriteInteger(tensor, i, NextInteger(generator, dtype));
    }
  }
  return tensor;
}

}  // namespace tvmvm::cli
