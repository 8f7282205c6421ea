#include "compiler/onnx/ops/attention/onnx_key_value_cache.h"

#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_quantized.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

bool CheckRanks(OpBuilder& b, const CacheStep& step) {
  b.dims(step.past_key, 4, "the past key");
  b.dims(step.past_value, 4, "the past value");
  return !b.failed();
}

// The cache, longer where it is too short, with the new entries after the old ones.
ValueId Appended(OnnxContext& c, ValueId cache, ValueId fresh, const CacheStep& step) {
  OpBuilder& b = c.b;
  if (b.failed()) return cache;
  Dims none(4, Dim(0)), more = none;
  more[2] = Max(step.total - b.dim(cache, 2), 0);
  ValueId room = b.Pad(cache, b.Scalar(b.dtype(cache), 0), none, more);
  return Apply(c, "TensorScatter", {room, fresh, step.past});
}

// Entries of 4 bits stand for -8 to 7; each byte holds two, the first in the low bits.
ValueId Packed(OpBuilder& b, ValueId x, ValueId scale, int64_t bits) {
  ValueId codes = RoundTo(b, b.Div(b.Cast(x, DType::kF32), scale), bits == 8 ? DType::kI8 : DType::kI4);
  if (bits == 8) return codes;
  ValueId wide = b.Cast(b.Add(b.Cast(codes, DType::kI32), b.ScalarInt(DType::kI32, 8)), DType::kU8);
  Dims d = b.dims(wide, 4, "what a cache takes");
  Dims apart{d[0], d[1], d[2], FloorDiv(d[3], 2), 2};
  ValueId pairs = b.Reshape(wide, apart);
  auto half = [&](int64_t which) { return b.Squeeze(b.SliceAxis(pairs, 4, which, 1), {4}); };
  return b.Binary(ExprOp::kOr, half(0), b.Binary(ExprOp::kShiftLeft, half(1), b.ScalarInt(DType::kU8, 4)));
}

ValueId Unpacked(OpBuilder& b, ValueId codes, ValueId scale, int64_t bits, DType dtype) {
  ValueId origin = bits == 8 ? ValueId() : b.ScalarInt(DType::kU8, 8);
  return b.Cast(Dequantized(b, UnpackedBits(b, codes, bits), scale, origin), dtype);
}

// How many of the first `length` [batch] entries a cache of this room holds.
ValueId Resident(OpBuilder& b, ValueId length, const Dim& room, int64_t window) {
  ValueId group = b.DimScalar(room - Dim(window - 1));
  ValueId above = b.Max(b.Sub(length, b.DimScalar(room)), b.ScalarInt(DType::kI64, 0));
  ValueId rounded = b.Sub(b.Add(above, group), b.ScalarInt(DType::kI64, 1));
  return b.Sub(length, b.Mul(group, b.Binary(ExprOp::kFloorDiv, rounded, group)));
}

}  // namespace

KeyValueCache WithoutPast(OpBuilder&, const CacheStep& step) {
  return {step.key, step.value, {}, step.key, step.value};
}

KeyValueCache GrowingCache(OnnxContext& c, const CacheStep& step) {
  if (!CheckRanks(c.b, step)) return {};
  ValueId key = Appended(c, step.past_key, step.key, step);
  ValueId value = Appended(c, step.past_value, step.value, step);
  return {key, value, {}, key, value};
}

KeyValueCache QuantizedCache(OnnxContext& c, const CacheStep& step, ValueId key_scale, ValueId value_scale,
                             int64_t bits) {
  OpBuilder& b = c.b;
  if (!CheckRanks(b, step)) return {};
  DType codes = b.dtype(step.past_key);
  if ((bits != 8 || codes != DType::kI8) && (bits != 4 || codes != DType::kU8)) {
    b.Fail(Code::kInvalidArgument, fmt::format("a cache of {} with {} bits; i8 with 8 or u8 with 4 is wanted",
                                               DTypeName(codes), bits));
    return {};
  }
  DType dtype = b.dtype(step.key);
  auto extended = [&](ValueId cache, ValueId fresh, ValueId scale) {
    return Appended(c, cache, Packed(b, fresh, OneOrMany(b, scale), bits), step);
  };
  ValueId key = extended(step.past_key, step.key, key_scale);
  ValueId value = extended(step.past_value, step.value, value_scale);
  return {
      Unpacked(b, key, key_scale, bits, dtype), Unpacked(b, value, value_scale, bits, dtype), {}, key, value};
}

KeyValueCache WindowCache(OpBuilder& b, const CacheStep& step, int64_t window) {
  if (!CheckRanks(b, step)) return {};
  Dims d = b.dims(step.past_key);
  Dim room = d[2], queries = b.dim(step.key, 2);
  b.Require(LessEqual(window, room), "a window of {0} in a cache of {1}", {window, room});
  auto column = [&](ValueId x) { return b.Unsqueeze(x, {1}); };
  auto binary = [&](ExprOp op, ValueId x, ValueId y) { return b.Binary(op, x, y); };
  // Where in the sequence the entries of the cache and the new ones stand.
  ValueId held = Resident(b, step.past, room, window), start = b.Sub(step.past, held);
  ValueId slot = b.Iota(DType::kI64, {room}, 0), row = b.Iota(DType::kI64, {queries}, 0);
  ValueId nowhere = b.ScalarInt(DType::kI64, -1);
  ValueId of_cache = b.Where(binary(ExprOp::kLess, slot, column(held)), b.Add(column(start), slot), nowhere);
  ValueId of_fresh =
      b.Where(binary(ExprOp::kLess, row, column(step.fresh)), b.Add(column(step.past), row), nowhere);
  KeyValueCache result;
  result.positions = b.Concat({of_cache, of_fresh}, 1);
  // Each slot of the new cache takes the entry that stands where it begins to hold, and on.
  ValueId length = b.Add(step.past, step.fresh);
  ValueId wanted = b.Add(column(b.Sub(length, Resident(b, length, room, window))), slot);
  ValueId from = b.Where(binary(ExprOp::kLess, wanted, column(step.past)), b.Sub(wanted, column(start)),
                         b.Add(b.Sub(wanted, column(step.past)), b.DimScalar(room)));
  from = b.Max(b.Min(from, b.DimScalar(room + queries - Dim(1))), b.ScalarInt(DType::kI64, 0));
  from = b.Reshape(from, {d[0], 1, room, 1});
  auto taken = [&](ValueId all, ValueId cache) {
    return b.Emit("gather_elements", {all, b.Expand(from, b.dims(cache))}, {{"axis", int64_t{2}}});
  };
  result.key = b.Concat({step.past_key, step.key}, 2);
  result.value = b.Concat({step.past_value, step.value}, 2);
  result.present_key = taken(result.key, step.past_key);
  result.present_value = taken(result.value, step.past_value);
  return result;
}

}  // namespace tvmvm::ir
