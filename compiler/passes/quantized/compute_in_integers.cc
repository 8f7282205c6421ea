// Products and convolutions of quantized numbers with constant weights are computed in integers: u8 by i8,
// summed exactly in i32.
//
// An operand is quantized where it is (x - zero) or (x - zero) * scale with x of 8 bits, as DequantizeLinear
// and the integer operators write it. The zero point of the data leaves the sum, and the scales leave with
// it:
//   sum((x - zero) * w) = sum(x * w) - zero * sum(w),   sum(x * scale * w * scales[c]) = scale * scales[c] *
//   sum(x * w)
// so that the data enters as it is stored. Weights are taken less their zero points; where that leaves eight
// bits, less 128, and what is missing is a multiple of the data's sum.

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "compiler/graph/core_op.h"
#include "compiler/graph/evaluate.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Node;
using ir::OpBuilder;
using ir::OpKind;
using ir::TensorData;
using ir::ValueId;
using tensor::ExprOp;

// Values of the old function.
struct Quantized {
  ValueId data;   // u8 or i8
  ValueId zero;   // i32; invalid: 0
  ValueId scale;  // f32; invalid: the operand is the integers themselves
};

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

// Whether a parameter of data of `rank` has one entry for all, or one for each index of `axis`; axis -1: one.
bool VariesAlongOnly(const ir::Type& parameter, int rank, int axis) {
  for (int i = 0; i < parameter.rank(); ++i)
    if (i + rank - parameter.rank() != axis && !parameter.dims[static_cast<size_t>(i)].IsConstant(1))
      return false;
  return parameter.rank() <= rank;
}

bool IsOne(const ir::Type& parameter) { return VariesAlongOnly(parameter, parameter.rank(), -1); }

int64_t IntegerAt(const TensorData& data, size_t i) {
  switch (data.dtype) {
    case DType::kI8:
      return static_cast<int8_t>(data.bytes[i]);
    case DType::kU8:
      return static_cast<uint8_t>(data.bytes[i]);
    default: {
      int32_t value;
      std::memcpy(&value, data.bytes.data() + i * sizeof value, sizeof value);
      return value;
    }
  }
}

class Matcher {
 public:
  explicit Matcher(const ir::Function& function) : function_(function) {}

  const Node* Producer(ValueId value, ExprOp op) const {
    ir::NodeId producer = function_.value(value).producer;
    if (!producer.valid()) return nullptr;
    const Node& node = function_.node(producer);
    return node.op->scalar == op ? &node : nullptr;
  }

  std::optional<Quantized> Match(ValueId value) const {
    DType dtype = function_.type(value).dtype;
    if (dtype == DType::kI32) return Integers(value);
    const Node* product = dtype == DType::kF32 ? Producer(value, ExprOp::kMul) : nullptr;
    if (product == nullptr) return std::nullopt;
    for (int side = 0; side < 2; ++side) {
      const Node* number = Producer(product->inputs[side], ExprOp::kCast);
      if (number == nullptr) continue;
      std::optional<Quantized> quantized = Integers(number->inputs[0]);
      if (!quantized) continue;
      quantized->scale = product->inputs[1 - side];
      return quantized;
    }
    return std::nullopt;
  }

  // The constant that a value is: perhaps widened from bytes, moved, or a part of one.
  std::optional<TensorData> Constant(ValueId value) const {
    if (const TensorData* data = function_.ConstantOf(value)) return *data;
    ir::NodeId producer = function_.value(value).producer;
    if (!producer.valid()) return std::nullopt;
    const Node& node = function_.node(producer);
    if (node.inputs.size() != 1) return std::nullopt;
    const ir::Type &from = function_.type(node.inputs[0]), &to = function_.type(value);
    bool widens = node.op->scalar == ExprOp::kCast && to.dtype == DType::kI32 && IsByte(from.dtype);
    bool moves = node.op->kind == OpKind::kView || node.op->kind == OpKind::kMovement;
    if (!widens && !moves) return std::nullopt;
    std::optional<TensorData> data = Constant(node.inputs[0]);
    if (!data) return std::nullopt;
    const TensorData* inputs[] = {&*data};
    auto no_symbols = [](const ir::SymbolId&) { return std::optional<int64_t>(); };
    auto results = ir::EvaluateNode(node, {from}, {to}, inputs, no_symbols);
    return results ? std::optional(std::move(results->front())) : std::nullopt;
  }

