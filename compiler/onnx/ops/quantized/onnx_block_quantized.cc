// com.microsoft: products with weights that are quantized block by block.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// The last axis of bytes, each of which holds numbers of `bits` bits, the lowest first, as an axis of
// numbers.
ValueId Unpacked(OpBuilder& b, ValueId bytes, int64_t bits) {
  if (bits == 8) return bytes;
  Dims dims = b.dims(bytes);
  int64_t count = 8 / bits;
  ValueId shift = b.Mul(b.Iota(DType::kU8, {Dim(count)}, 0), b.ScalarInt(DType::kU8, bits));
  ValueId moved = b.Binary(ExprOp::kShiftRight, b.Unsqueeze(bytes, {b.rank(bytes)}), shift);
  ValueId numbers = b.Binary(ExprOp::kAnd, moved, b.ScalarInt(DType::kU8, (int64_t{1} << bits) - 1));
  dims.back() = dims.back() * Dim(count);
  return b.Reshape(numbers, dims);
}

// a [..., K], packed weights [N, blocks, bytes], scales and zero points of the blocks, the block of each of
// the K numbers (where they are not in order), bias [N].
void MatMulNBits(OnnxContext& c) {
  OpBuilder& b = c.b;
  int64_t bits = c.Int("bits", 4), block = c.Int("block_size", 0), rows = c.Int("N", 0),
          depth = c.Int("K", 0);
  auto is_size = [](int64_t size) { return size > 0 && size <= INT32_MAX; };
  bool fits = (bits == 2 || bits == 4 || bits == 8) && is_size(block) && block * bits % 8 == 0;
  if (!fits || !is_size(rows) || !is_size(depth)) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("{} bits in blocks of {} for weights of {} by {}", bits, block, rows, depth));
    return;
  }
  if (c.Int("weight_prepacked", 0) != 0) {
    b.Fail(Code::kUnsupported, "weights packed for one device");
    return;
  }
  int64_t blocks = (depth + block - 1) / block;
  DType dtype = b.dtype(c.in(0));
  DType wide = WideType(dtype);
  Dims apart{Dim(rows), Dim(blocks), Dim(block)}, one{Dim(rows), Dim(blocks), Dim(1)};
  ValueId numbers =
      b.Cast(Unpacked(b, b.Reshape(c.in(1), {Dim(rows), Dim(blocks), Dim(block * bits / 8)}), bits), wide);
  ValueId zero = b.Scalar(wide, static_cast<double>(int64_t{1} << (bits - 1)));
  if (c.has(3)) {
    ValueId given = c.in(3);
    if (b.dtype(given) == DType::kU8) {
      ValueId unpacked = Unpacked(b, b.Reshape(given, {Dim(rows), Dim((blocks * bits + 7) / 8)}), bits);
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
  ValueId weights =
      c.has(4) ? scaled : b.SliceAxis(b.Reshape(scaled, {Dim(rows), Dim(blocks * block)}), 1, 0, depth);
  if (b.failed()) return;
  ValueId result = b.Contract(b.Cast(c.in(0), wide), weights, {}, {}, {b.rank(c.in(0)) - 1}, {1});
  if (c.has(5)) result = b.Add(result, b.Cast(c.in(5), wide));
  c.Out(0, b.Cast(result, dtype));
}

constexpr OnnxOp kRows[] = {
    {"com.microsoft", "MatMulNBits", 1, kLatest, 3, 6, "K N accuracy_level bits block_size weight_prepacked",
     MatMulNBits, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxBlockQuantizedRows() { return kRows; }

}  // namespace tvmvm::ir
