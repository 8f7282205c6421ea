// com.microsoft: weights and tables that are quantized block by block.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "compiler/graph/tensor_elements.h"
#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_families.h"
#include "compiler/onnx/ops/onnx_quantized.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

bool IsWeightSize(int64_t size) { return size > 0 && size <= INT32_MAX; }

DType CodeType(int64_t bits) { return bits == 8 ? DType::kU8 : bits == 4 ? DType::kU4 : DType::kU2; }

// Constant bytes as codes of `bits` bits in the given dims, of whose last axis those at `kept` stay.
TensorData AsCodes(const TensorData& bytes, int64_t bits, std::vector<int64_t> dims,
                   std::span<const int64_t> kept) {
  const DType dtype = CodeType(bits);
  const int64_t count = static_cast<int64_t>(kept.size()), given = dims.back();
  TensorData codes{dtype, dims, bytes.bytes, bytes.owner, {}};
  bool is_all = count == given;
  for (int64_t k = 0; k < count; ++k) is_all &= kept[static_cast<size_t>(k)] == k;
  if (is_all) return codes;
  const int64_t rows = given == 0 ? 0 : codes.element_count() / given;
  dims.back() = count;
  std::vector<std::byte> cut(static_cast<size_t>(DTypeBytes(dtype, rows * count)));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < count; ++k)
      WriteElement(dtype, cut, row * count + k,
                   ReadElement(codes, row * given + kept[static_cast<size_t>(k)]));
  return TensorData::Owned(dtype, std::move(dims), std::move(cut));
}

// The same data in other dims.
TensorData InDims(const TensorData& data, std::vector<int64_t> dims) {
  TensorData result = data;
  result.dims = std::move(dims);
  return result;
}

std::vector<int64_t> FirstPositions(int64_t count) {
  std::vector<int64_t> positions(static_cast<size_t>(count));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

// Weights of MatMulNBits: `depth` numbers a row, in blocks.
struct BlockedShape {
  int64_t bits, block, rows, depth;
  bool by_bytes;  // the data may be rounded to bytes
  int64_t blocks() const { return (depth + block - 1) / block; }
};

// The order in which numbers of one block follow each other, given the block of each; nothing where a block
// but the last has more or fewer than its size.
std::optional<std::vector<int64_t>> BlockOrder(const BlockedShape& shape, const TensorData& block_of) {
  if (block_of.element_count() < shape.depth) return std::nullopt;
  std::vector<int64_t> order = FirstPositions(shape.depth);
  auto block = [&](int64_t k) { return ReadElement(block_of, k).integer; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return block(a) < block(b); });
  for (int64_t k = 0; k < shape.depth; ++k)
    if (block(order[static_cast<size_t>(k)]) != k / shape.block) return std::nullopt;
  return order;
}

// Constant weights [rows, depth] of MatMulNBits as codes; `order`: in which they stand along the depth, empty
// if as they are. Invalid: they are not constant, or not as they should be, which others tell.
ValueId CodedWeights(OnnxContext& c, const BlockedShape& shape, std::vector<int64_t>* order) {
  OpBuilder& b = c.b;
  auto constant = [&](int input) { return c.has(input) ? b.ConstantData(c.in(input)) : nullptr; };
  for (int input = 1; input < 5; ++input)
    if (c.has(input) && constant(input) == nullptr) return {};
  const int64_t blocks = shape.blocks(), padded = blocks * shape.block, entries = shape.rows * blocks;
  const int64_t zero_bytes = (blocks * shape.bits + 7) / 8;
  const TensorData *zero = constant(3), *block_of = constant(4);
  if (constant(1)->element_count() != shape.rows * padded * shape.bits / 8) return {};
  if (constant(2)->element_count() != entries) return {};
  const bool is_packed = zero != nullptr && zero->dtype == DType::kU8;
  if (zero != nullptr && zero->element_count() != (is_packed ? shape.rows * zero_bytes : entries)) return {};
  std::vector<int64_t> kept = FirstPositions(shape.depth);
  if (block_of != nullptr) {
    std::optional<std::vector<int64_t>> sorted = BlockOrder(shape, *block_of);
    if (!sorted) return {};
    if (*sorted != kept) *order = kept = *sorted;
  }
  TensorData zeros;
  if (is_packed) {
    zeros = AsCodes(*zero, shape.bits, {shape.rows, zero_bytes * 8 / shape.bits}, FirstPositions(blocks));
  } else if (zero != nullptr) {
    zeros = InDims(*zero, {shape.rows, blocks});
  } else {
    zeros = TensorData::FromVector(DType::kU8, {1, 1}, std::vector<uint8_t>{uint8_t(1 << (shape.bits - 1))});
  }
  Attributes attributes{{"blocks", std::vector<int64_t>{1, shape.block}}};
  if (shape.by_bytes) attributes.emplace("byte_data", int64_t{1});
  return b.Emit("dequantize",
                {b.Constant(AsCodes(*constant(1), shape.bits, {shape.rows, padded}, kept)),
                 b.Constant(InDims(*constant(2), {shape.rows, blocks})), b.Constant(std::move(zeros))},
                std::move(attributes));
}

