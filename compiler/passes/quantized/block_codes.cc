#include "compiler/passes/quantized/block_codes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "compiler/graph/tensor_elements.h"

namespace tvmvm::passes {
namespace {

// Ranges that are tried for few bits: the largest numbers of a block may be cut for the sake of all others.
constexpr float kShares[] = {1.0F, 0.95F, 0.9F, 0.85F, 0.8F, 0.74F};
// And zero points beside the first choice.
constexpr float kShifts[] = {0, -1, 1};
// Scales that f16 holds with all of its digits.
constexpr float kLeastHalf = 0x1p-14F, kMostHalf = 65504.0F;

// To the nearest integer, of numbers far below 2^22.
float Rounded(float number) {
  constexpr float kShift = 0x1.8p23F;
  return (number + kShift) - kShift;
}

float AsHalf(float scale) { return static_cast<float>(tensor::RoundFloat(DType::kF16, scale)); }

// How one block is written: number = (code - zero) * scale, codes from 0 on.
struct BlockScale {
  float scale = 0;
  float zero = 0;
  float inverse() const { return scale == 0 ? 0 : 1 / scale; }
};

float CodeOf(float number, const BlockScale& by, float inverse, float most) {
  return std::min(std::max(Rounded(number * inverse) + by.zero, 0.0F), most);
}

// Sums `term` of each number, several at once.
template <class Term>
float SumOf(std::span<const float> numbers, Term term) {
  constexpr size_t kLanes = 8;
  float sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= numbers.size(); i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += term(numbers[i + lane]);
  for (; i < numbers.size(); ++i) sums[0] += term(numbers[i]);
  float sum = 0;
  for (float lane : sums) sum += lane;
  return sum;
}

float ErrorOf(std::span<const float> numbers, const BlockScale& by, float most) {
  const float inverse = by.inverse();
  return SumOf(numbers, [&](float number) {
    const float error = (CodeOf(number, by, inverse, most) - by.zero) * by.scale - number;
    return error * error;
  });
}

// The scale that fits the codes best which another one gave.
BlockScale Fitted(std::span<const float> numbers, BlockScale by, float most) {
  const float inverse = by.inverse();
  auto step = [&](float number) { return CodeOf(number, by, inverse, most) - by.zero; };
  const float products = SumOf(numbers, [&](float number) { return step(number) * number; });
  const float squares = SumOf(numbers, [&](float number) { return step(number) * step(number); });
  if (squares > 0 && products != 0) by.scale = products / squares;
  return by;
}

// The code below the middle reaches one step further: the largest number gets that side.
BlockScale Symmetric(std::span<const float> numbers, float share, int bits) {
  float extreme = 0;
  for (float number : numbers)
    if (std::fabs(number) > std::fabs(extreme)) extreme = number;
  const auto middle = static_cast<float>(1 << (bits - 1));
  return {-extreme * share / middle, middle};
}

BlockScale Shifted(std::span<const float> numbers, float share, int bits) {
  float low = 0, high = 0;
  for (float number : numbers) low = std::min(low, number), high = std::max(high, number);
  const auto most = static_cast<float>((1 << bits) - 1);
  const float scale = (high - low) * share / most;
  if (scale == 0) return {0, 0};
  return {scale, std::clamp(Rounded(-low * share / scale), 0.0F, most)};
}

// One of the two ways to write all blocks.
struct Candidate {
  std::vector<uint8_t> codes, zeros;
  std::vector<float> scales;
  double error = 0;

  Candidate(int64_t count, int64_t blocks)
      : codes(static_cast<size_t>(count)),
        zeros(static_cast<size_t>(blocks)),
        scales(static_cast<size_t>(blocks)) {}
};

// Positions of a tensor by what stands before, along and behind an axis.
struct Positions {
  int64_t outer = 1, size = 1, inner = 1, block = 1;
  int64_t blocks() const { return (size + block - 1) / block; }
};

template <class Choose>
void Write(std::span<const float> block, const Positions& at, int64_t first, int64_t entry, int bits,
           bool halves, bool is_shifted, Choose choose, Candidate* to) {
  const auto most = static_cast<float>((1 << bits) - 1);
  BlockScale best;
  float least = INFINITY;
  auto attempt = [&](BlockScale tried) {
    if (halves) tried.scale = AsHalf(tried.scale);
    const float error = ErrorOf(block, tried, most);
    if (error < least) least = error, best = tried;
  };
  for (float share : std::span(kShares).first(bits > 4 ? 1 : std::size(kShares))) {
    const BlockScale tried = choose(block, share, bits);
    attempt(tried);
    if (bits > 4) continue;
    for (float shift : kShifts) {
      if (shift != 0 && !is_shifted) continue;
      BlockScale near = tried;
      near.zero = std::clamp(tried.zero + shift, 0.0F, most);
      attempt(near = Fitted(block, near, most));
      attempt(Fitted(block, near, most));
    }
  }
  to->error += least;
  to->scales[static_cast<size_t>(entry)] = best.scale;
  to->zeros[static_cast<size_t>(entry)] = static_cast<uint8_t>(best.zero);
  const float inverse = best.inverse();
  for (size_t i = 0; i < block.size(); ++i)
    to->codes[static_cast<size_t>(first + static_cast<int64_t>(i) * at.inner)] =
        static_cast<uint8_t>(CodeOf(block[i], best, inverse, most));
}

// Calls `body` with each block's number, the place of its first number, and its numbers.
template <class Body>
void ForBlocks(const std::vector<float>& numbers, const Positions& at, Body body) {
  std::vector<float> gathered;
  for (int64_t entry = 0; entry < at.outer * at.blocks() * at.inner; ++entry) {
    const int64_t inner = entry % at.inner, block = entry / at.inner % at.blocks(),
                  outer = entry / at.inner / at.blocks();
    const int64_t first = (outer * at.size + block * at.block) * at.inner + inner;
    gathered.resize(static_cast<size_t>(std::min(at.block, at.size - block * at.block)));
    for (size_t i = 0; i < gathered.size(); ++i)
      gathered[i] = numbers[static_cast<size_t>(first + static_cast<int64_t>(i) * at.inner)];
    body(entry, first, std::span<const float>(gathered));
  }
}

// The largest magnitude of a block.
float LargestOf(std::span<const float> block) {
  float largest = 0;
  for (float number : block) largest = std::max(largest, std::fabs(number));
  return largest;
}

std::optional<std::vector<float>> FiniteNumbers(const ir::TensorData& data) {
  std::vector<float> numbers(static_cast<size_t>(data.element_count()));
  if (data.dtype == DType::kF32) {
    std::memcpy(numbers.data(), data.bytes.data(), numbers.size() * sizeof(float));
  } else {
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>(ir::ReadElement(data, static_cast<int64_t>(i)).number);
  }
  const bool finite = std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); });
  return finite ? std::optional(std::move(numbers)) : std::nullopt;
}

