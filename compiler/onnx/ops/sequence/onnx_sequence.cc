// Sequences. Positions are dims, so that constants stay constants; negative ones count from the end.
#include <fmt/core.h>

#include "compiler/graph/type_join.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

// The type of an input that has to be a sequence; null after an error.
const Type* SequenceInput(OnnxContext& c, size_t input) {
  const Type& type = c.b.type(c.in(input));
  if (type.kind == TypeKind::kSequence) return &type;
  c.b.Fail(Code::kInvalidArgument,
           fmt::format("the input {} is {}, a sequence is wanted", input, type.ToString()));
  return nullptr;
}

// The type of its elements; null after an error.
const Type* ElementOf(OnnxContext& c, size_t input) {
  const Type* sequence = SequenceInput(c, input);
  if (!sequence) return nullptr;
  if (!sequence->elements.empty()) return &sequence->elements[0];
  c.b.Fail(Code::kInvalidArgument, "the sequence never has an element");
  return nullptr;
}

Dim LengthOf(OnnxContext& c, ValueId sequence) {
  Dim length = c.b.module().FreshSymbol({.range = {0, INT64_MAX}});
  c.b.Host(HostFunctionId::kSequenceLength, {sequence}, {}, {}, {length.symbol()});
  return length;
}

void SequenceEmpty(OnnxContext& c) {
  Type type;
  type.kind = TypeKind::kSequence;
  c.Out(0, c.b.Host(HostFunctionId::kSequenceConstruct, {}, {type})[0]);
}

// The join of a sequence type and an element; nothing after an error.
std::optional<Type> Extended(OnnxContext& c, const Type& sequence, ValueId element) {
  std::optional<Type> joined = Join(sequence, SequenceOf(c.b.type(element)));
  if (!joined)
    c.b.Fail(Code::kInvalidArgument,
             fmt::format("{} as an element of {}", c.b.type(element).ToString(), sequence.ToString()));
  return joined;
}

void SequenceConstruct(OnnxContext& c) {
  std::optional<Type> type = SequenceOf(c.b.type(c.in(0)));
  for (size_t i = 1; type && i < c.inputs.size(); ++i) {
    if (c.has(i))
      type = Extended(c, *type, c.in(i));
    else
      c.b.Fail(Code::kInvalidArgument, fmt::format("the input {} is missing", i));
  }
  if (type && !c.b.failed()) c.Out(0, c.b.Host(HostFunctionId::kSequenceConstruct, c.inputs, {*type})[0]);
}

void SequenceInsert(OnnxContext& c) {
  const Type* sequence = SequenceInput(c, 0);
  if (!sequence) return;
  std::optional<Type> type = Extended(c, *sequence, c.in(1));
  if (!type) return;
  Dim position = c.has(2) ? ReadScalar(c, 2, 0) : LengthOf(c, c.in(0));
  c.Out(0, c.b.Host(HostFunctionId::kSequenceInsert, {c.in(0), c.in(1)}, {*type}, {position, 0})[0]);
}

void SequenceErase(OnnxContext& c) {
  const Type* sequence = SequenceInput(c, 0);
  if (!sequence) return;
  Type type = *sequence;
  Dim position = ReadScalar(c, 1, -1);
  c.Out(0, c.b.Host(HostFunctionId::kSequenceErase, {c.in(0)}, {type}, {position, 0})[0]);
}

void SequenceAt(OnnxContext& c) {
  const Type* element = ElementOf(c, 0);
  if (!element) return;
  Type type = Instantiate(&c.b.module(), *element);
  Dim position = ReadScalar(c, 1, 0);
  c.Out(0, c.b.Host(HostFunctionId::kSequenceAt, {c.in(0)}, {type}, {position})[0]);
}

void SequenceLength(OnnxContext& c) {
  if (SequenceInput(c, 0)) c.Out(0, c.b.DimScalar(LengthOf(c, c.in(0))));
}

// Parts of the given sizes, or of size 1, whose axis goes where it is not kept.
void SplitToSequence(OnnxContext& c) {
  OpBuilder& b = c.b;
  Type element = b.type(c.in(0));
  int axis = b.NormalizeAxis(c.Int("axis", 0), element.rank());
  if (b.failed()) return;
  bool keeps = c.has(1) || c.Int("keepdims", 1) != 0;
  auto place = element.dims.begin() + axis;
  if (keeps)
    *place = c.has(1) ? UnknownDim() : Dim(1);
  else
    element.dims.erase(place);
  ValueId sizes = c.has(1) ? b.Cast(c.in(1), DType::kI64) : ValueId{};
  c.Out(0, b.Host(HostFunctionId::kSequenceSplit, {c.in(0), sizes}, {SequenceOf(element)}, {axis, keeps})[0]);
}

void ConcatFromSequence(OnnxContext& c) {
  OpBuilder& b = c.b;
  const Type* element = ElementOf(c, 0);
  if (!element) return;
  if (!c.HasAttribute("axis")) {
    b.Fail(Code::kInvalidArgument, "the attribute 'axis' is missing");
    return;
  }
  bool is_new = c.Int("new_axis", 0) != 0;
  int64_t axis = c.Int("axis", 0);
  Type type = *element;
  if (type.kind == TypeKind::kTensor && type.ranked) {
    axis = b.NormalizeAxis(axis, type.rank() + (is_new ? 1 : 0));
    if (b.failed()) return;
    if (is_new)
      type.dims.insert(type.dims.begin() + axis, UnknownDim());
    else
      type.dims[static_cast<size_t>(axis)] = UnknownDim();
  }
  type = Instantiate(&b.module(), type);
  c.Out(0, b.Host(HostFunctionId::kSequenceConcat, {c.in(0)}, {type}, {axis, is_new})[0]);
}

constexpr OnnxOp kRows[] = {
    {"", "SequenceEmpty", 11, kLatest, 0, 0, "dtype", SequenceEmpty, OfOutput(kAnyValue), StringUse::kNative,
     Runs::kOnHost},
    {"", "SequenceConstruct", 11, kLatest, 1, -1, "", SequenceConstruct, kAnyValue, StringUse::kNative,
     Runs::kOnHost},
    {"", "SequenceInsert", 11, kLatest, 2, 3, "", SequenceInsert, kAnyValue, StringUse::kNative,
     Runs::kOnHost},
    {"", "SequenceErase", 11, kLatest, 1, 2, "", SequenceErase, kAnyValue, StringUse::kNative, Runs::kOnHost},
    {"", "SequenceAt", 11, kLatest, 2, 2, "", SequenceAt, kAnyValue, StringUse::kNative, Runs::kOnHost},
    {"", "SequenceLength", 11, kLatest, 1, 1, "", SequenceLength, kAnyValue, StringUse::kNative,
     Runs::kOnHost},
    {"", "SplitToSequence", 11, kLatest, 1, 2, "axis keepdims", SplitToSequence, kAllTypes,
     StringUse::kNative, Runs::kOnHost},
    {"", "ConcatFromSequence", 11, kLatest, 1, 1, "axis new_axis", ConcatFromSequence, kAnyValue,
     StringUse::kNative, Runs::kOnHost},
};

}  // namespace

std::span<const OnnxOp> OnnxSequenceRows() { return kRows; }

}  // namespace tvmvm::ir
