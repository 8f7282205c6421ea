// If, Loop, Scan, SequenceMap.
#include "compiler/ops/onnx_control.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "compiler/importers/onnx_model.h"
#include "compiler/ir/type_join.h"
#include "compiler/ops/core_op.h"
#include "compiler/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

const OnnxGraph* GraphOf(OnnxContext& c, std::string_view name) {
  const OnnxAttribute* attribute = c.Attr(name);
  if (attribute != nullptr && attribute->graph != nullptr) return attribute->graph.get();
  c.b.Fail(Code::kInvalidArgument, fmt::format("the attribute {} is missing or no graph", name));
  return nullptr;
}

void FailWith(OpBuilder& b, const Error& error) { b.Fail(error.code, error.message); }

// ---- If ----

class IfBuilder {
 public:
  explicit IfBuilder(OnnxContext& c) : c_(c), b_(c.b), inner_(c.b.module()) {}

  void Run(const Dim& condition, const OnnxGraph& then_branch, const OnnxGraph& else_branch) {
    std::string source = b_.source();
    if (!ImportBranch(then_branch, 0) || !ImportBranch(else_branch, 1)) return;
    b_.SetSource(std::move(source));
    if (results_[0].size() != results_[1].size()) {
      b_.Fail(Code::kInvalidArgument,
              fmt::format("one branch has {} outputs, the other {}", results_[0].size(), results_[1].size()));
      return;
    }
    node_.op = &GetCoreOp("if");
    node_.source = b_.source();
    node_.regions = {regions_[0], regions_[1]};
    node_.attributes["condition"] = condition;
    std::vector<ValueId> outputs;
    for (size_t i = 0; i < results_[0].size() && !b_.failed(); ++i) outputs.push_back(Merge(i));
    if (b_.failed()) return;
    node_.attributes["symbols"] = std::move(symbols_);
    node_.attributes["then_values"] = std::move(values_[0]);
    node_.attributes["else_values"] = std::move(values_[1]);
    b_.function().region(b_.region()).nodes.push_back(b_.function().AddNode(std::move(node_)));
    for (size_t i = 0; i < outputs.size(); ++i) {
      // Contents that are known as dims need no value of their own.
      if (!outputs[i].valid()) {
        Dims dims = b_.dims(results_[0][i]);
        outputs[i] = b_.Reshape(b_.DimsTensor(elements_[i], b_.dtype(results_[0][i])), dims);
      }
      c_.Out(i, outputs[i]);
    }
  }

 private:
  bool ImportBranch(const OnnxGraph& graph, int branch) {
    regions_[branch] = b_.function().AddRegion();
    b_.EnterRegion(regions_[branch]);
    auto results = c_.import_graph(graph, {});
    b_.LeaveRegion();
    if (!results) {
      FailWith(b_, results.error());
      return false;
    }
    results_[branch] = *results;
    return !b_.failed();
  }

  // What is `a` in one case and `b` in the other.
  Dim MergeDim(const Dim& a, const Dim& b, DimRange range) {
    if (a == b && !inner_.Mentioned(a)) return a;
    Dim merged = b_.module().FreshSymbol({.range = range});
    symbols_.push_back(merged.symbol());
    values_[0].push_back(a);
    values_[1].push_back(b);
    return merged;
  }

  // The result; invalid: it is known by its contents, which are in elements_.
  ValueId Merge(size_t number) {
    ValueId a = results_[0][number], b = results_[1][number];
    const Type x = b_.type(a), y = b_.type(b);
    const auto x_elements = b_.function().value(a).elements, y_elements = b_.function().value(b).elements;
    elements_.emplace_back();
    if (x_elements && y_elements && x == y && x_elements->size() == y_elements->size()) {
      for (size_t i = 0; i < x_elements->size(); ++i)
        elements_.back().push_back(MergeDim((*x_elements)[i], (*y_elements)[i], {INT64_MIN, INT64_MAX}));
      return {};
    }
    auto joined = Join(x, y);
    if (!joined) {
      return b_.Fail(Code::kInvalidArgument, fmt::format("output {} is {} in one branch and {} in the other",
                                                         number, x.ToString(), y.ToString()));
    }
    if (joined->kind == TypeKind::kTensor && joined->ranked)
      for (size_t axis = 0; axis < joined->dims.size(); ++axis)
        joined->dims[axis] = MergeDim(x.dims[axis], y.dims[axis], {0, INT64_MAX});
    b_.function().region(regions_[0]).results.push_back(a);
    b_.function().region(regions_[1]).results.push_back(b);
    node_.outputs.push_back(b_.function().AddValue(*std::move(joined)));
    return node_.outputs.back();
  }

  OnnxContext& c_;
  OpBuilder& b_;
  InnerSymbols inner_;
  Node node_;
  RegionId regions_[2];
  std::vector<ValueId> results_[2];
  std::vector<std::string> symbols_;
  Dims values_[2];
  std::vector<Dims> elements_;  // by output
};

void If(OnnxContext& c) {
  OpBuilder& b = c.b;
  const OnnxGraph* then_branch = GraphOf(c, "then_branch");
  const OnnxGraph* else_branch = GraphOf(c, "else_branch");
  Dims condition = b.ReadDims(c.in(0));
  if (b.failed()) return;
  if (condition.size() != 1) {
    b.Fail(Code::kInvalidArgument, "the condition is no single bool");
    return;
  }
  if (!condition[0].is_constant()) return IfBuilder(c).Run(condition[0], *then_branch, *else_branch);
  auto results = c.import_graph(condition[0].value() != 0 ? *then_branch : *else_branch, {});
  if (!results) return FailWith(b, results.error());
  for (size_t i = 0; i < results->size(); ++i) c.Out(i, (*results)[i]);
}

// ---- Loop ----

// The single integer or bool of an input, of rank 0 or 1.
Dim ReadScalar(OpBuilder& b, ValueId value, std::string_view what) {
  Dims dims = b.ReadDims(value);
  if (dims.size() == 1) return dims[0];
  b.Fail(Code::kInvalidArgument, fmt::format("{} has {} elements, one is wanted", what, dims.size()));
  return 0;
}

void Loop(OnnxContext& c) {
  OpBuilder& b = c.b;
  const OnnxGraph* body = GraphOf(c, "body");
  if (body == nullptr) return;
  LoopSpec spec;
  spec.key = body;
  if (c.has(0)) spec.trip = ReadScalar(b, c.in(0), "the trip count");
  if (c.has(1)) spec.start = ReadScalar(b, c.in(1), "the condition");
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
    if (c.has(0)) trip = Max(Min(ReadScalar(b, entry_of(c.in(0)), "a length"), longest), 0);
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
    {"", "If", 1, kLatest, 1, 1, "then_branch else_branch", If},
    {"", "Loop", 1, kLatest, 0, -1, "body", Loop, StringUse::kNative, true},
    {"", "Scan", 8, 8, 0, -1, "body num_scan_inputs directions", Scan8},
    {"", "Scan", 9, kLatest, 1, -1,
     "body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes scan_output_directions",
     Scan9},
    {"", "SequenceMap", 17, kLatest, 1, -1, "body", SequenceMap, StringUse::kNative, true},
};

}  // namespace

std::span<const OnnxOp> OnnxControlRows() { return kRows; }

}  // namespace tvmvm::ir
