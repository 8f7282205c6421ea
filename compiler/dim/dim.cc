#include "compiler/dim/dim.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <utility>

namespace tvmvm::ir {

struct Dim::Node {
  DimOp op = DimOp::kConstant;
  int64_t value = 0;
  std::string symbol;
  std::vector<Dim> operands;
  size_t hash = 0;
  size_t size = 1;
};

struct DimFactory {
  static Dim Wrap(Dim::Node node) {
    size_t hash = static_cast<size_t>(node.op) * 0x9e3779b97f4a7c15u;
    auto mix = [&hash](size_t part) { hash = (hash ^ part) * 0xff51afd7ed558ccdu + (hash >> 29); };
    mix(static_cast<size_t>(node.value));
    if (!node.symbol.empty()) mix(std::hash<std::string>{}(node.symbol));
    for (const Dim& operand : node.operands) {
      mix(operand.Hash());
      if (__builtin_add_overflow(node.size, operand.size(), &node.size)) node.size = SIZE_MAX;
    }
    node.hash = hash;
    return Dim(std::make_shared<const Dim::Node>(std::move(node)));
  }
  static Dim Make(DimOp op, std::vector<Dim> operands) {
    return Wrap({.op = op, .operands = std::move(operands)});
  }
  static Dim Constant(int64_t value) { return Wrap({.op = DimOp::kConstant, .value = value}); }
  static std::shared_ptr<const Dim::Node> SmallConstant(int64_t value);
};

namespace {

constexpr int64_t kFirstSmall = -64, kLastSmall = 1024;

int64_t WrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t WrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t WrapNegate(int64_t a) { return static_cast<int64_t>(-static_cast<uint64_t>(a)); }

int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == -1) return WrapNegate(a);
  int64_t quotient = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}
int64_t FloorRemainder(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

// A total order that does not depend on addresses, so that canonical forms and texts are reproducible.
int Compare(const Dim& a, const Dim& b) {
  if (a == b) return 0;
  if (a.op() != b.op()) return a.op() < b.op() ? -1 : 1;
  if (a.is_constant()) return a.value() < b.value() ? -1 : 1;
  if (a.is_symbol()) return a.symbol() < b.symbol() ? -1 : 1;
  const auto& x = a.operands();
  const auto& y = b.operands();
  if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
  for (size_t i = 0; i < x.size(); ++i)
    if (int order = Compare(x[i], y[i])) return order;
  return 0;
}

// coefficient * factors[0] * factors[1] ..., factors sorted, none of them a constant.
struct Term {
  std::vector<Dim> factors;
  int64_t coefficient = 0;
};
// Sorted by factors (the constant term, having none, is last); no coefficient is 0.
using Polynomial = std::vector<Term>;

// By degree, highest first, then by factors: a monomial order, so that division terminates.
int CompareFactors(const Term& a, const Term& b) {
  if (a.factors.size() != b.factors.size()) return a.factors.size() > b.factors.size() ? -1 : 1;
  for (size_t i = 0; i < a.factors.size(); ++i)
    if (int order = Compare(a.factors[i], b.factors[i])) return order;
  return 0;
}

Term TermOf(const Dim& dim) {
  if (dim.is_constant()) return {{}, dim.value()};
  if (dim.op() != DimOp::kMul) return {{dim}, 1};
  Term term{dim.operands(), 1};
  if (term.factors.back().is_constant()) {
    term.coefficient = term.factors.back().value();
    term.factors.pop_back();
  }
  return term;
}

Polynomial PolynomialOf(const Dim& dim) {
  Polynomial terms;
  if (dim.op() == DimOp::kAdd) {
    for (const Dim& operand : dim.operands()) terms.push_back(TermOf(operand));
  } else if (!dim.IsConstant(0)) {
    terms.push_back(TermOf(dim));
  }
  return terms;
}

Dim DimOf(const Term& term) {
  if (term.factors.empty()) return term.coefficient;
  if (term.coefficient == 1 && term.factors.size() == 1) return term.factors[0];
  std::vector<Dim> operands = term.factors;
  if (term.coefficient != 1) operands.push_back(term.coefficient);
  return DimFactory::Make(DimOp::kMul, std::move(operands));
}

Dim DimOf(const Polynomial& terms) {
  if (terms.empty()) return 0;
  if (terms.size() == 1) return DimOf(terms[0]);
  std::vector<Dim> operands;
  for (const Term& term : terms) operands.push_back(DimOf(term));
  return DimFactory::Make(DimOp::kAdd, std::move(operands));
}

// a + scale * b
Polynomial AddScaled(const Polynomial& a, const Polynomial& b, int64_t scale) {
  Polynomial sum;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    int order = i == a.size() ? 1 : j == b.size() ? -1 : CompareFactors(a[i], b[j]);
    Term term = order <= 0 ? a[i] : b[j];
    if (order == 0) term.coefficient = WrapAdd(term.coefficient, WrapMul(scale, b[j].coefficient));
    if (order > 0) term.coefficient = WrapMul(scale, term.coefficient);
    i += order <= 0;
    j += order >= 0;
    if (term.coefficient != 0) sum.push_back(std::move(term));
  }
  return sum;
}

