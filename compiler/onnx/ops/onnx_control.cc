// If, Loop, Scan, SequenceMap.
#include "compiler/onnx/ops/onnx_control.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "compiler/graph/core_op.h"
#include "compiler/graph/type_join.h"
#include "compiler/onnx/model/onnx_model.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

const OnnxGraph* GraphOf(OnnxContext& c, std::string_view name) {
  const OnnxAttribute* attribute = c.Attr(name);
  if (attribute != nullptr && attribute->graph != nullptr) return attribute->graph.get();
  c.b.Fail(Code::kInvalidArgument, fmt::format("the attribute {} is missing or no graph", name));
  return nullptr;
}

// ---- If ----

void If(OnnxContext& c) {
  OpBuilder& b = c.b;
  const OnnxGraph* then_branch = GraphOf(c, "then_branch");
  const OnnxGraph* else_branch = GraphOf(c, "else_branch");
  Dim condition = b.ReadDim(c.in(0));
  if (b.failed()) return;
  std::vector<ValueId> results = BuildIf(
      b, condition, [&] { return c.import_graph(*then_branch, {}); },
      [&] { return c.import_graph(*else_branch, {}); });
  for (size_t i = 0; i < results.size(); ++i) c.Out(i, results[i]);
}

// ---- Loop ----

void Loop(OnnxContext& c) {
  OpBuilder& b = c.b;
  const OnnxGraph* body = GraphOf(c, "body");
  if (body == nullptr) return;
  LoopSpec spec;
  spec.key = body;
  if (c.has(0)) spec.trip = b.ReadDim(c.in(0));
  if (c.has(1)) spec.start = b.ReadDim(c.in(1));
  spec.tests = true;
  for (size_t i = 2; i < c.inputs.size(); ++i) {
    if (!c.has(i)) {
      b.Fail(Code::kInvalidArgument, fmt::format("the initial value {} is missing", i));
      return;
    }
    spec.initial.push_back(c.in(i));
  }
  bool has_condition = c.has(1);
  spec.body = [&](const Dim& index, const std::vector<ValueId>& carried) -> Expected<std::vector<ValueId>> {
    std::vector<ValueId> arguments{b.DimScalar(index), b.ScalarInt(DType::kBool, 1)};
    // Some models declare the two as tensors of one element.
    for (size_t i = 0; i < 2 && i < body->inputs.size(); ++i)
      if (const auto& type = body->inputs[i].type; type && type->ranked && type->dims.size() == 1)
        arguments[i] = b.Reshape(arguments[i], {1});
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    TVMVM_TRY(std::vector<ValueId> results, c.import_graph(*body, arguments));
    if (!has_condition && !results.empty()) results[0] = b.ScalarInt(DType::kBool, 1);
    return results;
  };
  std::vector<ValueId> results = BuildLoop(c, spec);
  for (size_t i = 0; i < results.size(); ++i) c.Out(i, results[i]);
}

// ---- Scan ----

struct ScanAxes {
  std::vector<int64_t> input_axes, output_axes;
  std::vector<int64_t> input_reversed, output_reversed;
};

std::vector<int64_t> IntsOr(OnnxContext& c, std::string_view name, size_t count) {
  std::vector<int64_t> ints = c.Ints(name, std::vector<int64_t>(count, 0));
  if (ints.size() != count)
    c.b.Fail(Code::kInvalidArgument, fmt::format("{} has {} entries, want {}", name, ints.size(), count));
  ints.resize(count);
  return ints;
}

ValueId Step(OpBuilder& b, ValueId scanned, int64_t axis, const Dim& position) {
  int at = b.NormalizeAxis(axis, b.rank(scanned));
  if (b.failed()) return scanned;
  return b.Squeeze(b.SliceAxis(scanned, at, position, 1), {at});
}

// Collected values have the steps first; `axis` is where they belong.
ValueId Arrange(OpBuilder& b, ValueId collected, int64_t axis, bool reversed) {
  const Dims dims = b.dims(collected);
  if (reversed) {
    Dims starts(dims.size(), 0), steps(dims.size(), 1);
    starts[0] = dims[0] - 1;
    steps[0] = -1;
    collected = b.Slice(collected, starts, steps, dims);
  }
  int rank = static_cast<int>(dims.size()), to = b.NormalizeAxis(axis, rank);
  if (to == 0) return collected;
  std::vector<int64_t> perm;
  for (int i = 1; i < rank; ++i) perm.push_back(i);
  perm.insert(perm.begin() + to, 0);
  return b.Transpose(collected, perm);
}

