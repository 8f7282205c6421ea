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
  if (op == DimOp::kCeilDiv) return b.Sub(Zero(b), b.Binary(ExprOp::kFloorDiv, b.Sub(Zero(b), x), y));
  std::optional<ExprOp> same = tensor::ExprOpOf(op);
  if (!same) return b.Fail(Code::kInternal, "no tensor operation for a dim");
  if (op < DimOp::kEqual) return b.Binary(*same, x, y);
  const bool is_logic = op == DimOp::kAnd || op == DimOp::kOr;
  return Number(b, b.Binary(*same, is_logic ? Truth(b, x) : x, is_logic ? Truth(b, y) : y));
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
