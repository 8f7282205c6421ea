#include "compiler/onnx/importer/onnx_signature.h"

#include <fmt/core.h>

#include <cctype>

#include "bytecode/dim_op.h"
#include "compiler/graph/type_join.h"
#include "tvm-vm/shape.h"

namespace tvmvm::ir {

std::string SymbolName(const std::string& text) {
  std::string name;
  for (char c : text) {
    bool allowed = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    name += allowed ? c : '_';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name.insert(name.begin(), '_');
  if (FindDimFunction(name) != nullptr || name == "true" || name == "false") name += '_';
  return name;
}

bool IsPlaceholder(const std::string& dim_param) {
  static const std::set<std::string> kWords = {"none", "null", "nil", "nan", "unknown", "dynamic", "any"};
  std::string word;
  bool is_number = true;
  for (char c : dim_param) {
    auto byte = static_cast<unsigned char>(c);
    bool has_meaning = std::isalnum(byte) != 0 || byte >= 0x80;
    if (has_meaning) word += static_cast<char>(std::tolower(byte));
    is_number = is_number && (!has_meaning || std::isdigit(byte) != 0);
  }
  return is_number || kWords.contains(word) || dim_param.starts_with("unk__");
}

Dim SignatureTypes::SymbolFor(const std::string& dim_param, const std::string& otherwise) {
  bool is_named = !IsPlaceholder(dim_param);
  auto found = by_param_.find(dim_param);
  bool is_first = found == by_param_.end();
  if (is_named && !is_first && !distinct_) return found->second;
  const std::string& wanted = is_named && is_first ? dim_param : otherwise;
  std::string name = SymbolName(wanted);
  while (module_.symbols.contains(SymbolId(name))) name += '_';
  DimRange range;
  // The nearest name last: what is known of one dim goes before what is known of all that share its name.
  for (const std::string& key : {dim_param, wanted, name}) {
    if (auto fact = facts_.find(key); fact != facts_.end()) range = fact->second;
    known_.insert(key);
  }
  Dim dim = range.low == range.high ? Dim(range.low) : Dim::Symbol(name);
  // A fixed dimension's name stays taken, so that no other symbol gets it.
  if (dim.is_symbol()) module_.symbols[dim.symbol()] = {.range = range, .scope = SymbolScope::kInput};
  if (is_named) by_param_.emplace(dim_param, dim);
  return dim;
}

Expected<Type> SignatureTypes::TypeOf(const OnnxType& type, const std::string& name) {
  return TypeOf(type, name, [this, &name](const OnnxDim& dim, size_t axis) {
    return SymbolFor(dim.symbol, fmt::format("{}_{}", SymbolName(name), axis));
  });
}

Expected<Type> SignatureTypes::TypeOf(const OnnxType& type, const std::string& name,
                                      const UnknownDims& unknown) {
  Type result;
  switch (type.kind) {
    case OnnxType::Kind::kTensor:
      break;
    case OnnxType::Kind::kSequence:
    case OnnxType::Kind::kOptional: {
      result.kind = type.kind == OnnxType::Kind::kSequence ? TypeKind::kSequence : TypeKind::kOptional;
      // Each element has its own dims.
      TVMVM_TRY(Type element,
                TypeOf(type.elements.at(0), name, [](const OnnxDim&, size_t) { return UnknownDim(); }));
      result.elements.push_back(std::move(element));
      return result;
    }
    case OnnxType::Kind::kMap: {
      const OnnxType& values = type.elements.at(0);
      if (values.kind != OnnxType::Kind::kTensor || values.dtype == DType::kInvalid)
        return MakeError(Code::kUnsupported,
                         fmt::format("'{}' is a map whose values are no numbers or strings", name));
      result.kind = TypeKind::kTuple;
      for (DType dtype : {type.dtype, values.dtype})
        result.elements.push_back(Type::Tensor(dtype, {UnknownDim()}));
      return result;
    }
    default:
      return MakeError(Code::kUnsupported,
                       fmt::format("'{}' is neither a tensor, a sequence, an optional nor a map", name));
  }
  if (type.unknown_element != 0)
    return MakeError(Code::kUnsupported, fmt::format("'{}' is of element type {}, which is not known", name,
                                                     type.unknown_element));
  if (type.dtype == DType::kInvalid)
    return MakeError(Code::kInvalidArgument, fmt::format("'{}' has no element type", name));
  if (type.dims.size() > kMaxRank)
    return MakeError(Code::kUnsupported, fmt::format("'{}' has {} dimensions, at most {} are supported", name,
                                                     type.dims.size(), kMaxRank));
  result.dtype = type.dtype;
  result.ranked = type.ranked;
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    const OnnxDim& dim = type.dims[axis];
    // Some exporters write -1 or 0 and a name, or -1 alone, for "unknown".
    bool known = dim.value.has_value() && *dim.value >= 0 && dim.symbol.empty();
    result.dims.push_back(known ? Dim(*dim.value) : unknown(dim, axis));
  }
  return result;
}

Status SignatureTypes::CheckFacts() const {
  for (const auto& [name, range] : facts_) {
    if (known_.contains(name)) continue;
    std::set<SymbolId> symbols;
    for (const auto& [symbol, info] : module_.symbols) symbols.insert(symbol);
    return tl::unexpected(NoSuchDim(name, symbols));
  }
  return {};
}

}  // namespace tvmvm::ir
