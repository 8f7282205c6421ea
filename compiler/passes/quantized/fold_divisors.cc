// Where sums of quantized numbers are quantized again, one scale is left of several: a constant divisor goes
// into the scales of what it divides, what is subtracted from integers goes into one offset, and what was
// made a byte on the way is read as it was before. What is rounded is the same up to rounding.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "compiler/graph/core_op.h"
#include "compiler/graph/tensor_elements.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Node;
using ir::OpBuilder;
using ir::OpKind;
using ir::ValueId;
using tensor::ExprOp;

constexpr int kMostOperators = 8;  // between a quotient and a scale, or a number and what bounds it

// The sum of number * scale over all terms, and of an offset; a constant has no terms. What is invalid is
// left out.
struct ScaledSum {
  struct Term {
    ValueId number, scale;
  };
  std::vector<Term> terms;
  ValueId offset;
};

class DivisorFolding {
 public:
  DivisorFolding(ir::Module* module, ir::Function* function) : old_(*function), rewriter_(module, function) {}

  Status Run() {
    rewriter_.Run([&](ir::NodeId id) { return Rewrite(old_.node(id)); });
    return rewriter_.Finish();
  }

 private:
  OpBuilder& b() { return rewriter_.builder(); }

  // round(div(add(mul(x, scale), bias), divisor)) -> round(fma(x, scale / divisor, bias / divisor)), and the
  // like, for integers x
  bool Rewrite(const Node& node) {
    if (node.op->scalar != ExprOp::kRound) return false;
    const Node* quotient = rewriter_.OldProducer(node.inputs[0], ExprOp::kDiv);
    if (quotient == nullptr || old_.ConstantOf(quotient->inputs[0]) != nullptr) return false;
    const std::optional<double> divisor = NumberOf(quotient->inputs[1]);
    // Neither it nor its inverse is near the ends of what f32 holds.
    if (!divisor || !(*divisor > 1e-30 && *divisor < 1e30)) return false;
    if (old_.type(quotient->inputs[1]).rank() > old_.type(quotient->inputs[0]).rank()) return false;
    const std::optional<ScaledSum> sum = Divided(quotient->inputs[0], rewriter_.Map(quotient->inputs[1]), 0);
    if (!sum) return false;
    const ValueId rounded = b().Unary(ExprOp::kRound, ValueOf(*sum));
    // Terms that are broadcast in another order may say the same dims in other words.
    if (!(b().type(rounded) == old_.type(node.outputs[0]))) return false;
    rewriter_.SetMap(node.outputs[0], rounded);
    return true;
  }

  // `value` / `divisor`, which is positive, without a division of what is no constant.
  std::optional<ScaledSum> Divided(ValueId value, ValueId divisor, int depth) {
    if (old_.ConstantOf(value) != nullptr) return ScaledSum{{}, b().Div(rewriter_.Map(value), divisor)};
    const Node* node = rewriter_.OldProducer(value);
    if (node == nullptr || node->op->kind != OpKind::kElementwise || node->inputs.size() != 2 ||
        depth == kMostOperators)
      return std::nullopt;
    const ExprOp op = node->op->scalar;
    if (op == ExprOp::kMul) {
      const int side = old_.ConstantOf(node->inputs[1]) != nullptr ? 1 : 0;
      const Node* wide = rewriter_.OldProducer(node->inputs[1 - side], ExprOp::kCast);
      if (old_.ConstantOf(node->inputs[side]) == nullptr || wide == nullptr ||
          !IsInteger(old_.type(wide->inputs[0]).dtype))
        return std::nullopt;
      return Scaled(*wide, b().Div(rewriter_.Map(node->inputs[side]), divisor));
    }
    if (op != ExprOp::kAdd && op != ExprOp::kMax && op != ExprOp::kMin) return std::nullopt;
    std::optional<ScaledSum> x = Divided(node->inputs[0], divisor, depth + 1);
    const std::optional<ScaledSum> y = x ? Divided(node->inputs[1], divisor, depth + 1) : std::nullopt;
    if (!y) return std::nullopt;
    if (op != ExprOp::kAdd) return ScaledSum{{{b().Binary(op, ValueOf(*x), ValueOf(*y)), {}}}, {}};
    x->terms.insert(x->terms.end(), y->terms.begin(), y->terms.end());
    x->offset = SumOf(x->offset, y->offset);
    return x;
  }

