#include "compiler/onnx/ops/onnx_checks.h"

#include <fmt/core.h>

#include <utility>

namespace tvmvm::ir {

using tensor::ExprOp;

void RequireAll(OpBuilder& b, ValueId bools, std::string message) {
  if (b.failed()) return;
  ValueId flat = b.Reshape(bools, {Product(b.dims(bools))});
  Dim all = b.ReadDim(b.Reduce(tensor::ReduceKind::kAnd, flat, {0}));
  b.Require(all, std::move(message), {});
}

void RequireBetween(OpBuilder& b, ValueId integers, const Dim& least, const Dim& most,
                    std::string_view what) {
  if (b.failed()) return;
  Dim count = Product(b.dims(integers));
  ValueId flat = b.Cast(b.Reshape(integers, {count}), DType::kI64);
  Dim first = b.ReadDim(b.Reduce(tensor::ReduceKind::kMin, flat, {0}));
  Dim last = b.ReadDim(b.Reduce(tensor::ReduceKind::kMax, flat, {0}));
  b.Require(Or(Equal(count, 0), And(LessEqual(least, first), LessEqual(last, most))),
            fmt::format("{} go from {{0}} to {{1}}, want {{2}} to {{3}}", what), {first, last, least, most});
}

ValueId IsWithin(OpBuilder& b, ValueId x, double low, double high) {
  ValueId is_enough = b.Binary(ExprOp::kLessEqual, b.Scalar(b.dtype(x), low), x);
  return b.Binary(ExprOp::kAnd, is_enough, b.Binary(ExprOp::kLess, x, b.Scalar(b.dtype(x), high)));
}

}  // namespace tvmvm::ir