 private:
  // x, widened or not, perhaps less a zero point.
  std::optional<Quantized> Integers(ValueId value) const {
    if (IsByte(function_.type(value).dtype)) return Quantized{value, {}, {}};
    if (const Node* wide = Producer(value, ExprOp::kCast)) {
      if (IsByte(function_.type(wide->inputs[0]).dtype)) return Quantized{wide->inputs[0], {}, {}};
      return std::nullopt;
    }
    const Node* difference = Producer(value, ExprOp::kSub);
    if (difference == nullptr || function_.type(value).dtype != DType::kI32) return std::nullopt;
    const Node* wide = Producer(difference->inputs[0], ExprOp::kCast);
    if (wide == nullptr || !IsByte(function_.type(wide->inputs[0]).dtype)) return std::nullopt;
    if (!(function_.type(value).dims == function_.type(wide->inputs[0]).dims)) return std::nullopt;
    if (!HoldsBytes(difference->inputs[1])) return std::nullopt;
    return Quantized{wide->inputs[0], difference->inputs[1], {}};
  }

  // Whether the i32 numbers of a zero point are ones of a byte: sums with others could overflow.
  bool HoldsBytes(ValueId value) const {
    if (const TensorData* data = function_.ConstantOf(value)) {
      for (int64_t i = 0; i < data->element_count(); ++i) {
        int64_t number = IntegerAt(*data, static_cast<size_t>(i));
        if (number < -128 || number > 255) return false;
      }
      return true;
    }
    ir::NodeId producer = function_.value(value).producer;
    if (!producer.valid()) return false;
    const Node& node = function_.node(producer);
    if (node.op->kind == OpKind::kView) return HoldsBytes(node.inputs[0]);
    return node.op->scalar == ExprOp::kCast && IsByte(function_.type(node.inputs[0]).dtype);
  }

  const ir::Function& function_;
};

// Weights as i8, one column for each index of `axis`. The true weights are values + offsets[column].
struct Weights {
  std::vector<int8_t> values;
  std::vector<int32_t> offsets;  // empty: all 0
  std::vector<int32_t> sums;     // of the values, by column
};

// The parameter's entry for each of `count` columns: one for all, or one each.
std::optional<std::vector<int64_t>> EntriesByColumn(const TensorData& data, int64_t count) {
  int64_t given = data.element_count();
  if (given != 1 && given != count) return std::nullopt;
  std::vector<int64_t> entries;
  for (int64_t i = 0; i < count; ++i)
    entries.push_back(IntegerAt(data, given == 1 ? 0 : static_cast<size_t>(i)));
  return entries;
}