  // An integer as f32, times `scale`.
  ScaledSum Scaled(const Node& wide, ValueId scale) {
    const ValueId number = wide.outputs[0];
    ValueId integer = wide.inputs[0], offset;
    const Node* difference = rewriter_.OldProducer(integer, ExprOp::kSub);
    if (difference != nullptr && old_.type(integer).dtype == DType::kI32 &&
        old_.ConstantOf(difference->inputs[1]) != nullptr &&
        old_.type(difference->inputs[0]).dims == old_.type(number).dims) {
      const ValueId less = b().Mul(b().Cast(rewriter_.Map(difference->inputs[1]), DType::kF32), scale);
      offset = b().Sub(b().Scalar(DType::kF32, 0), less);
      integer = difference->inputs[0];
    }
    // A byte that others read, too, is kept: it is the smaller one.
    if (const Node* byte = rewriter_.OldProducer(integer, ExprOp::kCast);
        byte != nullptr && IsOnly(byte->inputs[0]))
      if (const ValueId whole = BeforeByte(byte->inputs[0]); whole.valid())
        return {{{rewriter_.Map(whole), scale}}, offset};
    return {{{b().Cast(rewriter_.Map(integer), DType::kF32), scale}}, offset};
  }

  // The f32 that a byte was made from, where the byte is the same number: it is whole, clamped to what the
  // byte holds, and no NaN. Else invalid.
  ValueId BeforeByte(ValueId byte) const {
    const DType dtype = old_.type(byte).dtype;
    const Node* narrow = rewriter_.OldProducer(byte, ExprOp::kCast);
    if (narrow == nullptr || (dtype != DType::kU8 && dtype != DType::kI8)) return {};
    const double least = dtype == DType::kU8 ? 0 : -128;
    const Node* high = rewriter_.OldProducer(narrow->inputs[0], ExprOp::kMin);
    const Node* low = high != nullptr ? rewriter_.OldProducer(high->inputs[0], ExprOp::kMax) : nullptr;
    if (low == nullptr || NumberOf(low->inputs[1]) != least || NumberOf(high->inputs[1]) != least + 255)
      return {};
    ValueId rounded = low->inputs[0];
    if (const Node* sum = rewriter_.OldProducer(rounded, ExprOp::kAdd)) {
      const std::optional<double> zero = NumberOf(sum->inputs[1]);
      if (!zero || *zero != std::trunc(*zero)) return {};
      rounded = sum->inputs[0];
    }
    constexpr double kFar = 1e30;  // what is computed of such numbers is finite
    const bool is_whole = rewriter_.OldProducer(rounded, ExprOp::kRound) != nullptr;
    return is_whole && MagnitudeOf(rounded, 0) < kFar ? narrow->inputs[0] : ValueId();
  }

  // What no number of `value` is beyond; infinite where that is not seen.
  double MagnitudeOf(ValueId value, int depth) const {
    constexpr double kAny = std::numeric_limits<double>::infinity();
    if (const ir::TensorData* data = old_.ConstantOf(value)) return MagnitudeOf(*data);
    const Node* node = rewriter_.OldProducer(value);
    if (node == nullptr || depth == kMostOperators) return kAny;
    auto of = [&](size_t i) { return MagnitudeOf(node->inputs[i], depth + 1); };
    switch (node->op->scalar) {
      case ExprOp::kCast: {
        const DType from = old_.type(node->inputs[0]).dtype;
        return IsInteger(from) ? std::ldexp(1.0, DTypeBits(from)) : kAny;
      }
      case ExprOp::kAdd:
      case ExprOp::kMax:
      case ExprOp::kMin:
        return of(0) + of(1);
      case ExprOp::kMul:
        return of(0) * of(1);
      case ExprOp::kDiv:
        return of(0) / std::abs(NumberOf(node->inputs[1]).value_or(0));
      case ExprOp::kRound:
        return of(0) + 1;
      default:
        return kAny;
    }
  }

  static double MagnitudeOf(const ir::TensorData& data) {
    double most = 0;
    for (int64_t i = 0; i < data.element_count(); ++i) {
      const double number = data.dtype == DType::kF32 ? std::abs(ir::ReadElement(data, i).number) : NAN;
      if (std::isnan(number)) return std::numeric_limits<double>::infinity();
      most = std::max(most, number);
    }
    return most;
  }

  // The f32 that a constant of one element is.
  std::optional<double> NumberOf(ValueId value) const {
    const ir::TensorData* data = old_.ConstantOf(value);
    if (data == nullptr || data->dtype != DType::kF32 || data->element_count() != 1) return std::nullopt;
    return ir::ReadElement(*data, 0).number;
  }

  bool IsOnly(ValueId value) const { return rewriter_.UseCount(value) == 1; }

  ValueId SumOf(ValueId x, ValueId y) { return !x.valid() ? y : !y.valid() ? x : b().Add(x, y); }

  ValueId ValueOf(const ScaledSum& sum) {
    ValueId value = sum.offset;
    for (const auto& [number, scale] : sum.terms) {
      if (!scale.valid())
        value = SumOf(number, value);
      else if (value.valid())
        value = b().Emit("fma", {number, scale, value});
      else
        value = b().Mul(number, scale);
    }
    return value;
  }

  const ir::Function& old_;
  GraphRewriter rewriter_;
};

}  // namespace

Status FoldDivisors(ir::Module& module, const PassContext&) {
  for (ir::Function& function : module.functions) TVMVM_CHECK_OK(DivisorFolding(&module, &function).Run());
  return {};
}

}  // namespace tvmvm::passes