Term Multiply(const Term& a, const Term& b) {
  Term product{{}, WrapMul(a.coefficient, b.coefficient)};
  product.factors.resize(a.factors.size() + b.factors.size());
  std::merge(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(), product.factors.begin(),
             [](const Dim& x, const Dim& y) { return Compare(x, y) < 0; });
  return product;
}

Polynomial Multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  for (const Term& x : a) {
    Polynomial row;
    for (const Term& y : b) row.push_back(Multiply(x, y));
    std::sort(row.begin(), row.end(), [](const Term& p, const Term& q) { return CompareFactors(p, q) < 0; });
    product = AddScaled(product, row, 1);
  }
  return product;
}

// x / y where it is exact, else nothing.
std::optional<Term> Divide(const Term& x, const Term& y) {
  if (y.coefficient == 0 || FloorRemainder(x.coefficient, y.coefficient) != 0) return std::nullopt;
  Term quotient{{}, FloorDivide(x.coefficient, y.coefficient)};
  size_t j = 0;
  for (const Dim& factor : x.factors) {
    if (j < y.factors.size() && factor == y.factors[j])
      ++j;
    else
      quotient.factors.push_back(factor);
  }
  if (j < y.factors.size()) return std::nullopt;
  return quotient;
}

struct Division {
  Polynomial quotient, remainder;  // a == quotient * b + remainder
};

// Divides term by term while the leading term of `b` divides one of `a`; with several terms in `b` only an
// exact division is worth having, else everything is left in the remainder.
Division Divide(const Polynomial& a, const Polynomial& b) {
  Division division;
  if (b.size() == 1) {
    for (const Term& term : a) {
      if (auto quotient = Divide(term, b[0]))
        division.quotient = AddScaled(division.quotient, {*quotient}, 1);
      else
        division.remainder.push_back(term);
    }
    return division;
  }
  constexpr int kMaxSteps = 64;
  Polynomial rest = a;
  for (int step = 0; step < kMaxSteps && !rest.empty(); ++step) {
    auto quotient = Divide(rest[0], b[0]);
    if (!quotient) break;
    division.quotient = AddScaled(division.quotient, {*quotient}, 1);
    rest = AddScaled(rest, Multiply({*quotient}, b), -1);
  }
  if (!rest.empty()) return {{}, a};
  return division;
}

// Takes what a constant `divisor` > 0 divides out of the constant term too, so that it ends in [0, divisor).
Division DivideByConstant(const Polynomial& a, int64_t divisor) {
  Division division = Divide(a, {{{}, divisor}});
  if (!division.remainder.empty() && division.remainder.back().factors.empty()) {
    int64_t constant = division.remainder.back().coefficient;
    division.remainder.back().coefficient = FloorRemainder(constant, divisor);
    division.quotient = AddScaled(division.quotient, {{{}, FloorDivide(constant, divisor)}}, 1);
  }
  return division;
}

bool FirstIsConstant(const Polynomial& terms) { return !terms.empty() && terms[0].factors.empty(); }

