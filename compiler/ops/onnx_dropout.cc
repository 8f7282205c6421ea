// Dropout and what a trained model keeps of it.
#include <fmt/core.h>

#include "compiler/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

// Training is a matter of the mode input from opset 12 on; a ratio of 0 drops nothing even then.
void Dropout(OnnxContext& c) {
  OpBuilder& b = c.b;
  bool training = false;
  if (c.version >= 12 && c.has(2)) {
    auto mode = b.ConstantScalar(c.in(2));
    auto ratio = c.has(1) ? b.ConstantScalar(c.in(1)) : std::optional<double>(0.5);
    training = !(mode.has_value() && *mode == 0) && !(ratio.has_value() && *ratio == 0);
  } else if (c.version < 7) {
    training = c.Int("is_test", 0) == 0 && c.wants(1);
  }
  if (training) {
    b.Fail(Code::kUnsupported, "training mode");
    return;
  }
  c.Out(0, c.in(0));
  // Until opset 9 the mask had the data's type.
  if (c.wants(1)) {
    DType dtype = c.version < 10 ? b.dtype(c.in(0)) : DType::kBool;
    Dims dims = b.dims(c.in(0));
    c.Out(1, b.Expand(b.Cast(b.ScalarInt(DType::kI64, 1), dtype), dims));
  }
}

constexpr OnnxOp kRows[] = {
    {"", "Dropout", 1, 6, 1, 1, "is_test ratio", Dropout},
    {"", "Dropout", 7, 11, 1, 1, "ratio", Dropout},
    {"", "Dropout", 12, kLatest, 1, 3, "seed", Dropout},
};

}  // namespace

std::span<const OnnxOp> OnnxDropoutRows() { return kRows; }

}  // namespace tvmvm::ir
