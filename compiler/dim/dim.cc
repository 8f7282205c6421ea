#include "compiler/dim/dim.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "compiler/dim/dim_polynomial.h"

namespace tvmvm::ir {
namespace {

constexpr int64_t kFirstSmall = -64, kLastSmall = 1024;

bool IsBoolean(const Dim& a) {
  if (auto value = a.constant()) return *value == 0 || *value == 1;
  return a.op() >= DimOp::kEqual && a.op() <= DimOp::kNot;
}

// 1 where `a` is not 0.
Dim Truth(const Dim& a) { return IsBoolean(a) ? a : NotEqual(a, 0); }

// Where both are constants and the result is one, too.
std::optional<int64_t> Folded(DimOp op, const Dim& a, const Dim& b) {
  if (!a.is_constant() || !b.is_constant()) return std::nullopt;
  return tvmvm::Apply(op, a.value(), b.value());
}

// The operands of nested min(min(a, b), c) in canonical order.
void Flatten(DimOp op, const Dim& a, std::vector<Dim>* operands) {
  if (a.op() != op) return operands->push_back(a);
  for (const Dim& operand : a.operands()) Flatten(op, operand, operands);
}

Dim MinOrMax(DimOp op, const Dim& a, const Dim& b) {
  std::vector<Dim> operands, kept;
  Flatten(op, a, &operands);
  Flatten(op, b, &operands);
  for (const Dim& operand : operands) {
    bool decided = false;
    for (Dim& other : kept) {
      Dim less = Less(operand, other);
      if (!less.is_constant()) continue;
      decided = true;
      if (less.IsConstant(op == DimOp::kMin)) other = operand;
      break;
    }
    if (!decided) kept.push_back(operand);
  }
  int64_t neutral = op == DimOp::kMin ? INT64_MAX : INT64_MIN;
  if (kept.size() > 1) std::erase(kept, Dim(neutral));
  // Constants last.
  std::sort(kept.begin(), kept.end(), [](const Dim& x, const Dim& y) {
    if (x.is_constant() != y.is_constant()) return y.is_constant();
    return Compare(x, y) < 0;
  });
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  Dim result = kept[0];
  for (size_t i = 1; i < kept.size(); ++i) result = DimFactory::Make(op, {result, kept[i]});
  return result;
}

}  // namespace

std::shared_ptr<const Dim::Node> DimFactory::SmallConstant(int64_t value) {
  static const auto* const kTable = [] {
    auto* table = new std::vector<Dim>;
    for (int64_t i = kFirstSmall; i <= kLastSmall; ++i) table->push_back(Constant(i));
    return table;
  }();
  return (*kTable)[static_cast<size_t>(value - kFirstSmall)].node_;
}

Dim::Dim(int64_t value)
    : node_(value >= kFirstSmall && value <= kLastSmall ? DimFactory::SmallConstant(value)
                                                        : DimFactory::Constant(value).node_) {}

Dim Dim::Symbol(SymbolId symbol) {
  return DimFactory::Wrap({.op = DimOp::kSymbol, .symbol = std::move(symbol)});
}

Dim Dim::Named(const Dim& definition, DimRange range) {
  if (definition.size() <= kMaxPlain) return definition;
  uint64_t digest = 0xcbf29ce484222325u;  // FNV-1a
  for (char c : definition.ToString()) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  Node node{.op = DimOp::kNamed, .name = fmt::format("e.{:012x}", digest >> 16), .operands = {definition}};
  node.range = range;
  node.symbols = SymbolsOf(definition);
  return DimFactory::Wrap(std::move(node));
}

DimOp Dim::op() const { return node_->op; }
std::optional<int64_t> Dim::constant() const {
  if (!is_constant()) return std::nullopt;
  return node_->value;
}
int64_t Dim::value() const {
  assert(is_constant());
  return node_->value;
}
const SymbolId& Dim::symbol() const {
  assert(is_symbol());
  return node_->symbol;
}
const std::string& Dim::name() const {
  assert(op() == DimOp::kNamed);
  return node_->name;
}
const std::vector<Dim>& Dim::operands() const { return node_->operands; }
size_t Dim::Hash() const { return node_->hash; }
size_t Dim::size() const { return node_->size; }
int Dim::depth() const { return node_->depth; }
DimRange Dim::range() const {
  assert(op() == DimOp::kNamed);
  return node_->range;
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.node_ == b.node_) return true;
  const Dim::Node& x = *a.node_;
  const Dim::Node& y = *b.node_;
  return x.hash == y.hash && x.op == y.op && x.value == y.value && x.size == y.size && x.symbol == y.symbol &&
         x.name == y.name &&
         (x.op == DimOp::kNamed || x.operands == y.operands);  // hash and name stand for the definition
}

Dim operator+(const Dim& a, const Dim& b) {
  if (auto folded = Folded(DimOp::kAdd, a, b)) return *folded;
  if (a.IsConstant(0)) return b;
  if (b.IsConstant(0)) return a;
  return DimOf(AddScaled(PolynomialOf(a), PolynomialOf(b), 1));
}