// The same weights decoded when the model runs.
ValueId DecodedWeights(OnnxContext& c, const BlockedShape& shape, DType wide) {
  OpBuilder& b = c.b;
  const int64_t bits = shape.bits, block = shape.block, rows = shape.rows, depth = shape.depth,
                blocks = shape.blocks();
  Dims apart{Dim(rows), Dim(blocks), Dim(block)}, one{Dim(rows), Dim(blocks), Dim(1)};
  ValueId numbers = b.Cast(
      UnpackedBits(b, b.Reshape(c.in(1), {Dim(rows), Dim(blocks), Dim(block * bits / 8)}), bits), wide);
  ValueId zero = b.Scalar(wide, static_cast<double>(int64_t{1} << (bits - 1)));
  if (c.has(3)) {
    ValueId given = c.in(3);
    if (b.dtype(given) == DType::kU8) {
      ValueId unpacked = UnpackedBits(b, b.Reshape(given, {Dim(rows), Dim((blocks * bits + 7) / 8)}), bits);
      given = b.SliceAxis(unpacked, 1, 0, blocks);
    }
    zero = b.Reshape(b.Cast(given, wide), one);
  }
  ValueId scale = b.Reshape(b.Cast(c.in(2), wide), one);
  if (c.has(4)) {
    ValueId order = b.Reshape(c.in(4), {Product(b.dims(c.in(4)))});
    auto of_number = [&](ValueId x) {
      return b.rank(x) == 0 ? x : b.Gather(b.Squeeze(x, {2}), b.SliceAxis(order, 0, 0, depth), 1);
    };
    scale = of_number(scale);
    zero = of_number(zero);
    numbers = b.SliceAxis(b.Reshape(numbers, {Dim(rows), Dim(blocks * block)}), 1, 0, depth);
  }
  ValueId scaled = b.Mul(b.Sub(numbers, zero), scale);
  return c.has(4) ? scaled : b.SliceAxis(b.Reshape(scaled, {Dim(rows), Dim(blocks * block)}), 1, 0, depth);
}

// The accuracy_level that allows products in bytes.
constexpr int64_t kByteAccuracy = 4;

