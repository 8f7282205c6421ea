// Optionals. Since opset 18 whatever is no optional is an optional with an element.
#include <fmt/core.h>

#include "compiler/graph/type_join.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

// The type that the attribute `type` gives to an optional without element is not needed: nobody can read it.
void Optional(OnnxContext& c) {
  Type type;
  type.kind = TypeKind::kOptional;
  if (c.has(0)) type = OptionalOf(c.b.type(c.in(0)));
  c.Out(0, c.b.Host(HostFunctionId::kOptionalMake, {c.in(0)}, {type})[0]);
}

void HasElement(OnnxContext& c) {
  OpBuilder& b = c.b;
  bool is_optional = c.has(0) && b.type(c.in(0)).kind == TypeKind::kOptional;
  if (!is_optional) return c.Out(0, b.ScalarInt(DType::kBool, c.has(0)));
  Dim has = b.module().FreshSymbol({.range = {0, 1}});
  b.Host(HostFunctionId::kOptionalHas, {c.in(0)}, {}, {}, {has.symbol()});
  c.Out(0, b.DimScalar(has, DType::kBool));
}

void GetElement(OnnxContext& c) {
  OpBuilder& b = c.b;
  const Type& type = b.type(c.in(0));
  if (type.kind != TypeKind::kOptional) return c.Out(0, c.in(0));
  if (type.elements.empty()) {
    b.Fail(Code::kInvalidArgument, "the optional never has an element");
    return;
  }
  c.Out(0, b.Host(HostFunctionId::kOptionalGet, {c.in(0)}, {Instantiate(&b.module(), type.elements[0])})[0]);
}

constexpr OnnxOp kRows[] = {
    {"", "Optional", 15, kLatest, 0, 1, "type", Optional, kAnyValue, StringUse::kNative, Runs::kOnHost},
    {"", "OptionalHasElement", 15, kLatest, 0, 1, "", HasElement, kAnyValue, StringUse::kNative,
     Runs::kOnHost},
    {"", "OptionalGetElement", 15, kLatest, 1, 1, "", GetElement, kAnyValue, StringUse::kNative,
     Runs::kOnHost},
};

}  // namespace

std::span<const OnnxOp> OnnxOptionalRows() { return kRows; }

}  // namespace tvmvm::ir
