// Dim: a symbolic dimension, an integer expression over named symbols. Immutable, cheap to copy, safe to
// share.
//
// Construction simplifies: sums of products are kept in canonical form, so expressions that are equal as
// polynomials over the same atoms compare equal ("n*4 + n" == "5*n"); divisions, min, max and select fold
// where they can. Comparisons and logic give 0 or 1. Constants wrap as int64 does; a division by zero is
// never folded. Folding assumes that no intermediate value overflows and no divisor is zero when the
// expression is evaluated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bytecode/dim_op.h"
#include "compiler/dim/symbol.h"
#include "tvm-vm/status.h"

namespace tvmvm::ir {

using tvmvm::DimOp;  // of a dim: kAdd and kMul have any number of operands; no kSub

// Closed interval; INT64_MIN/MAX mean unbounded.
struct DimRange {
  int64_t low = 0;
  int64_t high = INT64_MAX;
};

class Dim {
 public:
  Dim() : Dim(int64_t{0}) {}
  Dim(int64_t value);                                   // NOLINT: numbers are dims
  Dim(int value) : Dim(static_cast<int64_t>(value)) {}  // NOLINT
  static Dim Symbol(SymbolId symbol);
  static Dim Symbol(std::string name) { return Symbol(SymbolId(std::move(name))); }
  // The same value under a name that follows from the expression: one node in whatever is built of it, so
  // that sizes which depend on sizes grow by a node a step and not by a factor. Nobody looks into it but who
  // asks for symbols, values or replacements. `range`: what is known of the value; that of `definition` is
  // forgotten. Expressions of at most kMaxPlain nodes stay what they are.
  static Dim Named(const Dim& definition, DimRange range);
  static constexpr size_t kMaxPlain = 128;
  // Who has to write an expression out, named ones too, does so up to this depth of them.
  static constexpr int kMaxWritten = 1;

  DimOp op() const;
  bool is_constant() const { return op() == DimOp::kConstant; }
  bool is_symbol() const { return op() == DimOp::kSymbol; }
  std::optional<int64_t> constant() const;
  int64_t value() const;            // kConstant only
  const SymbolId& symbol() const;   // kSymbol only
  const std::string& name() const;  // kNamed only; no symbol
  const std::vector<Dim>& operands() const;

  bool IsConstant(int64_t value) const { return constant() == value; }
  // "n*4+1", "ceildiv(n, 2)", "min(n, 512)": read back by ParseDim and by DimExpression. Of a named
  // expression it has the name alone.
  std::string ToString() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim FloorDiv(const Dim& a, const Dim& b);
  friend Dim CeilDiv(const Dim& a, const Dim& b);
  friend Dim FloorMod(const Dim& a, const Dim& b);
  friend Dim Min(const Dim& a, const Dim& b);
  friend Dim Max(const Dim& a, const Dim& b);
  friend Dim Equal(const Dim& a, const Dim& b);
  friend Dim NotEqual(const Dim& a, const Dim& b);
  friend Dim Less(const Dim& a, const Dim& b);
  friend Dim LessEqual(const Dim& a, const Dim& b);
  friend Dim And(const Dim& a, const Dim& b);
  friend Dim Or(const Dim& a, const Dim& b);
  friend Dim Not(const Dim& a);
  friend Dim Select(const Dim& condition, const Dim& then, const Dim& otherwise);

  // Structural equality of canonical forms. False means "not known to be equal".
  friend bool operator==(const Dim& a, const Dim& b);
  size_t Hash() const;
  // Nodes of the expression written out as a tree, saturating: whoever builds on untrusted input stops at
  // some size.
  size_t size() const;
  DimRange range() const;  // kNamed only
  int depth() const;       // named expressions within one another: 0 where there are none

 private:
  struct Node;
  friend struct DimFactory;
  explicit Dim(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

using Dims = std::vector<Dim>;

Dim Product(const Dims& dims);  // 1 for none
// The operation on operands in the order of `Dim::operands()`; not for kConstant, kSymbol and kNamed.
Dim Apply(DimOp op, const std::vector<Dim>& operands);
std::string ToString(const Dims& dims);  // "[n, 4]"
// Of the grammar in bytecode/dim_expression.h. Errors: kInvalidArgument with the position.
Expected<Dim> ParseDim(std::string_view text);

// Replaces symbols by values that they may have (ranges of named expressions stay); a symbol that `lookup`
// gives nothing for stays.
Dim Substitute(const Dim& dim, const std::function<std::optional<Dim>(const SymbolId&)>& lookup);
// Whether one of the symbols in it is `wanted`, or one of `symbols`.
bool AnySymbol(const Dim& dim, const std::function<bool(const SymbolId&)>& wanted);
bool MentionsAny(const Dim& dim, const SymbolSet& symbols);
// All symbols in it, each once, in order of first appearance.
std::vector<SymbolId> SymbolsOf(const Dim& dim);
void CollectSymbols(const Dim& dim, SymbolSet* symbols);
// The named expressions in it, each once, before those that are built of it.
void CollectNamed(const Dim& dim, std::vector<Dim>* named);
// Value for given symbol values; nullopt for an unknown symbol, an overflow or a division by zero.
std::optional<int64_t> Evaluate(const Dim& dim,
                                const std::function<std::optional<int64_t>(const SymbolId&)>& lookup);

// Facts about symbols: every symbol is >= 0 unless said otherwise.
using RangeLookup = std::function<DimRange(const SymbolId&)>;
DimRange RangeOf(const Dim& dim, const RangeLookup& lookup);
DimRange RangeOf(const Dim& dim);  // with no other facts
// A number that divides the dim whatever its symbols are: 6 of 12 * n + 18 * m; 0 of the dim 0.
int64_t DivisorOf(const Dim& dim);
// Folds min, max, comparisons and selects that the facts decide: max(n, 0) is n where n >= 0.
Dim Simplify(const Dim& dim, const RangeLookup& lookup);

}  // namespace tvmvm::ir

template <>
struct std::hash<tvmvm::ir::Dim> {
  size_t operator()(const tvmvm::ir::Dim& dim) const noexcept { return dim.Hash(); }
};
