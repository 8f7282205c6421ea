// ai.onnx.ml.CastMap, DictVectorizer and ZipMap. A map is a tuple of its keys and its values, two vectors.
#include <fmt/core.h>

#include "compiler/graph/type_join.h"
#include "compiler/onnx/ops/ml/onnx_ml.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

struct MapParts {
  ValueId keys, values;
};

bool IsMap(const Type& type) {
  if (type.kind != TypeKind::kTuple || type.elements.size() != 2) return false;
  for (const Type& field : type.elements)
    if (field.kind != TypeKind::kTensor || !field.ranked || field.rank() != 1) return false;
  return true;
}

// Keys and values of the input 0; records an error where it is no map.
std::optional<MapParts> PartsOf(OnnxContext& c) {
  OpBuilder& b = c.b;
  const Type type = b.type(c.in(0));
  if (!IsMap(type)) {
    b.Fail(Code::kInvalidArgument, fmt::format("the input is {}, a map is wanted", type.ToString()));
    return std::nullopt;
  }
  auto field = [&](int64_t number) {
    Type part = Instantiate(&b.module(), type.elements[static_cast<size_t>(number)]);
    return b.Host(HostFunctionId::kTupleGet, {c.in(0)}, {std::move(part)}, {number})[0];
  };
  MapParts parts{field(0), field(1)};
  if (b.failed()) return std::nullopt;
  // As many values as keys, no fewer and no more.
  Dim keys = b.dim(parts.keys, 0), values = b.dim(parts.values, 0);
  b.Require(Equal(keys, values), "the map has {0} keys and {1} values", {keys, values});
  return parts;
}

// The values in the wanted type.
ValueId CastValues(OpBuilder& b, ValueId values, DType to) {
  if (b.dtype(values) == to) return values;
  Type type = Type::Tensor(to, b.dims(values));
  if (to == DType::kString) return b.Host(HostFunctionId::kStringFromNumbers, {values}, {type})[0];
  if (b.dtype(values) == DType::kString)
    return b.Host(HostFunctionId::kStringToNumbers, {values}, {type}, {static_cast<int64_t>(to)})[0];
  return b.Cast(values, to);
}

// Elements at positions; those behind the last one are 0, or empty texts.
ValueId TakeOrNothing(OpBuilder& b, ValueId values, ValueId positions) {
  if (b.dtype(values) == DType::kString)
    return TakeStrings(b, positions, {values, b.Constant(StringList({""}))});
  ValueId zero = b.Reshape(b.ScalarInt(DType::kI64, 0), {1});
  return b.Gather(b.Concat({values, b.Cast(zero, b.dtype(values))}, 0), positions, 0);
}

std::optional<DType> CastTarget(OnnxContext& c) {
  std::string name = c.Text("cast_to", "TO_FLOAT");
  if (name == "TO_FLOAT") return DType::kF32;
  if (name == "TO_INT64") return DType::kI64;
  if (name == "TO_STRING") return DType::kString;
  c.b.Fail(Code::kInvalidArgument,
           fmt::format("the attribute 'cast_to' is '{}', TO_FLOAT, TO_INT64 or TO_STRING is wanted", name));
  return std::nullopt;
}

// The values in the order of their keys, or, SPARSE, each at the place that its key names.
void CastMap(OnnxContext& c) {
  OpBuilder& b = c.b;
  auto to = CastTarget(c);
  auto parts = PartsOf(c);
  if (!to || !parts) return;
  if (b.dtype(parts->keys) != DType::kI64) {
    b.Fail(Code::kInvalidArgument, fmt::format("keys are {}, wanted i64", DTypeName(b.dtype(parts->keys))));
    return;
  }
  std::string form = c.Text("map_form", "DENSE");
  ValueId positions;
  if (form == "DENSE") {
    positions = b.EmitMulti("topk", {parts->keys},
                            {{"axis", int64_t{0}}, {"k", b.dim(parts->keys, 0)}, {"largest", int64_t{0}}})[1];
  } else if (form == "SPARSE") {
    int64_t count = c.Int("max_map", 1);
    if (count < 1) {
      b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'max_map' is {}", count));
      return;
    }
    CheckIndices(b, parts->keys, {count});
    positions = LookUp(b, b.Iota(DType::kI64, {count}, 0), parts->keys);
  } else {
    b.Fail(Code::kInvalidArgument,
           fmt::format("the attribute 'map_form' is '{}', DENSE or SPARSE is wanted", form));
    return;
  }
  if (b.failed()) return;
  ValueId values = CastValues(b, TakeOrNothing(b, parts->values, positions), *to);
  if (!b.failed()) c.Out(0, b.Unsqueeze(values, {0}));
}

// For each word of the vocabulary its value, or 0.
void DictVectorizer(OnnxContext& c) {
  OpBuilder& b = c.b;
  auto vocabulary = ClassLabels(c, "int64_vocabulary", "string_vocabulary");
  auto parts = PartsOf(c);
  if (!vocabulary || !parts) return;
  if (b.dtype(parts->keys) != vocabulary->dtype) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("keys are {}, the vocabulary is {}", DTypeName(b.dtype(parts->keys)),
                       DTypeName(vocabulary->dtype)));
    return;
  }
  ValueId positions = LookUp(b, b.Constant(std::move(*vocabulary)), parts->keys);
  if (!b.failed()) c.Out(0, TakeOrNothing(b, parts->values, positions));
}

// A map for each row.
void ZipMap(OnnxContext& c) {
  OpBuilder& b = c.b;
  auto labels = ClassLabels(c, "classlabels_int64s", "classlabels_strings");
  ValueId x = FeatureRows(c);
  if (!labels || b.failed()) return;
  int64_t count = labels->dims[0];
  if (b.dtype(x) != DType::kF32 || b.dim(x, 1).constant().value_or(count) != count) {
    b.Fail(Code::kInvalidArgument, fmt::format("the input is {} for {} keys", b.type(x).ToString(), count));
    return;
  }
  Type map;
  map.kind = TypeKind::kTuple;
  map.elements = {Type::Tensor(labels->dtype, {count}), Type::Tensor(DType::kF32, {count})};
  ValueId keys = b.Constant(std::move(*labels));
  c.Out(0, b.Host(HostFunctionId::kMapRows, {keys, x}, {SequenceOf(map)})[0]);
}

constexpr OnnxOp kRows[] = {
    {"ai.onnx.ml", "CastMap", 1, kLatest, 1, 1, "cast_to map_form max_map", CastMap, kAnyValue},
    {"ai.onnx.ml", "DictVectorizer", 1, kLatest, 1, 1, "int64_vocabulary string_vocabulary", DictVectorizer,
     kAnyValue},
    {"ai.onnx.ml", "ZipMap", 1, kLatest, 1, 1, "classlabels_int64s classlabels_strings", ZipMap, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxMapRows() { return kRows; }

}  // namespace tvmvm::ir