// a [..., K], packed weights [N, blocks, bytes], scales and zero points of the blocks, the block of each of
// the K numbers (where they are not in order), bias [N].
void MatMulNBits(OnnxContext& c) {
  OpBuilder& b = c.b;
  int64_t bits = c.Int("bits", 4), block = c.Int("block_size", 0), rows = c.Int("N", 0),
          depth = c.Int("K", 0);
  bool fits = (bits == 2 || bits == 4 || bits == 8) && IsWeightSize(block) && block * bits % 8 == 0;
  if (!fits || !IsWeightSize(rows) || !IsWeightSize(depth)) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("{} bits in blocks of {} for weights of {} by {}", bits, block, rows, depth));
    return;
  }
  if (c.Int("weight_prepacked", 0) != 0) {
    b.Fail(Code::kUnsupported, "weights packed for one device");
    return;
  }
  DType dtype = b.dtype(c.in(0));
  DType wide = WideType(dtype);
  const BlockedShape shape{bits, block, rows, depth, c.Int("accuracy_level", 0) == kByteAccuracy};
  ValueId data = b.Cast(c.in(0), wide);
  std::vector<int64_t> order;
  ValueId weights = wide == DType::kF32 ? CodedWeights(c, shape, &order) : ValueId();
  if (!weights.valid()) weights = DecodedWeights(c, shape, wide);
  if (!order.empty())
    data = b.Gather(data, b.Constant(TensorData::FromVector(DType::kI64, {depth}, order)), b.rank(data) - 1);
  if (b.failed()) return;
  ValueId result = b.Contract(data, weights, {}, {}, {b.rank(data) - 1}, {1});
  if (c.has(5)) result = b.Add(result, b.Cast(c.in(5), wide));
  c.Out(0, b.Cast(result, dtype));
}

// What the codes of 4 bits stand for: floats of bitsandbytes, and quantiles of the normal distribution.
constexpr float kFloat4[] = {
    0,     5.208333333e-03F,  0.66666667F,  1,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
    -0.0F, -5.208333333e-03F, -0.66666667F, -1, -0.33333333F, -0.5F, -0.16666667F, -0.25F};
constexpr float kNormal4[] = {-1,
                              -0.6961928009986877F,
                              -0.5250730514526367F,
                              -0.39491748809814453F,
                              -0.28444138169288635F,
                              -0.18477343022823334F,
                              -0.09105003625154495F,
                              0,
                              0.07958029955625534F,
                              0.16093020141124725F,
                              0.24611230194568634F,
                              0.33791524171829224F,
                              0.44070982933044434F,
                              0.5626170039176941F,
                              0.7229568362236023F,
                              1};

// a [..., K], codes of weights [N, K] in one row of bytes, the first of each two in the high bits; the
// largest number of each block of them.
void MatMulBnb4(OnnxContext& c) {
  OpBuilder& b = c.b;
  int64_t block = c.Int("block_size", 0), rows = c.Int("N", 0), depth = c.Int("K", 0),
          kind = c.Int("quant_type", 0);
  if (!IsWeightSize(block) || !IsWeightSize(rows) || !IsWeightSize(depth) || (kind != 0 && kind != 1)) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("weights of {} by {} in blocks of {}, of the kind {}", rows, depth, block, kind));
    return;
  }
  int64_t count = rows * depth, blocks = (count + block - 1) / block;
  DType dtype = b.dtype(c.in(0)), wide = WideType(dtype);
  std::span<const float> numbers = kind == 0 ? kFloat4 : kNormal4;
  ValueId table =
      b.Constant(TensorData::FromVector(DType::kF32, {16}, std::vector(numbers.begin(), numbers.end())));
  ValueId bytes = b.Reshape(c.in(1), {Dim((count + 1) / 2), Dim(1)});
  ValueId four = b.ScalarInt(DType::kU8, 4), low = b.ScalarInt(DType::kU8, 15);
  ValueId codes =
      b.Concat({b.Binary(ExprOp::kShiftRight, bytes, four), b.Binary(ExprOp::kAnd, bytes, low)}, 1);
  codes = b.SliceAxis(b.Reshape(codes, {Dim((count + 1) / 2 * 2)}), 0, 0, count);
  ValueId code = b.Gather(b.Cast(table, wide), b.Cast(codes, DType::kI64), 0);
  ValueId largest =
      b.Expand(b.Reshape(b.Cast(c.in(2), wide), {Dim(blocks), Dim(1)}), {Dim(blocks), Dim(block)});
  largest = b.SliceAxis(b.Reshape(largest, {Dim(blocks * block)}), 0, 0, count);
  ValueId weights = b.Reshape(b.Mul(code, largest), {Dim(rows), Dim(depth)});
  int64_t summed = c.Int("transB", 1) != 0 ? 1 : 0;
  ValueId result = b.Contract(b.Cast(c.in(0), wide), weights, {}, {}, {b.rank(c.in(0)) - 1}, {summed});
  c.Out(0, b.Cast(result, dtype));
}