Dim operator-(const Dim& a, const Dim& b) {
  if (auto folded = Folded(DimOp::kSub, a, b)) return *folded;
  if (b.IsConstant(0)) return a;
  return DimOf(AddScaled(PolynomialOf(a), PolynomialOf(b), -1));
}

Dim operator*(const Dim& a, const Dim& b) {
  if (auto folded = Folded(DimOp::kMul, a, b)) return *folded;
  if (a.IsConstant(1) || b.IsConstant(0)) return b;
  if (b.IsConstant(1) || a.IsConstant(0)) return a;
  Polynomial x = PolynomialOf(a), y = PolynomialOf(b);
  constexpr size_t kMaxTerms = 64, kMaxNodes = 1024;
  const bool is_small = y.size() * a.size() + x.size() * b.size() <= kMaxNodes;
  if (x.size() * y.size() <= (is_small ? kMaxTerms : 1)) return DimOf(Multiply(x, y));
  // Too much to write out: the product of two sums stays one term.
  return DimOf(Multiply(a.op() == DimOp::kAdd ? Term{{a}, 1} : TermOf(a),
                        b.op() == DimOp::kAdd ? Term{{b}, 1} : TermOf(b)));
}

Dim FloorDiv(const Dim& a, const Dim& b) {
  if (auto folded = Folded(DimOp::kFloorDiv, a, b)) return *folded;
  if (b.IsConstant(0)) return DimFactory::Make(DimOp::kFloorDiv, {a, b});
  if (b.IsConstant(1) || a.IsConstant(0)) return a;
  if (b.IsConstant(-1)) return Dim(0) - a;
  if (b.is_constant() && b.value() > 0) return FloorDivByConstant(a, b.value());
  auto [quotient, remainder] = Divide(PolynomialOf(a), PolynomialOf(b));
  if (remainder.empty()) return DimOf(quotient);
  return DimOf(quotient) + DimFactory::Make(DimOp::kFloorDiv, {DimOf(remainder), b});
}

Dim CeilDiv(const Dim& a, const Dim& b) {
  if (auto folded = Folded(DimOp::kCeilDiv, a, b)) return *folded;
  if (b.IsConstant(0)) return DimFactory::Make(DimOp::kCeilDiv, {a, b});
  if (b.IsConstant(1) || a.IsConstant(0)) return a;
  // One canonical form for constant divisors, so that ceildiv(n, 2) equals floordiv(n+1, 2).
  if (b.is_constant() && b.value() > 0) return FloorDiv(a + (b.value() - 1), b);
  auto [quotient, remainder] = Divide(PolynomialOf(a), PolynomialOf(b));
  if (remainder.empty()) return DimOf(quotient);
  return DimOf(quotient) + DimFactory::Make(DimOp::kCeilDiv, {DimOf(remainder), b});
}

Dim FloorMod(const Dim& a, const Dim& b) {
  if (auto folded = Folded(DimOp::kFloorMod, a, b)) return *folded;
  if (b.IsConstant(0)) return DimFactory::Make(DimOp::kFloorMod, {a, b});
  if (b.IsConstant(1) || b.IsConstant(-1) || a.IsConstant(0)) return 0;
  if (b.is_constant() && b.value() > 0) return FloorModByConstant(a, b.value());
  Polynomial remainder = Divide(PolynomialOf(a), PolynomialOf(b)).remainder;
  if (remainder.empty()) return 0;
  return DimFactory::Make(DimOp::kFloorMod, {DimOf(remainder), b});
}

Dim Min(const Dim& a, const Dim& b) { return MinOrMax(DimOp::kMin, a, b); }
Dim Max(const Dim& a, const Dim& b) { return MinOrMax(DimOp::kMax, a, b); }

Dim Equal(const Dim& a, const Dim& b) {
  Dim difference = a - b;
  if (auto value = difference.constant()) return *value == 0;
  for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
    if (!y.is_constant() || !IsBoolean(x)) continue;
    return y.value() == 1 ? x : y.value() == 0 ? Not(x) : Dim(0);
  }
  Polynomial terms = PolynomialOf(difference);
  int64_t common = CoefficientGcd(terms, 0);
  if (common != 0 && terms.back().factors.empty() && FloorRemainder(terms.back().coefficient, common) != 0)
    return 0;
  bool swap = !b.is_constant() && (a.is_constant() || Compare(b, a) < 0);
  return DimFactory::Make(DimOp::kEqual, swap ? std::vector{b, a} : std::vector{a, b});
}

Dim NotEqual(const Dim& a, const Dim& b) {
  Dim equal = Equal(a, b);
  if (equal.op() == DimOp::kEqual) return DimFactory::Make(DimOp::kNotEqual, equal.operands());
  return Not(equal);
}