std::optional<Weights> CenteredWeights(const TensorData& data, int axis, const std::vector<int64_t>& zeros) {
  int64_t columns = data.dims[static_cast<size_t>(axis)], inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < data.dims.size(); ++i) inner *= data.dims[i];
  auto count = static_cast<size_t>(data.element_count());
  // An i32 sum of bytes' products, whatever they are.
  constexpr int64_t kMaxDepth = ((int64_t{1} << 31) - 1) / (255 * 255);
  if (columns == 0 || static_cast<int64_t>(count) / columns > kMaxDepth) return std::nullopt;
  Weights weights;
  auto take = [&](const std::vector<int64_t>& origins) {
    weights.values.resize(count);
    weights.sums.assign(static_cast<size_t>(columns), 0);
    for (size_t i = 0; i < count; ++i) {
      auto column = static_cast<size_t>(static_cast<int64_t>(i) / inner % columns);
      int64_t value = IntegerAt(data, i) - origins[column];
      if (value < -128 || value > 127) return false;
      weights.values[i] = static_cast<int8_t>(value);
      weights.sums[column] += static_cast<int32_t>(value);
    }
    return true;
  };
  if (take(zeros)) return weights;
  std::vector<int64_t> middle(zeros.size(), data.dtype == DType::kU8 ? 128 : 0);
  if (!take(middle)) return std::nullopt;
  for (size_t i = 0; i < zeros.size(); ++i)
    weights.offsets.push_back(static_cast<int32_t>(middle[i] - zeros[i]));
  return weights;
}

class IntegerProducts {
 public:
  IntegerProducts(ir::Module* module, ir::Function* function)
      : old_(*function), matcher_(*function), rewriter_(module, function) {}

  Status Run() {
    rewriter_.Run([&](ir::NodeId id) {
      const Node& node = old_.node(id);
      bool is_product = node.op->kind == OpKind::kContraction || node.op->kind == OpKind::kConvolution;
      return is_product && Rewrite(node);
    });
    return rewriter_.Finish();
  }

 private:
  OpBuilder& b() { return rewriter_.builder(); }

  bool Rewrite(const Node& node) {
    DType result = old_.type(node.outputs[0]).dtype;
    if (result != DType::kF32 && result != DType::kI32) return false;
    std::optional<Quantized> left = matcher_.Match(node.inputs[0]), right = matcher_.Match(node.inputs[1]);
    if (!left || !right || left->scale.valid() != (result == DType::kF32) ||
        right->scale.valid() != left->scale.valid())
      return false;
    if (left->zero.valid() && !IsOne(old_.type(left->zero))) return false;
    if (left->scale.valid() && !IsOne(old_.type(left->scale))) return false;
    int axis = ColumnAxis(node);
    std::optional<TensorData> data = matcher_.Constant(right->data);
    if (!data || axis < 0 || !(data->dims.size() == static_cast<size_t>(RankOf(right->data)))) return false;
    int64_t columns = data->dims[static_cast<size_t>(axis)];
    std::vector<int64_t> zeros(static_cast<size_t>(columns), 0);
    for (ValueId parameter : {right->zero, right->scale})
      if (parameter.valid() && !VariesAlongOnly(old_.type(parameter), RankOf(right->data), axis))
        return false;
    if (right->zero.valid()) {
      std::optional<TensorData> zero = matcher_.Constant(right->zero);
      auto given = zero ? EntriesByColumn(*zero, columns) : std::nullopt;
      if (!given) return false;
      zeros = *given;
    }
    std::optional<Weights> weights = CenteredWeights(*data, axis, zeros);
    if (!weights || (!weights->offsets.empty() && !SumsLastAxis(node))) return false;
    Emit(node, *left, *right, *data, *weights);
    return true;
  }

  int RankOf(ValueId value) const { return old_.type(value).rank(); }

  // The weights' axis that is the result's channels or last axis; -1: none is.
  int ColumnAxis(const Node& node) const {
    if (node.op->kind == OpKind::kConvolution)
      return node.LayoutOf("layout") == ir::Layout::kChannelsLast ? -1 : 0;
    if (!node.Ints("rhs_batch").empty()) return -1;
    int axis = -1;
    const std::vector<int64_t>& contracted = node.Ints("rhs_contract");
    for (int i = 0; i < RankOf(node.inputs[1]); ++i) {
      if (std::find(contracted.begin(), contracted.end(), i) != contracted.end()) continue;
      if (axis >= 0) return -1;
      axis = i;
    }
    return axis;
  }

