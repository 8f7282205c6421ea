// The families of ONNX rows, one file each, and what they share. families.def lists them.
#pragma once

#include <span>

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

#define FAMILY(Name) std::span<const OnnxOp> Onnx##Name##Rows();
#include "compiler/onnx/ops/families.def"
#undef FAMILY

// Axes given as an attribute or, in newer versions, as an input whose values may be known only at run time:
// one 0/1 flag for each of `rank` axes. Records an error where their number is unknown or a constant one is
// out of range.
Dims AxisFlags(OnnxContext& c, const Dims& axes, int rank);
// The input or attribute `axes` as dims; nothing where neither is given.
std::optional<Dims> ReadAxes(OnnxContext& c, size_t input, std::string_view attribute = "axes");
// Dims of the axes whose flag is 0, `count` of them, in order.
Dims KeptDims(const Dims& dims, const Dims& flags, int count);
// Positions of the flags where all of them are known.
std::optional<std::vector<int64_t>> ConstantFlags(const Dims& flags);
Dims DimsOf(const std::vector<int64_t>& values);

// The run fails where an index is not within [-size, size), the compile where that is known. Index i belongs
// to size i mod the number of sizes. (onnx_gather.cc)
void CheckIndices(OpBuilder& b, ValueId indices, const Dims& sizes);
// The same for tuples along the last axis of `indices`, which address x behind its batch axes.
void CheckTuples(OpBuilder& b, ValueId x, ValueId indices, int64_t batch_dims);

// The positions of the set flags of bool[n], ascending (onnx_selection.cc).
ValueId PositionsOf(OpBuilder& b, ValueId flags);

// Equal numbers for equal texts, through all of the tensors; their dims are the tensors' (onnx_string.cc).
std::vector<ValueId> StringIds(OpBuilder& b, std::vector<ValueId> strings);
// The strings at the positions, which count through all the tensors (onnx_string.cc).
ValueId TakeStrings(OpBuilder& b, ValueId positions, std::vector<ValueId> strings);
// The single number that the input holds, as a dim; `otherwise` where it is absent.
Dim ReadScalar(OnnxContext& c, size_t input, const Dim& otherwise);

}  // namespace tvmvm::ir
