// What looks at strings. Operators that only move them run on positions instead
// (importer/string_positions.h).
#include <fmt/core.h>

#include "compiler/graph/core_op.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

ValueId TextScalar(OpBuilder& b, std::string text) {
  TensorData data;
  data.dtype = DType::kString;
  data.strings = {std::move(text)};
  return b.Constant(std::move(data));
}

// The strings with each axis of size 1 repeated as far as the result's dims want.
ValueId BroadcastStrings(OpBuilder& b, ValueId strings, const Dims& dims) {
  Dims own = b.dims(strings);
  if (b.failed() || own == dims) return strings;
  ValueId positions = b.Reshape(b.Iota(DType::kI64, {Product(own)}, 0), own);
  return TakeStrings(b, b.Expand(positions, dims), {strings});
}

bool WantStrings(OnnxContext& c) {
  for (ValueId input : c.inputs) {
    if (!input.valid() || c.b.dtype(input) == DType::kString) continue;
    c.b.Fail(Code::kInvalidArgument,
             fmt::format("an input is {}, strings are wanted", c.b.type(input).ToString()));
    return false;
  }
  return true;
}

void StringConcat(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!WantStrings(c)) return;
  auto dims = BroadcastDims(b.dims(c.in(0)), b.dims(c.in(1)));
  if (!dims) {
    b.Fail(dims.error().code, dims.error().message);
    return;
  }
  ValueId left = BroadcastStrings(b, c.in(0), *dims), right = BroadcastStrings(b, c.in(1), *dims);
  c.Out(0, b.Host(HostFunctionId::kStringConcat, {left, right}, {Type::Tensor(DType::kString, *dims)})[0]);
}

// Without a delimiter, or with an empty one, runs of white space separate.
void StringSplit(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!WantStrings(c)) return;
  std::string delimiter = c.Text("delimiter", "");
  Dims dims = b.dims(c.in(0));
  Type counts = Type::Tensor(DType::kI64, dims);
  dims.push_back(b.module().FreshSymbol({.range = {0, INT64_MAX}}));
  ValueId text = delimiter.empty() ? ValueId{} : TextScalar(b, delimiter);
  std::vector<ValueId> results =
      b.Host(HostFunctionId::kStringSplit, {c.in(0), text}, {Type::Tensor(DType::kString, dims), counts},
             {c.Int("maxsplit", -1), !delimiter.empty()});
  if (b.failed()) return;
  c.Out(0, results[0]);
  c.Out(1, results[1]);
}

void RegexFullMatch(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!WantStrings(c)) return;
  if (!c.HasAttribute("pattern")) {
    b.Fail(Code::kInvalidArgument, "the attribute 'pattern' is missing");
    return;
  }
  c.Out(0, b.Host(HostFunctionId::kStringMatch, {c.in(0), TextScalar(b, c.Text("pattern", ""))},
                  {Type::Tensor(DType::kBool, b.dims(c.in(0)))})[0]);
}

std::optional<int64_t> CaseAction(OnnxContext& c) {
  constexpr std::string_view kActions[] = {"NONE", "LOWER", "UPPER"};
  std::string given = c.Text("case_change_action", "NONE");
  for (size_t i = 0; i < std::size(kActions); ++i)
    if (given == kActions[i]) return static_cast<int64_t>(i);
  c.b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'case_change_action' is '{}'", given));
  return std::nullopt;
}

void StringNormalizer(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!WantStrings(c)) return;
  auto action = CaseAction(c);
  if (!action) return;
  Dims dims = b.dims(c.in(0));
  bool fits = dims.size() == 1 || (dims.size() == 2 && dims[0].constant().value_or(1) == 1);
  if (!fits) {
    b.Fail(Code::kInvalidArgument, fmt::format("strings of shape {}, wanted [n] or [1, n]", ToString(dims)));
    return;
  }
  dims.back() = b.module().FreshSymbol({.range = {0, INT64_MAX}});
  ValueId words;
  if (const OnnxAttribute* stop = c.Attr("stopwords"); stop && !stop->texts.empty()) {
    TensorData data;
    data.dtype = DType::kString;
    data.dims = {static_cast<int64_t>(stop->texts.size())};
    data.strings = stop->texts;
    words = b.Constant(std::move(data));
  }
  c.Out(0, b.Host(HostFunctionId::kStringNormalize, {c.in(0), words}, {Type::Tensor(DType::kString, dims)},
                  {*action, c.Int("is_case_sensitive", 0) != 0})[0]);
}

constexpr OnnxOp kRows[] = {
    {"", "StringConcat", 20, kLatest, 2, 2, "", StringConcat, kStrings, StringUse::kNative, Runs::kOnHost},
    {"", "StringSplit", 20, kLatest, 1, 1, "delimiter maxsplit", StringSplit, kStrings, StringUse::kNative,
     Runs::kOnHost},
    {"", "RegexFullMatch", 20, kLatest, 1, 1, "pattern", RegexFullMatch, kStrings, StringUse::kNative,
     Runs::kOnHost},
    {"", "StringNormalizer", 10, kLatest, 1, 1, "case_change_action is_case_sensitive locale stopwords",
     StringNormalizer, kStrings, StringUse::kNative, Runs::kOnHost},
};

}  // namespace

std::span<const OnnxOp> OnnxStringRows() { return kRows; }

std::vector<ValueId> StringIds(OpBuilder& b, std::vector<ValueId> strings) {
  std::vector<Type> types;
  for (ValueId each : strings) types.push_back(Type::Tensor(DType::kI64, b.dims(each)));
  return b.Host(HostFunctionId::kStringIds, std::move(strings), std::move(types));
}

ValueId TakeStrings(OpBuilder& b, ValueId positions, std::vector<ValueId> strings) {
  Type type = b.type(positions);  // of unknown rank where the positions are
  type.dtype = DType::kString;
  strings.insert(strings.begin(), positions);
  return b.Host(HostFunctionId::kStringTake, std::move(strings), {std::move(type)})[0];
}

}  // namespace tvmvm::ir