// One scan: states and scanned inputs to final states and scanned outputs.
std::vector<ValueId> ScanOnce(OnnxContext& c, const OnnxGraph& body, const std::vector<ValueId>& states,
                              const std::vector<ValueId>& scanned, const ScanAxes& axes, const Dim& trip) {
  OpBuilder& b = c.b;
  LoopSpec spec;
  spec.key = &body;
  spec.trip = trip;
  spec.initial = states;
  spec.body = [&](const Dim& index, const std::vector<ValueId>& carried) -> Expected<std::vector<ValueId>> {
    std::vector<ValueId> arguments = carried;
    for (size_t i = 0; i < scanned.size(); ++i)
      arguments.push_back(
          Step(b, scanned[i], axes.input_axes[i], axes.input_reversed[i] ? trip - 1 - index : index));
    return c.import_graph(body, arguments);
  };
  std::vector<ValueId> results = BuildLoop(c, spec);
  if (b.failed()) return {};
  for (size_t i = states.size(); i < results.size(); ++i) {
    size_t number = i - states.size();
    if (number < axes.output_axes.size())
      results[i] = Arrange(b, results[i], axes.output_axes[number], axes.output_reversed[number] != 0);
  }
  return results;
}

struct ScanParts {
  const OnnxGraph* body = nullptr;
  std::vector<ValueId> states, scanned;
};

// Inputs from `first` on: states, then as many scanned ones as num_scan_inputs tells.
ScanParts PartsOf(OnnxContext& c, size_t first) {
  ScanParts parts;
  parts.body = GraphOf(c, "body");
  int64_t count = c.Int("num_scan_inputs", 0);
  int64_t given = static_cast<int64_t>(c.inputs.size()) - static_cast<int64_t>(first);
  if (parts.body == nullptr || count < 1 || count > given) {
    c.b.Fail(Code::kInvalidArgument, fmt::format("num_scan_inputs is {}, of {} inputs", count, given));
    return parts;
  }
  for (size_t i = first; i < c.inputs.size(); ++i)
    (static_cast<int64_t>(i - first) < given - count ? parts.states : parts.scanned).push_back(c.in(i));
  return parts;
}

void Scan9(OnnxContext& c) {
  OpBuilder& b = c.b;
  ScanParts parts = PartsOf(c, 0);
  if (b.failed()) return;
  size_t outputs = parts.body->outputs.size() - std::min(parts.body->outputs.size(), parts.states.size());
  ScanAxes axes{IntsOr(c, "scan_input_axes", parts.scanned.size()), IntsOr(c, "scan_output_axes", outputs),
                IntsOr(c, "scan_input_directions", parts.scanned.size()),
                IntsOr(c, "scan_output_directions", outputs)};
  if (b.failed()) return;
  int axis = b.NormalizeAxis(axes.input_axes[0], b.rank(parts.scanned[0]));
  Dim trip = b.dim(parts.scanned[0], axis);
  std::vector<ValueId> results = ScanOnce(c, *parts.body, parts.states, parts.scanned, axes, trip);
  for (size_t i = 0; i < results.size(); ++i) c.Out(i, results[i]);
}

