#include "compiler/onnx/ops/onnx_op.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using Kind = OnnxAttribute::Kind;

std::vector<const OnnxOp*> ListRows() {
  std::vector<const OnnxOp*> rows;
  auto add = [&](std::span<const OnnxOp> family) {
    for (const OnnxOp& row : family) rows.push_back(&row);
  };
#define FAMILY(Name) add(Onnx##Name##Rows());
#include "compiler/onnx/ops/families.def"
#undef FAMILY
  return rows;
}

const std::vector<const OnnxOp*>& AllRows() {
  static const std::vector<const OnnxOp*> kRows = ListRows();
  return kRows;
}

using RowsByName = std::unordered_map<std::string_view, std::vector<const OnnxOp*>>;

const RowsByName& NameIndex() {
  static const RowsByName kIndex = [] {
    RowsByName index;
    for (const OnnxOp* row : AllRows()) index[row->name].push_back(row);
    return index;
  }();
  return kIndex;
}

}  // namespace

std::span<const OnnxOp* const> OnnxOps() { return AllRows(); }

const OnnxOp* FindOnnxOp(std::string_view domain, std::string_view name, int version) {
  auto found = NameIndex().find(name);
  if (found == NameIndex().end()) return nullptr;
  for (const OnnxOp* row : found->second) {
    if (row->domain == domain && row->since <= version && version <= row->until) return row;
  }
  return nullptr;
}

bool Understands(const OnnxOp& row, std::string_view attribute, int version) {
  // Opsets 1 to 5 carried a hint for in-place execution.
  if (attribute == "consumed_inputs" && version < 6) return true;
  std::string_view names = row.attributes;
  while (!names.empty()) {
    size_t space = names.find(' ');
    if (names.substr(0, space) == attribute) return true;
    names = space == std::string_view::npos ? std::string_view() : names.substr(space + 1);
  }
  return false;
}

void OnnxContext::Out(size_t output, ValueId value) {
  if (output < outputs.size() && wants(output)) outputs[output] = value;
}

const OnnxAttribute* OnnxContext::Attr(std::string_view name) const {
  auto found = attributes.find(std::string(name));
  return found == attributes.end() ? nullptr : &found->second;
}

bool OnnxContext::HasAttribute(std::string_view name) const { return Attr(name) != nullptr; }

const OnnxAttribute* OnnxContext::AttrOfKind(std::string_view name, Kind kind,
                                             std::string_view kind_name) const {
  const OnnxAttribute* attribute = Attr(name);
  if (attribute == nullptr || attribute->kind == kind) return attribute;
  b.Fail(Code::kInvalidArgument, fmt::format("the attribute '{}' is not {}", name, kind_name));
  return nullptr;
}

int64_t OnnxContext::Int(std::string_view name, int64_t otherwise) const {
  const OnnxAttribute* attribute = AttrOfKind(name, Kind::kInt, "an integer");
  return attribute == nullptr ? otherwise : attribute->integer;
}

double OnnxContext::Float(std::string_view name, double otherwise) const {
  const OnnxAttribute* attribute = AttrOfKind(name, Kind::kFloat, "a float");
  return attribute == nullptr ? otherwise : attribute->number;
}

std::string OnnxContext::Text(std::string_view name, std::string otherwise) const {
  const OnnxAttribute* attribute = AttrOfKind(name, Kind::kString, "a string");
  return attribute == nullptr ? std::move(otherwise) : attribute->text;
}

std::vector<int64_t> OnnxContext::Ints(std::string_view name, std::vector<int64_t> otherwise) const {
  const OnnxAttribute* attribute = AttrOfKind(name, Kind::kInts, "a list of integers");
  return attribute == nullptr ? std::move(otherwise) : attribute->integers;
}

std::vector<double> OnnxContext::Floats(std::string_view name) const {
  const OnnxAttribute* attribute = AttrOfKind(name, Kind::kFloats, "a list of floats");
  return attribute == nullptr ? std::vector<double>() : attribute->numbers;
}

std::vector<std::string> OnnxContext::Texts(std::string_view name) const {
  const OnnxAttribute* attribute = AttrOfKind(name, Kind::kStrings, "a list of strings");
  return attribute == nullptr ? std::vector<std::string>() : attribute->texts;
}

Dims DimsOf(const std::vector<int64_t>& values) { return Dims(values.begin(), values.end()); }

std::optional<Dims> ReadAxes(OnnxContext& c, size_t input, std::string_view attribute) {
  if (c.has(input)) return c.b.ReadDims(c.in(input));
  if (c.HasAttribute(attribute)) return DimsOf(c.Ints(attribute));
  return std::nullopt;
}

Dim ReadScalar(OnnxContext& c, size_t input, const Dim& otherwise) {
  return c.has(input) ? c.b.ReadDim(c.in(input)) : otherwise;
}

Dims AxisFlags(OnnxContext& c, const Dims& axes, int rank) {
  Dims flags(static_cast<size_t>(rank), Dim(0));
  for (const Dim& axis : axes) {
    if (auto known = axis.constant()) {
      int position = c.b.NormalizeAxis(*known, rank);
      if (!c.b.failed()) flags[static_cast<size_t>(position)] = 1;
      continue;
    }
    c.b.Require(And(LessEqual(-rank, axis), Less(axis, rank)),
                fmt::format("axis {{0}} is out of range for rank {}", rank), {axis});
    Dim position = Select(Less(axis, 0), axis + Dim(rank), axis);
    for (int i = 0; i < rank; ++i)
      flags[static_cast<size_t>(i)] = Or(flags[static_cast<size_t>(i)], Equal(position, i));
  }
  return flags;
}

Dims KeptDims(const Dims& dims, const Dims& flags, int count) {
  Dims kept(static_cast<size_t>(std::max(count, 0)), Dim(0));
  Dim before = 0;  // number of kept axes so far
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    Dim keeps = Not(flags[axis]);
    for (size_t to = 0; to < kept.size(); ++to)
      kept[to] = kept[to] + Select(And(keeps, Equal(before, static_cast<int64_t>(to))), dims[axis], 0);
    before = before + keeps;
  }
  return kept;
}

std::optional<std::vector<int64_t>> ConstantFlags(const Dims& flags) {
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < flags.size(); ++axis) {
    auto flag = flags[axis].constant();
    if (!flag.has_value()) return std::nullopt;
    if (*flag != 0) axes.push_back(static_cast<int64_t>(axis));
  }
  return axes;
}

}  // namespace tvmvm::ir
