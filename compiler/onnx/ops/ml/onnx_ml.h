// What the operators of ai.onnx.ml share: rows of features, lists of labels and numbers, scores and what
// becomes of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// The input 0 as [rows, features]; a vector is one row. Records an error for other ranks.
ValueId FeatureRows(OnnxContext& c);
// The same in the type that models compute in: f64 stays, other numbers become f32.
ValueId ModelRows(OnnxContext& c);

// A vector, or a matrix in row-major order, of an attribute's numbers. `dtype` is f32 or f64.
ValueId NumberConstant(OpBuilder& b, const std::vector<double>& numbers, DType dtype,
                       std::vector<int64_t> dims = {});
TensorData StringList(std::vector<std::string> texts);
TensorData IntegerList(const std::vector<int64_t>& numbers);

// For each element of x its position among the keys, which are one vector; of equal keys the last one counts.
// The number of keys where it is none of them. Strings, integers and floats; NaN is equal to NaN.
ValueId LookUp(OpBuilder& b, ValueId x, ValueId keys);

// The labels of classes: the attribute `strings`, or `integers`; records an error where both or none is
// there.
std::optional<TensorData> ClassLabels(OnnxContext& c, std::string_view integers, std::string_view strings);
// The label of the greatest score in each row of [rows, classes]; of equal ones the first.
ValueId BestLabels(OpBuilder& b, ValueId scores, const TensorData& labels);

enum class PostTransform : uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

// The attribute `post_transform`, as a name or, in TreeEnsemble, as a number.
std::optional<PostTransform> PostTransformOf(OnnxContext& c);
// Of scores [rows, classes] or [rows, targets].
ValueId Transform(OpBuilder& b, PostTransform transform, ValueId scores);
// Two columns from the one score [rows, 1] of the second of two classes: (-s, s), or (1 - s, s) where the
// score is a probability.
ValueId BothClasses(OpBuilder& b, ValueId score, bool is_probability);

}  // namespace tvmvm::ir