// A constant table in blocks of axis `along`, decoded where it is read; invalid: it is not constant, or not
// as it should be. `bits`: of numbers in bytes.
ValueId CodedTable(OnnxContext& c, int64_t bits, int along) {
  OpBuilder& b = c.b;
  const TensorData *data = b.ConstantData(c.in(0)), *scale = b.ConstantData(c.in(2));
  const TensorData* zero = c.has(3) ? b.ConstantData(c.in(3)) : nullptr;
  if (data == nullptr || scale == nullptr || (c.has(3) && zero == nullptr)) return {};
  const bool is_packed = data->dtype == DType::kU8;
  const int rank = b.rank(c.in(0));
  // Zero points share bytes along the last axis, which ends with the last block.
  if (is_packed && zero != nullptr && along != rank - 1) return {};
  const int64_t block = c.Int("block_size", 128);
  if (block <= 0) return {};
  auto unpacked = [&](const TensorData& given, int64_t kept) {
    if (!is_packed) return given;
    std::vector<int64_t> dims = given.dims;
    dims.back() *= 8 / bits;
    return kept > dims.back() ? given
                              : AsCodes(given, bits, dims, FirstPositions(kept < 0 ? dims.back() : kept));
  };
  TensorData codes = unpacked(*data, -1);
  std::vector<int64_t> blocks(static_cast<size_t>(rank), 1);
  blocks[static_cast<size_t>(along)] = block;
  for (size_t i = 0; i < blocks.size(); ++i)
    if (scale->dims[i] != (codes.dims[i] + blocks[i] - 1) / blocks[i]) return {};
  std::vector<ValueId> inputs{b.Constant(std::move(codes)), c.in(2)};
  if (zero != nullptr) {
    TensorData zeros = unpacked(*zero, scale->dims.back());
    if (zeros.dims != scale->dims) return {};
    inputs.push_back(b.Constant(std::move(zeros)));
  } else if (is_packed) {
    const std::vector<uint8_t> middle{static_cast<uint8_t>(1 << (bits - 1))};
    inputs.push_back(b.Constant(
        TensorData::FromVector(DType::kU8, std::vector<int64_t>(static_cast<size_t>(rank), 1), middle)));
  }
  return b.Emit("dequantize", std::move(inputs), {{"blocks", std::move(blocks)}});
}

// Slices at `place` of axis `from` of any other table.
ValueId DecodedSlices(OnnxContext& c, int64_t bits, int from, int along, ValueId place) {
  OpBuilder& b = c.b;
  const bool is_packed = b.dtype(c.in(0)) == DType::kU8;
  auto slices = [&](ValueId x) { return b.Gather(x, place, from); };
  auto unpacked = [&](ValueId x) { return is_packed ? UnpackedBits(b, x, bits) : x; };
  ValueId origin = b.Scalar(DType::kI32, is_packed ? static_cast<double>(int64_t{1} << (bits - 1)) : 0);
  if (c.has(3)) {
    origin = b.SliceAxis(unpacked(c.in(3)), along, 0, b.dim(c.in(2), along));
    if (from != along) origin = slices(origin);
  }
  auto numbers = [&](ValueId x, ValueId scale, ValueId zero_point, int64_t axis) {
    return Apply(c, "DequantizeLinear", {x, scale, zero_point},
                 {{"axis", IntAttribute(axis)}, {"block_size", IntAttribute(c.Int("block_size", 128))}});
  };
  ValueId table = unpacked(c.in(0));
  return from == along ? slices(numbers(table, c.in(2), origin, along))
                       : numbers(slices(table), slices(c.in(2)), origin,
                                 along > from ? along + b.rank(place) - 1 : along);
}

