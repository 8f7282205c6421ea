#include "compiler/onnx/importer/string_positions.h"

#include <fmt/format.h>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {

void LowerOnPositions(const OnnxOp& row, OnnxContext* context) {
  OpBuilder& b = context->b;
  std::vector<ValueId> strings, positions;
  std::vector<ValueId> inputs = context->inputs;
  const auto data = static_cast<size_t>(row.types.input);
  const bool moves_strings = !context->has(data) || b.dtype(context->in(data)) == DType::kString;
  Dim before = 0;  // strings in the inputs so far
  for (ValueId& input : context->inputs) {
    if (!input.valid() || b.dtype(input) != DType::kString) continue;
    if (!moves_strings) {
      b.Fail(Code::kInvalidArgument,
             fmt::format("strings beside data of type {}", DTypeName(b.dtype(context->in(data)))));
      return;
    }
    Dims dims = b.dims(input);
    Dim count = Product(dims);
    ValueId own = b.Iota(DType::kI64, {count}, 0);
    if (!before.IsConstant(0)) own = b.Add(own, b.DimScalar(before));
    strings.push_back(input);
    input = b.Reshape(own, dims);
    positions.push_back(input);
    before = before + count;
  }
  row.lower(*context);
  context->inputs = std::move(inputs);
  if (strings.empty() || b.failed()) return;
  for (ValueId& output : context->outputs) {
    if (!output.valid()) continue;
    bool is_unchanged = strings.size() == 1 && output == positions[0];
    output = is_unchanged ? strings[0] : TakeStrings(b, output, strings);
  }
}

}  // namespace tvmvm::ir