  // A product over the last axis of the data: its sums broadcast with the result.
  bool SumsLastAxis(const Node& node) const {
    return node.op->kind == OpKind::kContraction && node.Ints("lhs_batch").empty() &&
           node.Ints("lhs_contract") == std::vector<int64_t>{RankOf(node.inputs[0]) - 1};
  }

  // Entries by column in the dims that broadcast with the result.
  ValueId ByColumn(const Node& node, ValueId entries) {
    Dims dims{Product(b().dims(entries))};
    if (node.op->kind == OpKind::kConvolution)
      dims.resize(static_cast<size_t>(RankOf(node.inputs[0])) - 1, Dim(1));
    return b().Reshape(entries, IsOne(b().type(entries)) ? Dims{} : dims);
  }

  ValueId ByColumn(const Node& node, const std::vector<int32_t>& entries) {
    return ByColumn(node, b().Constant(TensorData::FromVector(
                              DType::kI32, {static_cast<int64_t>(entries.size())}, entries)));
  }

  void Emit(const Node& node, const Quantized& left, const Quantized& right, const TensorData& data,
            const Weights& weights) {
    ValueId x = rewriter_.Map(left.data);
    ValueId zero = left.zero.valid() ? b().Reshape(rewriter_.Map(left.zero), {}) : b().Scalar(DType::kI32, 0);
    if (b().dtype(x) == DType::kI8) {
      x = b().Cast(b().Add(b().Cast(x, DType::kI16), b().Scalar(DType::kI16, 128)), DType::kU8);
      zero = b().Add(zero, b().Scalar(DType::kI32, 128));
    }
    bool has_zero = b().ConstantScalar(zero) != 0.0;
    ValueId w = b().Constant(TensorData::FromVector(DType::kI8, data.dims, weights.values));
    ir::Attributes attributes = node.attributes;
    attributes["dtype"] = DType::kI32;
    if (node.op->kind == OpKind::kConvolution && has_zero) x = Padded(x, zero, &attributes);
    ValueId sum = b().Emit(node.op->name, {x, w}, std::move(attributes));
    if (has_zero) sum = b().Sub(sum, b().Mul(zero, ByColumn(node, weights.sums)));
    if (!weights.offsets.empty()) {
      ValueId centered = b().Sub(b().Cast(x, DType::kI32), zero);
      ValueId total = b().Reduce(tensor::ReduceKind::kSum, centered, {b().rank(x) - 1});
      sum = b().Add(sum, b().Mul(total, ByColumn(node, weights.offsets)));
    }
    if (left.scale.valid()) {
      ValueId scale =
          b().Mul(b().Reshape(rewriter_.Map(left.scale), {}), ByColumn(node, rewriter_.Map(right.scale)));
      sum = b().Mul(b().Cast(sum, DType::kF32), scale);
    }
    rewriter_.SetMap(node.outputs[0], sum);
  }

  // The data with its padding written out, which stands for the number 0: its zero point.
  ValueId Padded(ValueId x, ValueId zero, ir::Attributes* attributes) {
    Dims low{0, 0}, high{0, 0};
    for (auto [name, list] : {std::pair{"low", &low}, {"high", &high}}) {
      Dims& given = std::get<Dims>((*attributes)[name]);
      list->insert(list->end(), given.begin(), given.end());
      given.assign(given.size(), Dim(0));
    }
    auto is_zero = [](const Dim& dim) { return dim.IsConstant(0); };
    if (std::all_of(low.begin(), low.end(), is_zero) && std::all_of(high.begin(), high.end(), is_zero))
      return x;
    return b().Pad(x, b().Cast(zero, DType::kU8), low, high);
  }

  const ir::Function& old_;
  Matcher matcher_;
  GraphRewriter rewriter_;
};

}  // namespace

Status ComputeInIntegers(ir::Module& module, const PassContext&) {
  for (ir::Function& function : module.functions) TVMVM_CHECK_OK(IntegerProducts(&module, &function).Run());
  return {};
}

}  // namespace tvmvm::passes
