// com.microsoft: sums of embeddings, normalized.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_families.h"
#include "compiler/onnx/ops/onnx_quantized.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// What both operators have in the same places: numbers [batch, length] of words and segments; tables of
// words, positions and segments; scale and bias of the normalization; a mask [batch, length]. Segments may be
// left out, but not their numbers or their table alone.
bool CheckInputs(OnnxContext& c) {
  OpBuilder& b = c.b;
  for (size_t i : {0, 2, 3, 5, 6})
    if (!c.has(i)) b.Fail(Code::kInvalidArgument, fmt::format("the input {} is missing", i));
  if (c.has(1) != c.has(4))
    b.Fail(Code::kInvalidArgument, "segments need both their numbers and their table");
  if (b.failed()) return false;
  if (b.rank(c.in(0)) != 2)
    b.Fail(Code::kInvalidArgument, fmt::format("word numbers of rank {}, 2 is wanted", b.rank(c.in(0))));
  return !b.failed();
}

// How many words of each sequence count [batch].
ValueId CountWords(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!c.has(7)) return b.Expand(b.ScalarInt(DType::kI32, 0), {b.dim(c.in(0), 0)});
  ValueId hits = b.Binary(ExprOp::kEqual, b.Cast(c.in(7), DType::kI32), b.ScalarInt(DType::kI32, 1));
  return b.Squeeze(b.Reduce(tensor::ReduceKind::kSum, b.Cast(hits, DType::kI32), {1}), {1});
}

// Inputs `parameter` as they are, rows of table `parameter` where there are numbers of rows.
using Read = std::function<ValueId(size_t parameter, ValueId rows)>;

void Embed(OnnxContext& c, ValueId positions, const Read& read) {
  OpBuilder& b = c.b;
  ValueId sum = b.Add(read(2, c.in(0)), read(3, positions));
  if (c.has(1)) sum = b.Add(sum, read(4, c.in(1)));
  c.Out(0, Apply(c, "LayerNormalization", {sum, read(5, {}), read(6, {})},
                 {{"epsilon", FloatAttribute(c.Float("epsilon", 1e-12))}}));
  if (c.wants(1)) c.Out(1, CountWords(c));
  c.Out(2, sum);
}

ValueId CountedPositions(OnnxContext& c) { return c.b.Iota(DType::kI64, {c.b.dim(c.in(0), 1)}, 0); }

// After the mask: position numbers.
void EmbedLayerNormalization(OnnxContext& c) {
  if (!CheckInputs(c)) return;
  Embed(c, c.has(8) ? c.in(8) : CountedPositions(c), [&](size_t parameter, ValueId rows) {
    return rows.valid() ? Apply(c, "Gather", {c.in(parameter), rows}) : c.in(parameter);
  });
}

// Tables, scale and bias are bytes; after the mask come their scales, then their zero points.
void QEmbedLayerNormalization(OnnxContext& c) {
  if (!CheckInputs(c)) return;
  // Tables and parameters are the inputs 2 to 6; their scales begin at 8, their zero points at 13.
  auto missing = [&](size_t i) { return c.has(i) && (!c.has(i + 6) || !c.has(i + 11)); };
  for (size_t i = 2; i <= 6; ++i)
    if (missing(i)) c.b.Fail(Code::kInvalidArgument, fmt::format("a scale or zero point of input {}", i));
  if (c.b.failed()) return;
  Embed(c, CountedPositions(c), [&](size_t parameter, ValueId rows) {
    ValueId bytes = rows.valid() ? Apply(c, "Gather", {c.in(parameter), rows}) : c.in(parameter);
    return Dequantized(c.b, bytes, c.in(parameter + 6), c.in(parameter + 11));
  });
}

constexpr std::string_view kDomain = "com.microsoft";

constexpr OnnxOp kRows[] = {
    {kDomain, "EmbedLayerNormalization", 1, kLatest, 1, 9, "epsilon mask_index_type", EmbedLayerNormalization,
     OfInput(2, kFloats)},
    {kDomain, "QEmbedLayerNormalization", 1, kLatest, 1, 18, "epsilon", QEmbedLayerNormalization,
     OfInput(2, kBytes)},
};

}  // namespace

std::span<const OnnxOp> OnnxEmbeddingRows() { return kRows; }

}  // namespace tvmvm::ir