// Codes as they lie in memory; `flip`: of signed types, whose codes count from the middle.
ir::TensorData PackCodes(const std::vector<uint8_t>& codes, const std::vector<int64_t>& dims, int bits,
                         bool is_signed) {
  const DType dtype =
      bits == 4 ? (is_signed ? DType::kI4 : DType::kU4) : (is_signed ? DType::kI8 : DType::kU8);
  const auto flip = static_cast<uint8_t>(is_signed ? 1 << (bits - 1) : 0);
  std::vector<std::byte> bytes(static_cast<size_t>(DTypeBytes(dtype, static_cast<int64_t>(codes.size()))));
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto code = static_cast<uint8_t>(codes[i] ^ flip);
    if (bits == 8) {
      bytes[i] = static_cast<std::byte>(code);
    } else {
      bytes[i / 2] |= static_cast<std::byte>(code << (i % 2 * 4));
    }
  }
  return ir::TensorData::Owned(dtype, dims, std::move(bytes));
}

ir::TensorData HalvesOf(const std::vector<int64_t>& dims, const std::vector<float>& numbers) {
  std::vector<uint16_t> halves;
  for (float number : numbers)
    halves.push_back(static_cast<uint16_t>(tensor::EncodeScalar(DType::kF16, {.number = number})));
  return ir::TensorData::FromVector(DType::kF16, dims, halves);
}

}  // namespace

std::optional<BlockCodes> MakeBlockCodes(const ir::TensorData& data, int axis, int64_t block, int bits) {
  std::optional<std::vector<float>> numbers = FiniteNumbers(data);
  if (!numbers || numbers->empty()) return std::nullopt;
  const auto along = static_cast<size_t>(axis);
  Positions at{.size = data.dims[along], .block = block};
  for (size_t i = 0; i < data.dims.size(); ++i)
    if (i != along) (i < along ? at.outer : at.inner) *= data.dims[i];

  const int64_t entries = at.outer * at.blocks() * at.inner;
  Candidate symmetric(data.element_count(), entries), shifted(data.element_count(), entries);
  double squares = 0, largest = 0;
  bool halves = true;
  ForBlocks(*numbers, at, [&](int64_t, int64_t, std::span<const float> block_numbers) {
    const float most = LargestOf(block_numbers);
    for (float number : block_numbers) squares += double{number} * number;
    largest = std::max(largest, double{most});
    // The least scale that any of the attempts gives.
    halves &= most == 0 || (most / static_cast<float>(2 << bits) >= kLeastHalf && most < kMostHalf);
  });
  ForBlocks(*numbers, at, [&](int64_t entry, int64_t first, std::span<const float> block_numbers) {
    Write(block_numbers, at, first, entry, bits, halves, false, Symmetric, &symmetric);
    Write(block_numbers, at, first, entry, bits, halves, true, Shifted, &shifted);
  });

  const bool is_symmetric = symmetric.error <= shifted.error;
  const Candidate& chosen = is_symmetric ? symmetric : shifted;
  std::vector<int64_t> dims = data.dims;
  dims[along] = at.blocks();
  BlockCodes result{.codes = PackCodes(chosen.codes, data.dims, bits, is_symmetric),
                    .scale = halves ? HalvesOf(dims, chosen.scales)
                                    : ir::TensorData::FromVector(DType::kF32, dims, chosen.scales)};
  if (!is_symmetric) result.zero = ir::TensorData::FromVector(DType::kU8, dims, chosen.zeros);
  double worst = 0;
  for (int64_t i = 0; i < data.element_count(); ++i) {
    const int64_t entry =
        (i / at.inner / at.size * at.blocks() + i / at.inner % at.size / block) * at.inner + i % at.inner;
    const auto place = static_cast<size_t>(i), of = static_cast<size_t>(entry);
    const float number = static_cast<float>(chosen.codes[place] - chosen.zeros[of]) * chosen.scales[of];
    worst = std::max(worst, double{std::fabs(number - (*numbers)[place])});
  }
  result.relative_error = squares == 0 ? 0 : std::sqrt(chosen.error / squares);
  result.largest_error = largest == 0 ? 0 : worst / largest;
  return result;
}

}  // namespace tvmvm::passes
