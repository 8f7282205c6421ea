#include "compiler/onnx/importer/overlaid.h"

#include <algorithm>

#include "compiler/onnx/importer/flat_views.h"

namespace tvmvm::ir {
namespace {

constexpr int kMost = Type::kMostRanks - 1;

class Overlaid {
 public:
  explicit Overlaid(OnnxContext* context) : c_(*context), b_(context->b) {}

  void Run(const OnnxOp& row) {
    const std::vector<ValueId> inputs = c_.inputs;
    for (ValueId& input : c_.inputs) {
      ranks_.push_back(input.valid() ? RankOf(b_, input) : Dim(0));
      if (input.valid()) input = WithMostAxes(input);
    }
    Dim rank = 0;
    for (const Dim& each : ranks_) rank = Max(rank, each);
    const bool is_product = row.overlay == Overlay::kProduct;
    if (is_product) TurnVector();
    row.lower(c_);
    c_.inputs = inputs;
    if (is_product) rank = Max(rank, 2) - IsVector(0) - IsVector(1);
    for (ValueId& output : c_.outputs) {
      if (!output.valid() || b_.failed()) continue;
      if (is_product) output = WithoutVectors(output);
      Type type = Type::Tensor(b_.dtype(output), {});
      type.ranked = false;
      output = b_.Host(HostFunctionId::kTensorWithRank, {output}, {type}, {rank})[0];
    }
  }

 private:
  ValueId WithMostAxes(ValueId value) {
    Dims dims;
    if (b_.type(value).ranked) {
      dims = b_.dims(value);
      dims.insert(dims.begin(), static_cast<size_t>(kMost) - dims.size(), Dim(1));
      return b_.Reshape(value, dims);
    }
    for (int axis = 0; axis < kMost; ++axis) dims.push_back(b_.module().FreshSymbol());
    const Type type = Type::Tensor(b_.dtype(value), dims);
    return b_.Host(HostFunctionId::kTensorWithRank, {value}, {type}, {Dim(kMost)})[0];
  }

  // ---- products ----

  Dim IsVector(size_t input) const { return Equal(ranks_[input], 1); }

  // The right one of a product as a column.
  void TurnVector() {
    for (const Dim& rank : ranks_) b_.Require(LessEqual(1, rank), "a product of tensors of rank {0}", {rank});
    if (b_.failed() || IsVector(1).IsConstant(0)) return;
    Dims dims = b_.dims(c_.inputs[1]);
    const Dim rows = dims[kMost - 2], columns = dims[kMost - 1];
    dims[kMost - 2] = Select(IsVector(1), columns, rows);
    dims[kMost - 1] = Select(IsVector(1), 1, columns);
    c_.inputs[1] = b_.Reshape(c_.inputs[1], dims);
  }

  // Rows of a left and columns of a right vector are no axes of the result: of size 1, they go to the front.
  ValueId WithoutVectors(ValueId result) {
    const Dims dims = b_.dims(result);
    auto at = [&](int axis) { return axis < 0 ? Dim(1) : dims[static_cast<size_t>(axis)]; };
    const Dim count = IsVector(0) + IsVector(1);
    Dims moved;
    for (int axis = 0; axis < kMost; ++axis) {
      const Dim without_one = axis == kMost - 1 ? Select(IsVector(0), at(axis), at(axis - 1)) : at(axis - 1);
      moved.push_back(Select(Equal(count, 0), at(axis), Select(Equal(count, 1), without_one, at(axis - 2))));
    }
    return b_.Reshape(result, moved);
  }

  OnnxContext& c_;
  OpBuilder& b_;
  std::vector<Dim> ranks_;  // by input
};

}  // namespace

bool LowerOverlaid(const OnnxOp& row, OnnxContext* context) {
  OnnxContext& c = *context;
  // Before opset 7 an attribute said where a smaller input lies.
  if (row.overlay == Overlay::kNone || c.HasAttribute("axis") || c.HasAttribute("broadcast")) return false;
  int unranked = 0;
  for (ValueId input : c.inputs) {
    if (!input.valid()) continue;
    const Type& type = c.b.type(input);
    if (type.kind != TypeKind::kTensor || type.dtype == DType::kString || type.rank() > kMost) return false;
    unranked += IsUnranked(type) ? 1 : 0;
  }
  if (unranked < 2) return false;
  Overlaid(&c).Run(row);
  return true;
}

}  // namespace tvmvm::ir