// Slices of a table whose numbers are quantized in blocks along another axis: table, indices, scales, zero
// points. Bytes hold numbers of `bits` bits. An index that is out of range gives zeros.
void GatherBlockQuantized(OnnxContext& c) {
  OpBuilder& b = c.b;
  bool is_packed = b.dtype(c.in(0)) == DType::kU8;
  int64_t bits = is_packed ? c.Int("bits", 4) : 8;
  int rank = b.rank(c.in(0));
  int from = b.NormalizeAxis(c.Int("gather_axis", 0), rank),
      along = b.NormalizeAxis(c.Int("quantize_axis", 1), rank);
  if (b.failed()) return;
  if ((bits != 2 && bits != 4 && bits != 8) || b.rank(c.in(2)) != rank || (is_packed && from == along) ||
      (c.has(3) && b.rank(c.in(3)) != rank)) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("{} bits, data of rank {}, scales of rank {}, slices of axis {}, blocks of axis {}",
                       bits, rank, b.rank(c.in(2)), from, along));
    return;
  }
  Dim size = b.dim(c.in(0), from);
  ValueId index = b.Cast(c.in(1), DType::kI64), zero = b.ScalarInt(DType::kI64, 0);
  ValueId place = b.Where(b.Binary(ExprOp::kLess, index, zero), b.Add(index, b.DimScalar(size)), index);
  ValueId inside = b.Binary(ExprOp::kAnd, b.Binary(ExprOp::kLessEqual, zero, place),
                            b.Binary(ExprOp::kLess, place, b.DimScalar(size)));
  place = b.Where(inside, place, zero);
  auto slices = [&](ValueId x) { return b.Gather(x, place, from); };
  ValueId result = CodedTable(c, bits, along);
  result =
      result.valid() ? b.Cast(slices(result), b.dtype(c.in(2))) : DecodedSlices(c, bits, from, along, place);
  if (b.failed()) return;
  Dims spread(static_cast<size_t>(b.rank(result)), Dim(1));
  for (int i = 0; i < b.rank(index); ++i) spread[static_cast<size_t>(from + i)] = b.dim(index, i);
  c.Out(0, b.Where(b.Reshape(inside, spread), result, b.Scalar(b.dtype(result), 0)));
}

constexpr OnnxOp kRows[] = {
    {"com.microsoft", "MatMulNBits", 1, kLatest, 3, 6, "K N accuracy_level bits block_size weight_prepacked",
     MatMulNBits, kFloats},
    {"com.microsoft", "MatMulBnb4", 1, kLatest, 3, 3, "K N block_size quant_type training_mode transB",
     MatMulBnb4, kFloats},
    {"com.microsoft", "GatherBlockQuantized", 1, kLatest, 3, 4, "bits block_size gather_axis quantize_axis",
     GatherBlockQuantized, DTypeSet{DType::kU8, DType::kI4, DType::kU4}},
};

}  // namespace

ValueId UnpackedBits(OpBuilder& b, ValueId bytes, int64_t bits) {
  if (bits == 8) return bytes;
  if (b.rank(bytes) == 0) return b.Fail(Code::kInvalidArgument, "packed numbers of rank 0");
  Dims dims = b.dims(bytes);
  int64_t count = 8 / bits;
  ValueId shift = b.Mul(b.Iota(DType::kU8, {Dim(count)}, 0), b.ScalarInt(DType::kU8, bits));
  ValueId moved = b.Binary(ExprOp::kShiftRight, b.Unsqueeze(bytes, {b.rank(bytes)}), shift);
  ValueId numbers = b.Binary(ExprOp::kAnd, moved, b.ScalarInt(DType::kU8, (int64_t{1} << bits) - 1));
  dims.back() = dims.back() * Dim(count);
  return b.Reshape(numbers, dims);
}

std::span<const OnnxOp> OnnxBlockQuantizedRows() { return kRows; }

}  // namespace tvmvm::ir
