// What attention of com.microsoft has in common, of any kind. Everything works on [batch, heads, length,
// size].
#pragma once

#include <limits>
#include <string_view>

#include "compiler/onnx/ops/attention/attention_subgraph.h"
#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

inline constexpr double kNeverAttended = -std::numeric_limits<double>::infinity();

struct AttentionOperands {
  ValueId query, key, value;
  ValueId bias;  // what is added to the scores, if any
  ValueId sink;  // [heads, 1, 1]: a score that takes part in the sum of a row and in nothing else, if any
  double softcap = 0;
};

struct Attended {
  ValueId result, scores, weights;
};

// softmax(scale * query * key^T + bias) * value, by groups of query heads that share a key head. Narrow
// floats are computed in f32. The attribute `scale` is 1 / sqrt(size) where absent or 0.
Attended Attend(OnnxContext& c, const AttentionOperands& given);

// 0 where the condition holds, else `otherwise`; f32.
ValueId BiasUnless(OpBuilder& b, ValueId allowed, double otherwise);
// Both of them, or the one that is there; f32 where it is a sum.
ValueId SumOfBiases(OpBuilder& b, ValueId x, ValueId y);

// The parts of a shared buffer [batch, heads, room, size] once new entries are written after the first
// `past`.
struct SharedBuffer {
  ValueId whole;
  ValueId used;  // the first past + length entries
};
SharedBuffer WrittenInto(OnnxContext& c, ValueId buffer, ValueId fresh, const Dim& past);

// Whether the attribute is a number of heads; records an error where not.
bool HasHeads(OnnxContext& c, std::string_view attribute);
// Records that a form is not supported where the input is there; whether it is.
bool Refuses(OnnxContext& c, size_t input, std::string_view what);

}  // namespace tvmvm::ir