// Greatest common divisor of the coefficients of all terms that have factors, and of `with`.
int64_t CoefficientGcd(const Polynomial& terms, int64_t with) {
  int64_t divisor = with;
  for (const Term& term : terms) {
    if (term.factors.empty()) continue;
    if (term.coefficient == INT64_MIN) return 1;
    divisor = std::gcd(divisor, term.coefficient);
  }
  return divisor;
}

Polynomial FloorDivideTerms(Polynomial terms, int64_t divisor) {
  for (Term& term : terms) term.coefficient = FloorDivide(term.coefficient, divisor);
  std::erase_if(terms, [](const Term& term) { return term.coefficient == 0; });
  return terms;
}

// floor(a / divisor), divisor > 1
Dim FloorDivByConstant(const Dim& a, int64_t divisor) {
  auto [quotient, remainder] = DivideByConstant(PolynomialOf(a), divisor);
  if (remainder.empty() || FirstIsConstant(remainder)) return DimOf(quotient);
  // A common factor g of remainder and divisor: floor((g*x + c) / (g*d)) == floor((x + floor(c/g)) / d).
  int64_t common = CoefficientGcd(remainder, divisor);
  Dim numerator = DimOf(FloorDivideTerms(remainder, common));
  divisor /= common;
  if (divisor == 1) return DimOf(quotient) + numerator;
  // floor((floor(x/d) + c) / e) == floor((x + c*d) / (d*e)).
  bool has_constant = numerator.op() == DimOp::kAdd && numerator.operands().size() == 2 &&
                      numerator.operands()[1].is_constant();
  Dim inner = has_constant ? numerator.operands()[0] : numerator;
  int64_t product = 0;
  if (inner.op() == DimOp::kFloorDiv && inner.operands()[1].constant().value_or(0) > 0 &&
      !__builtin_mul_overflow(inner.operands()[1].value(), divisor, &product)) {
    Dim shift = has_constant ? numerator.operands()[1] * inner.operands()[1] : Dim(0);
    return DimOf(quotient) + FloorDivByConstant(inner.operands()[0] + shift, product);
  }
  return DimOf(quotient) + DimFactory::Make(DimOp::kFloorDiv, {numerator, divisor});
}

// a mod divisor, divisor > 1
Dim FloorModByConstant(const Dim& a, int64_t divisor) {
  Polynomial terms = PolynomialOf(a);
  for (Term& term : terms) term.coefficient = FloorRemainder(term.coefficient, divisor);
  std::erase_if(terms, [](const Term& term) { return term.coefficient == 0; });
  if (terms.empty() || FirstIsConstant(terms)) return DimOf(terms);
  int64_t common = CoefficientGcd(terms, divisor);
  if (terms.back().factors.empty()) common = std::gcd(common, terms.back().coefficient);
  Dim value = DimOf(FloorDivideTerms(terms, common));
  divisor /= common;
  if (divisor == 1) return 0;
  if (value.op() == DimOp::kFloorMod) {
    auto inner = value.operands()[1].constant();
    if (inner && *inner > 0 && divisor % *inner == 0) return value * common;
    if (inner && *inner > 0 && *inner % divisor == 0)
      return FloorModByConstant(value.operands()[0], divisor) * common;
  }
  return DimFactory::Make(DimOp::kFloorMod, {value, divisor}) * common;
}

bool IsBoolean(const Dim& a) {
  if (auto value = a.constant()) return *value == 0 || *value == 1;
  return a.op() >= DimOp::kEqual && a.op() <= DimOp::kNot;
}

// 1 where `a` is not 0.
Dim Truth(const Dim& a) { return IsBoolean(a) ? a : NotEqual(a, 0); }

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

