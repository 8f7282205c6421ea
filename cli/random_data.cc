#include "cli/random_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

Status MakeIntegers(Generator& generator, const ValueRange& range, Tensor* tensor) {
  const auto low = static_cast<int64_t>(std::ceil(range.low)),
             high = static_cast<int64_t>(std::ceil(range.high));
  auto refuse = [&] {
    return MakeError(Code::kInvalidArgument,
                     fmt::format("{} has not all integers from {} up to, but without, {}",
                                 DTypeName(tensor->dtype()), range.low, range.high));
  };
  constexpr double kFarthest = 0x1p62;
  if (std::abs(range.low) > kFarthest || std::abs(range.high) > kFarthest || low >= high) return refuse();
  if (tensor->element_count() == 0) return {};
  for (int64_t end : {low, high - 1}) {
    WriteInteger(*tensor, 0, end);
    if (ReadInteger(*tensor, 0) != end || (end < 0 && IsUnsignedInteger(tensor->dtype()))) return refuse();
  }
  for (int64_t i = 0; i < tensor->element_count(); ++i)
    WriteInteger(*tensor, i, low + generator.NextBelow(high - low));
  return {};
}

Expected<Tensor> MakeInRange(Generator& generator, DType dtype, const Shape& shape, const ValueRange& range) {
  if (dtype == DType::kString) return MakeError(Code::kInvalidArgument, "strings have no range");
  TVMVM_TRY(Tensor tensor, Tensor::Allocate(dtype, shape));
  if (!IsFloat(dtype) && !IsComplex(dtype)) {
    TVMVM_CHECK_OK(MakeIntegers(generator, range, &tensor));
    return tensor;
  }
  const double middle = (range.low + range.high) / 2, half = (range.high - range.low) / 2;
  for (int64_t i = 0; i < tensor.element_count(); ++i)
    WriteFloat(tensor, i, middle + half * generator.NextFloat());
  return tensor;
}

}  // namespace

Expected<Tensor> MakeRandomTensor(DType dtype, const Shape& shape, uint64_t seed,
                                  const std::optional<ValueRange>& range) {
  Generator generator(seed);
  if (range) return MakeInRange(generator, dtype, shape, *range);
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
