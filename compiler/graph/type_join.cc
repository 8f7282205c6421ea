#include "compiler/graph/type_join.h"

#include <utility>

namespace tvmvm::ir {
namespace {

Type Wrap(TypeKind kind, const Type& element) {
  Type type;
  type.kind = kind;
  type.elements = {Generalize(element)};
  return type;
}

uint32_t RanksOf(const Type& type) {
  if (!type.ranked) return type.ranks;
  return type.rank() < Type::kMostRanks ? 1u << type.rank() : Type::kAnyRank;
}

std::optional<Type> JoinTensors(const Type& a, const Type& b) {
  if (a.dtype != b.dtype) return std::nullopt;
  Type type = Type::Tensor(a.dtype, {});
  type.ranked = a.ranked && b.ranked && a.rank() == b.rank();
  if (!type.ranked) {
    type.ranks = RanksOf(a) | RanksOf(b);
    return type;
  }
  for (size_t axis = 0; axis < a.dims.size(); ++axis)
    type.dims.push_back(a.dims[axis] == b.dims[axis] ? a.dims[axis] : UnknownDim());
  return type;
}

}  // namespace

Dim UnknownDim() { return Dim::Symbol(SymbolId()); }

bool IsUnknown(const Dim& dim) { return dim.is_symbol() && dim.symbol().is_none(); }

Type SequenceOf(const Type& element) { return Wrap(TypeKind::kSequence, element); }

Type OptionalOf(const Type& element) { return Wrap(TypeKind::kOptional, element); }

Type Generalize(Type type) {
  for (Dim& dim : type.dims)
    if (!dim.is_constant()) dim = UnknownDim();
  for (Type& element : type.elements) element = Generalize(std::move(element));
  return type;
}

Type Instantiate(Module* module, Type type) {
  if (type.kind != TypeKind::kTensor) return type;
  for (Dim& dim : type.dims)
    if (IsUnknown(dim)) dim = module->FreshSymbol();
  return type;
}

std::optional<Type> Join(const Type& a, const Type& b) {
  // What is no optional is one with an element.
  if (a.kind == TypeKind::kOptional && b.kind != TypeKind::kOptional) return Join(a, OptionalOf(b));
  if (b.kind == TypeKind::kOptional && a.kind != TypeKind::kOptional) return Join(OptionalOf(a), b);
  if (a.kind != b.kind) return std::nullopt;
  if (a.kind == TypeKind::kTensor) return JoinTensors(a, b);
  if (a.kind != TypeKind::kTuple) {
    if (a.elements.empty()) return b;
    if (b.elements.empty()) return a;
  }
  if (a.elements.size() != b.elements.size()) return std::nullopt;
  Type type = a;
  for (size_t i = 0; i < a.elements.size(); ++i) {
    std::optional<Type> element = Join(a.elements[i], b.elements[i]);
    if (!element) return std::nullopt;
    type.elements[i] = *std::move(element);
  }
  return type;
}

}  // namespace tvmvm::ir
