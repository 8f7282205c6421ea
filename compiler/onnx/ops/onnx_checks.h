// Limits of numbers that only running tells, and that are no dims.
#pragma once

#include <string>
#include <string_view>

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// The run fails with the message where one of the bools is false; the compile, where that is known.
void RequireAll(OpBuilder& b, ValueId bools, std::string message);
// The same where an integer is not within [least, most]; `what` they are, "numbers of images".
void RequireBetween(OpBuilder& b, ValueId integers, const Dim& least, const Dim& most, std::string_view what);
// Of floats: low <= x < high, which NaN is not.
ValueId IsWithin(OpBuilder& b, ValueId x, double low, double high);

}  // namespace tvmvm::ir