// Opset 8: every input has a batch axis before the others, and each entry may have a length of its own.
void Scan8(OnnxContext& c) {
  OpBuilder& b = c.b;
  ScanParts parts = PartsOf(c, 1);
  if (b.failed()) return;
  size_t outputs = parts.body->outputs.size() - std::min(parts.body->outputs.size(), parts.states.size());
  ScanAxes axes{std::vector<int64_t>(parts.scanned.size(), 0), std::vector<int64_t>(outputs, 0),
                IntsOr(c, "directions", parts.scanned.size()), std::vector<int64_t>(outputs, 0)};
  if (b.failed()) return;
  Dim longest = b.dim(parts.scanned[0], 1);
  LoopSpec batch;
  batch.key = &parts.body->outputs;  // the body itself tells the inner loop apart
  batch.trip = b.dim(parts.scanned[0], 0);
  batch.body = [&](const Dim& entry, const std::vector<ValueId>&) -> Expected<std::vector<ValueId>> {
    auto entry_of = [&](ValueId value) { return Step(b, value, 0, entry); };
    std::vector<ValueId> states, scanned;
    for (ValueId state : parts.states) states.push_back(entry_of(state));
    for (ValueId value : parts.scanned) scanned.push_back(entry_of(value));
    Dim trip = longest;
    if (c.has(0)) trip = Max(Min(b.ReadDim(entry_of(c.in(0))), longest), 0);
    std::vector<ValueId> results = ScanOnce(c, *parts.body, states, scanned, axes, trip);
    if (b.failed()) return results;
    // Shorter entries are filled up with zeros.
    for (size_t i = states.size(); i < results.size() && c.has(0); ++i) {
      Dims low(b.dims(results[i]).size(), 0), high = low;
      high[0] = longest - trip;
      Dims dims = b.dims(results[i]);
      dims[0] = longest;
      results[i] = b.Reshape(b.Pad(results[i], b.Scalar(b.dtype(results[i]), 0), low, high), dims);
    }
    return results;
  };
  std::vector<ValueId> results = BuildLoop(c, batch);
  for (size_t i = 0; i < results.size(); ++i) c.Out(i, results[i]);
}

// ---- SequenceMap ----

void SequenceMap(OnnxContext& c) {
  OpBuilder& b = c.b;
  const OnnxGraph* body = GraphOf(c, "body");
  if (body == nullptr) return;
  Dim length = b.module().FreshSymbol({.range = {0, INT64_MAX}});
  b.Host(HostFunctionId::kSequenceLength, {c.in(0)}, {}, {}, {length.symbol()});
  LoopSpec spec;
  spec.key = body;
  spec.trip = length;
  Type empty;
  empty.kind = TypeKind::kSequence;
  for (size_t i = 0; i < body->outputs.size(); ++i)
    spec.initial.push_back(b.Host(HostFunctionId::kSequenceConstruct, {}, {empty})[0]);
  spec.body = [&](const Dim& index, const std::vector<ValueId>& carried) -> Expected<std::vector<ValueId>> {
    std::vector<ValueId> arguments;
    for (ValueId input : c.inputs) {
      const Type type = b.type(input);
      if (type.kind != TypeKind::kSequence) {
        arguments.push_back(input);
        continue;
      }
      if (type.elements.empty())
        return MakeError(Code::kInvalidArgument, "a sequence that never has an element");
      Type element = Instantiate(&b.module(), type.elements[0]);
      arguments.push_back(b.Host(HostFunctionId::kSequenceAt, {input}, {element}, {index})[0]);
    }
    TVMVM_TRY(std::vector<ValueId> results, c.import_graph(*body, arguments));
    for (size_t i = 0; i < results.size() && i < carried.size(); ++i) {
      Type sequence = SequenceOf(b.type(results[i]));
      results[i] =
          b.Host(HostFunctionId::kSequenceInsert, {carried[i], results[i]}, {sequence}, {index, 0})[0];
    }
    return results;
  };
  std::vector<ValueId> results = BuildLoop(c, spec);
  for (size_t i = 0; i < results.size(); ++i) c.Out(i, results[i]);
}

constexpr OnnxOp kRows[] = {
    {"", "If", 1, kLatest, 1, 1, "then_branch else_branch", If, kBools},
    Collecting(1, {"", "Loop", 1, kLatest, 0, -1, "body", Loop, kAnyValue}),  // the condition
    Collecting(0, {"", "Scan", 8, 8, 0, -1, "body num_scan_inputs directions", Scan8,
                   OfInput(1, kAllTypes - kStrings)}),
    Collecting(0, {"", "Scan", 9, kLatest, 1, -1,
                   "body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes "
                   "scan_output_directions",
                   Scan9, kAllTypes - kStrings}),
    {"", "SequenceMap", 17, kLatest, 1, -1, "body", SequenceMap, kAnyValue},
};

}  // namespace

std::span<const OnnxOp> OnnxControlRows() { return kRows; }

}  // namespace tvmvm::ir
