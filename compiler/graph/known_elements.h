// Contents of small integer tensors as dims, found by evaluating operators symbolically: so that arithmetic
// on shapes becomes arithmetic on dims and never a kernel.
#pragma once

#include <map>
#include <optional>

#include "compiler/graph/graph.h"

namespace tvmvm::ir {

// Tensors of more elements are never tracked.
inline constexpr int64_t kMaxKnownElements = 64;

// Number of elements, where it is known and at most kMaxKnownElements.
std::optional<int64_t> SmallElementCount(const Type& type);
// Contents of an integer or bool constant that is small enough.
std::optional<Dims> ElementsOf(const TensorData& data);
// Contents of the node's first result, when each of them is a dim of what is known about the inputs: their
// elements, or the symbols that `defined` gives for them. Facts about symbols decide what they can.
std::optional<Dims> InferElements(const Function& function, const Node& node,
                                  const std::map<ValueId, Dims>& defined, const RangeLookup& ranges);

}  // namespace tvmvm::ir