Dim Dim::Symbol(std::string name) {
  return DimFactory::Wrap({.op = DimOp::kSymbol, .symbol = std::move(name)});
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
const std::string& Dim::symbol() const {
  assert(is_symbol());
  return node_->symbol;
}
const std::vector<Dim>& Dim::operands() const { return node_->operands; }
size_t Dim::Hash() const { return node_->hash; }
size_t Dim::size() const { return node_->size; }

bool operator==(const Dim& a, const Dim& b) {
  if (a.node_ == b.node_) return true;
  const Dim::Node& x = *a.node_;
  const Dim::Node& y = *b.node_;
  return x.hash == y.hash && x.op == y.op && x.value == y.value && x.size == y.size && x.symbol == y.symbol &&
         x.operands == y.operands;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return WrapAdd(a.value(), b.value());
  if (a.IsConstant(0)) return b;
  if (b.IsConstant(0)) return a;
  return DimOf(AddScaled(PolynomialOf(a), PolynomialOf(b), 1));
}

Dim operator-(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return WrapAdd(a.value(), WrapNegate(b.value()));
  if (b.IsConstant(0)) return a;
  return DimOf(AddScaled(PolynomialOf(a), PolynomialOf(b), -1));
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return WrapMul(a.value(), b.value());
  if (a.IsConstant(1) || b.IsConstant(0)) return b;
  if (b.IsConstant(1) || a.IsConstant(0)) return a;
  Polynomial x = PolynomialOf(a), y = PolynomialOf(b);
  constexpr size_t kMaxTerms = 64;
  if (x.size() * y.size() <= kMaxTerms) return DimOf(Multiply(x, y));
  // Too many terms to write out: the product of two sums stays one term.
  return DimOf(Multiply(a.op() == DimOp::kAdd ? Term{{a}, 1} : TermOf(a),
                        b.op() == DimOp::kAdd ? Term{{b}, 1} : TermOf(b)));
}

Dim FloorDiv(const Dim& a, const Dim& b) {
  if (b.IsConstant(0)) return DimFactory::Make(DimOp::kFloorDiv, {a, b});
  if (b.IsConstant(1) || a.IsConstant(0)) return a;
  if (b.IsConstant(-1)) return Dim(0) - a;
  if (a.is_constant() && b.is_constant()) return FloorDivide(a.value(), b.value());
  if (b.is_constant() && b.value() > 0) return FloorDivByConstant(a, b.value());
  auto [quotient, remainder] = Divide(PolynomialOf(a), PolynomialOf(b));
  if (remainder.empty()) return DimOf(quotient);
  return DimOf(quotient) + DimFactory::Make(DimOp::kFloorDiv, {DimOf(remainder), b});
}

Dim CeilDiv(const Dim& a, const Dim& b) {
  if (b.IsConstant(0)) return DimFactory::Make(DimOp::kCeilDiv, {a, b});
  if (b.IsConstant(1) || a.IsConstant(0)) return a;
  if (a.is_constant() && b.is_constant() && a.value() != INT64_MIN)
    return WrapNegate(FloorDivide(WrapNegate(a.value()), b.value()));
  // One canonical form for constant divisors, so that ceildiv(n, 2) equals floordiv(n+1, 2).
  if (b.is_constant() && b.value() > 0) return FloorDiv(a + (b.value() - 1), b);
  auto [quotient, remainder] = Divide(PolynomialOf(a), PolynomialOf(b));
  if (remainder.empty()) return DimOf(quotient);
  return DimOf(quotient) + DimFactory::Make(DimOp::kCeilDiv, {DimOf(remainder), b});
}

Dim FloorMod(const Dim& a, const Dim& b) {
  if (b.IsConstant(0)) return DimFactory::Make(DimOp::kFloorMod, {a, b});
  if (b.IsConstant(1) || b.IsConstant(-1) || a.IsConstant(0)) return 0;
  if (a.is_constant() && b.is_constant()) return FloorRemainder(a.value(), b.value());
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
  if (auto difference = (a - b).constant(); difference && !(a.is_constant() && b.is_constant()))
    return *difference < 0;
  if (a.is_constant() && b.is_constant()) return a.value() < b.value();
  return DimFactory::Make(DimOp::kLess, {a, b});
}

Dim LessEqual(const Dim& a, const Dim& b) {
  if (auto difference = (a - b).constant(); difference && !(a.is_constant() && b.is_constant()))
    return *difference <= 0;
  if (a.is_constant() && b.is_constant()) return a.value() <= b.value();
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
