// The families of ONNX rows, one file each. A new family is listed here and in onnx_op.cc.
#pragma once

#include <span>

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

std::span<const OnnxOp> OnnxElementwiseRows();
std::span<const OnnxOp> OnnxActivationRows();
std::span<const OnnxOp> OnnxCastRows();
std::span<const OnnxOp> OnnxReduceRows();
std::span<const OnnxOp> OnnxShapeRows();
std::span<const OnnxOp> OnnxMovementRows();
std::span<const OnnxOp> OnnxSliceRows();
std::span<const OnnxOp> OnnxGatherRows();
std::span<const OnnxOp> OnnxGenerateRows();
std::span<const OnnxOp> OnnxControlRows();
std::span<const OnnxOp> OnnxConvolutionRows();
std::span<const OnnxOp> OnnxPoolingRows();
std::span<const OnnxOp> OnnxMatMulRows();
std::span<const OnnxOp> OnnxEinsumRows();
std::span<const OnnxOp> OnnxNormalizationRows();
std::span<const OnnxOp> OnnxQuantizeRows();
std::span<const OnnxOp> OnnxResizeRows();
std::span<const OnnxOp> OnnxLossRows();
std::span<const OnnxOp> OnnxDropoutRows();
std::span<const OnnxOp> OnnxAttentionRows();
std::span<const OnnxOp> OnnxGridRows();
std::span<const OnnxOp> OnnxTrainingRows();
std::span<const OnnxOp> OnnxSpectralRows();
std::span<const OnnxOp> OnnxScanRows();
std::span<const OnnxOp> OnnxSortRows();
std::span<const OnnxOp> OnnxScatterRows();
std::span<const OnnxOp> OnnxRecurrentRows();
std::span<const OnnxOp> OnnxLinearAttentionRows();
std::span<const OnnxOp> OnnxSequenceRows();
std::span<const OnnxOp> OnnxOptionalRows();
std::span<const OnnxOp> OnnxStringRows();
std::span<const OnnxOp> OnnxSelectionRows();
std::span<const OnnxOp> OnnxLabelRows();
std::span<const OnnxOp> OnnxFeatureRows();
std::span<const OnnxOp> OnnxLinearModelRows();
std::span<const OnnxOp> OnnxSupportVectorRows();
std::span<const OnnxOp> OnnxTreeRows();
std::span<const OnnxOp> OnnxMapRows();
std::span<const OnnxOp> OnnxNgramRows();
std::span<const OnnxOp> OnnxImageRows();
std::span<const OnnxOp> OnnxRandomRows();
std::span<const OnnxOp> OnnxRoiRows();
std::span<const OnnxOp> OnnxDeformableRows();
std::span<const OnnxOp> OnnxLinearAlgebraRows();
std::span<const OnnxOp> OnnxFusedRows();
std::span<const OnnxOp> OnnxFusedAttentionRows();
std::span<const OnnxOp> OnnxGroupedAttentionRows();
std::span<const OnnxOp> OnnxQLinearRows();
std::span<const OnnxOp> OnnxBlockQuantizedRows();

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

// Equal numbers for equal texts, through all of the tensors; their dims are the tensors' (onnx_string.cc).
std::vector<ValueId> StringIds(OpBuilder& b, std::vector<ValueId> strings);
// The strings at the positions, which count through all the tensors (onnx_string.cc).
ValueId TakeStrings(OpBuilder& b, ValueId positions, std::vector<ValueId> strings);
// The single number that the input holds, as a dim; `otherwise` where it is absent.
Dim ReadScalar(OnnxContext& c, size_t input, const Dim& otherwise);

}  // namespace tvmvm::ir