Dim Less(const Dim& a, const Dim& b) {
  if (auto folded = Folded(DimOp::kLess, a, b)) return *folded;
  if (auto difference = (a - b).constant()) return *difference < 0;
  return DimFactory::Make(DimOp::kLess, {a, b});
}

Dim LessEqual(const Dim& a, const Dim& b) {
  if (auto folded = Folded(DimOp::kLessEqual, a, b)) return *folded;
  if (auto difference = (a - b).constant()) return *difference <= 0;
  return DimFactory::Make(DimOp::kLessEqual, {a, b});
}

Dim And(const Dim& a, const Dim& b) {
  Dim x = Truth(a), y = Truth(b);
  if (x.is_constant()) return x.value() ? y : x;
  if (y.is_constant()) return y.value() ? x : y;
  if (x == y) return x;
  if (x == Not(y)) return 0;
  if (Compare(y, x) < 0) std::swap(x, y);
  return DimFactory::Make(DimOp::kAnd, {x, y});
}

Dim Or(const Dim& a, const Dim& b) {
  Dim x = Truth(a), y = Truth(b);
  if (x.is_constant()) return x.value() ? x : y;
  if (y.is_constant()) return y.value() ? y : x;
  if (x == y) return x;
  if (x == Not(y)) return 1;
  if (Compare(y, x) < 0) std::swap(x, y);
  return DimFactory::Make(DimOp::kOr, {x, y});
}

Dim Not(const Dim& a) {
  if (auto value = a.constant()) return *value == 0;
  const std::vector<Dim>& operands = a.operands();
  switch (a.op()) {
    case DimOp::kNot:
      return operands[0];
    case DimOp::kEqual:
      return DimFactory::Make(DimOp::kNotEqual, operands);
    case DimOp::kNotEqual:
      return DimFactory::Make(DimOp::kEqual, operands);
    case DimOp::kLess:
      return LessEqual(operands[1], operands[0]);
    case DimOp::kLessEqual:
      return Less(operands[1], operands[0]);
    default:
      return IsBoolean(a) ? DimFactory::Make(DimOp::kNot, {a}) : Equal(a, 0);
  }
}

Dim Select(const Dim& condition, const Dim& then, const Dim& otherwise) {
  if (auto value = condition.constant()) return *value ? then : otherwise;
  if (then == otherwise) return then;
  Dim c = Truth(condition);
  if (c.is_constant()) return c.value() ? then : otherwise;
  if (c.op() == DimOp::kNot || c.op() == DimOp::kNotEqual) return Select(Not(c), otherwise, then);
  if (then.IsConstant(1) && otherwise.IsConstant(0)) return c;
  if (then.IsConstant(0) && otherwise.IsConstant(1)) return Not(c);
  if (then.op() == DimOp::kSelect && then.operands()[0] == c) return Select(c, then.operands()[1], otherwise);
  if (otherwise.op() == DimOp::kSelect && otherwise.operands()[0] == c)
    return Select(c, then, otherwise.operands()[2]);
  if (c.operands().size() == 2) {
    const Dim& x = c.operands()[0];
    const Dim& y = c.operands()[1];
    bool in_order = then == x && otherwise == y, reversed = then == y && otherwise == x;
    if (c.op() == DimOp::kEqual && (in_order || reversed)) return otherwise;
    if (c.op() == DimOp::kLess || c.op() == DimOp::kLessEqual) {
      if (in_order) return Min(x, y);
      if (reversed) return Max(x, y);
    }
  }
  return DimFactory::Make(DimOp::kSelect, {c, then, otherwise});
}

Dim Product(const Dims& dims) {
  Dim product = 1;
  for (const Dim& dim : dims) product = product * dim;
  return product;
}

Dim Apply(DimOp op, const std::vector<Dim>& operands) {
  if (op == DimOp::kMul) return Product(operands);
  if (op == DimOp::kAdd) {
    Dim sum = 0;
    for (const Dim& operand : operands) sum = sum + operand;
    return sum;
  }
  if (op == DimOp::kNot) return Not(operands[0]);
  if (op == DimOp::kSelect) return Select(operands[0], operands[1], operands[2]);
  const Dim& a = operands[0];
  const Dim& b = operands[1];
  switch (op) {
    case DimOp::kSub:
      return a - b;
    case DimOp::kFloorDiv:
      return FloorDiv(a, b);
    case DimOp::kCeilDiv:
      return CeilDiv(a, b);
    case DimOp::kFloorMod:
      return FloorMod(a, b);
    case DimOp::kMin:
      return Min(a, b);
    case DimOp::kMax:
      return Max(a, b);
    case DimOp::kEqual:
      return Equal(a, b);
    case DimOp::kNotEqual:
      return NotEqual(a, b);
    case DimOp::kLess:
      return Less(a, b);
    case DimOp::kLessEqual:
      return LessEqual(a, b);
    case DimOp::kAnd:
      return And(a, b);
    default:
      return Or(a, b);
  }
}

}  // namespace tvmvm::ir
