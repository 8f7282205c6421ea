#include "bytecode/text/names.h"
#include "bytecode/text/parser.h"
#include "bytecode/verifier.h"

namespace tvmvm::text {
namespace {

// "3", "n", "\"n*4+1\"", "?", each with bounds behind it: "n in 1..512", "n in 1..".
Expected<DimSpec> ParseDim(TokenStream* tokens) {
  DimSpec dim;
  if (tokens->Accept("?")) {
    dim.value = -1;
  } else if (tokens->Peek().kind == TokenKind::kInteger) {
    TVMVM_TRY(dim.value, tokens->Integer(0, INT64_MAX));
  } else {
    TVMVM_TRY(dim.symbol, tokens->Name("a dimension"));
  }
  if (!tokens->AcceptWord("in")) return dim;
  TVMVM_TRY(dim.low, tokens->Integer(0, INT64_MAX));
  TVMVM_CHECK_OK(tokens->Expect(".."));
  if (tokens->Peek().kind == TokenKind::kInteger) {
    TVMVM_TRY(dim.high, tokens->Integer(0, INT64_MAX));
  }
  return dim;
}

Status ParseDims(TokenStream* tokens, TypeSpec* type) {
  TVMVM_CHECK_OK(tokens->Expect("["));
  if (tokens->Accept("*")) {
    type->has_rank = false;
    return tokens->Expect("]");
  }
  if (tokens->Accept("]")) return {};
  do {
    TVMVM_TRY(DimSpec dim, ParseDim(tokens));
    type->dims.push_back(std::move(dim));
  } while (tokens->Accept(","));
  return tokens->Expect("]");
}

Status ParseElements(TokenStream* tokens, TypeSpec* type, int depth) {
  TVMVM_CHECK_OK(tokens->Expect("<"));
  if (tokens->Accept(">")) return {};
  do {
    TVMVM_TRY(TypeSpec element, ParseType(tokens, depth + 1));
    type->elements.push_back(std::move(element));
  } while (tokens->Accept(","));
  return tokens->Expect(">");
}

}  // namespace

Expected<TypeSpec> ParseType(TokenStream* tokens, int depth) {
  if (depth > kMaxTypeDepth) return ErrorAt(tokens->Peek(), "types are nested too deep");
  TypeSpec type;
  Token first = tokens->Peek();
  TVMVM_TRY(std::string name, tokens->Word("a type"));
  if (auto kind = FromName<ValueKind>(kValueKindNames, name); kind && *kind != ValueKind::kTensor) {
    type.kind = *kind;
    TVMVM_CHECK_OK(ParseElements(tokens, &type, depth));
    return type;
  }
  std::optional<DType> dtype = DTypeFromName(name);
  if (!dtype) return ErrorAt(first, "unknown type '" + name + "'");
  type.dtype = *dtype;
  TVMVM_CHECK_OK(ParseDims(tokens, &type));
  return type;
}

}  // namespace tvmvm::text
