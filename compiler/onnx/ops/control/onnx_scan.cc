// CumSum, CumProd.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

void Cumulative(OnnxContext& c, const char* kind) {
  OpBuilder& b = c.b;
  Dims axes = b.ReadDims(c.in(1));
  if (b.failed()) return;
  if (axes.size() != 1) {
    b.Fail(Code::kInvalidArgument, "axis is not a single number");
    return;
  }
  Dim axis = axes[0];
  int rank = b.rank(c.in(0));
  if (axis.is_constant()) {
    axis = Dim(b.NormalizeAxis(axis.value(), rank));
  } else {
    b.Require(And(LessEqual(-rank, axis), Less(axis, rank)),
              fmt::format("axis {{0}} is out of range for rank {}", rank), {axis});
    axis = Select(Less(axis, 0), axis + Dim(rank), axis);
  }
  if (b.failed()) return;
  c.Out(0, b.Emit("scan", {c.in(0)},
                  {{"axis", axis},
                   {"kind", std::string(kind)},
                   {"exclusive", c.Int("exclusive", 0)},
                   {"reverse", c.Int("reverse", 0)}}));
}

void CumSum(OnnxContext& c) { Cumulative(c, "sum"); }
void CumProd(OnnxContext& c) { Cumulative(c, "product"); }

constexpr OnnxOp kRows[] = {
    {"", "CumSum", 11, kLatest, 2, 2, "exclusive reverse", CumSum, kNumbers},
    {"", "CumProd", 26, kLatest, 2, 2, "exclusive reverse", CumProd, kNumbers},
};

}  // namespace

std::span<const OnnxOp> OnnxScanRows() { return kRows; }

}  // namespace tvmvm::ir
