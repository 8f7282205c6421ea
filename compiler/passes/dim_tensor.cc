#include "compiler/passes/dim_tensor.h"

namespace tvmvm::passes {
namespace {

using ir::Dim;
using ir::DimOp;
using ir::OpBuilder;
using ir::ValueId;
using tensor::ExprOp;

bool NeedsTensor(const Dim& dim, const SymbolTensors& tensors) {
  return AnySymbol(dim, [&](const ir::SymbolId& symbol) { return tensors(symbol).has_value(); });
}

ValueId Zero(OpBuilder& b) { return b.ScalarInt(DType::kI64, 0); }

ValueId Truth(OpBuilder& b, ValueId number) { return b.Binary(ExprOp::kNotEqual, number, Zero(b)); }

// Of a comparison or logic: 0 or 1.
ValueId Number(OpBuilder& b, ValueId truth) { return b.Cast(truth, DType::kI64); }

ValueId EmitBinary(OpBuilder& b, DimOp op, ValueId x, ValueId y) {
  switch (op) {
    case DimOp::kAdd:
      return b.Add(x, y);
    case DimOp::kMul:
      return b.Mul(x, y);
    case DimOp::kMin:
      return b.Min(x, y);
    case DimOp::kMax:
      return b.Max(x, y);
    case DimOp::kFloorDiv:
      return b.Binary(ExprOp::kFloorDiv, x, y);
    case DimOp::kCeilDiv:
      return b.Sub(Zero(b), b.Binary(ExprOp::kFloorDiv, b.Sub(Zero(b), x), y));
    case DimOp::kFloorMod:
      return b.Binary(ExprOp::kFloorMod, x, y);
    case DimOp::kEqual:
      return Number(b, b.Binary(ExprOp::kEqual, x, y));
    case DimOp::kNotEqual:
      return Number(b, b.Binary(ExprOp::kNotEqual, x, y));
    case DimOp::kLess:
      return Number(b, b.Binary(ExprOp::kLess, x, y));
    case DimOp::kLessEqual:
      return Number(b, b.Binary(ExprOp::kLessEqual, x, y));
    case DimOp::kAnd:
      return Number(b, b.Binary(ExprOp::kAnd, Truth(b, x), Truth(b, y)));
    case DimOp::kOr:
      return Number(b, b.Binary(ExprOp::kOr, Truth(b, x), Truth(b, y)));
    default:
      return b.Fail(Code::kInternal, "no tensor operation for a dim");
  }
}

}  // namespace

ValueId EmitDim(OpBuilder& b, const Dim& dim, const SymbolTensors& tensors) {
  if (!NeedsTensor(dim, tensors)) return b.DimScalar(dim);
  if (dim.is_symbol()) return *tensors(dim.symbol());
  std::vector<ValueId> parts;
  for (const Dim& operand : dim.operands()) parts.push_back(EmitDim(b, operand, tensors));
  if (dim.op() == DimOp::kNot) return Number(b, b.Binary(ExprOp::kEqual, parts[0], Zero(b)));
  if (dim.op() == DimOp::kSelect) return b.Where(Truth(b, parts[0]), parts[1], parts[2]);
  ValueId result = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) result = EmitBinary(b, dim.op(), result, parts[i]);
  return result;
}

}  // namespace tvmvm::passes
