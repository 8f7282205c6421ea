#include "cli/forecast.h"

#include <fmt/format.h>

#include "bytecode/dim_expression.h"
#include "cli/console.h"

namespace tvmvm::cli {
namespace {

std::string Bytes(int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); }

// Every dimension that has a name, as the inputs have it.
DimRanges DimsOf(const FunctionSpec& main, std::span<const Value> inputs) {
  DimRanges dims;
  for (size_t k = 0; k < inputs.size() && k < main.inputs.size(); ++k) {
    const ParameterSpec& input = main.inputs[k];
    if (input.type.kind != ValueKind::kTensor || !input.type.has_rank || !inputs[k].is_tensor()) continue;
    for (size_t axis = 0; axis < input.type.dims.size(); ++axis) {
      const DimSpec& dim = input.type.dims[axis];
      if (dim.value >= 0) continue;
      const int64_t size = inputs[k].tensor().shape()[static_cast<int>(axis)];
      SymbolTable symbols;
      auto expression = DimExpression::Parse(dim.symbol.empty() ? "?" : dim.symbol, &symbols);
      if (!expression || !expression->plain_symbol()) continue;
      const std::string& name = symbols.name(*expression->plain_symbol());
      dims[name.empty() ? fmt::format("{}[{}]", input.name, axis) : name] = {size, size};
    }
  }
  return dims;
}

}  // namespace

std::string FormatRange(const ByteRange& range) {
  if (!range.is_bounded()) return "at least " + Bytes(range.low);
  return range.is_exact() ? Bytes(range.high) : Bytes(range.low) + " to " + Bytes(range.high);
}

Json UpperEnd(const ByteRange& range) { return range.is_bounded() ? Json(range.high) : Json(nullptr); }

Planned PlannedFor(const Vm& vm, std::span<const Value> inputs, bool donates) {
  const Expected<MemoryForecast> forecast = vm.Plan(DimsOf(vm.program().main(), inputs));
  if (!forecast) return {};
  // What is not donated the program makes, whenever it does: at most beside everything else.
  ByteRange bytes = forecast->peak_bytes;
  if (!donates && forecast->donated_bytes.high > 0)
    bytes.high = bytes.is_bounded() && forecast->donated_bytes.is_bounded()
                     ? bytes.high + forecast->donated_bytes.high
                     : ByteRange::kUnbounded;
  return {bytes, true};
}

std::string FormatPlanned(const Planned& planned) {
  return planned.is_known ? "planned " + FormatRange(planned.bytes) : "no plan";
}

Json ToJson(const Planned& planned) {
  if (!planned.is_known) return nullptr;
  return {{"low", planned.bytes.low}, {"high", UpperEnd(planned.bytes)}};
}

}  // namespace tvmvm::cli
