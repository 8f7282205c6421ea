#include "compiler/dim/dim_polynomial.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace tvmvm::ir {

namespace {

// By degree, highest first, then by factors: a monomial order, so that division terminates.
int CompareFactors(const Term& a, const Term& b) {
  if (a.factors.size() != b.factors.size()) return a.factors.size() > b.factors.size() ? -1 : 1;
  for (size_t i = 0; i < a.factors.size(); ++i)
    if (int order = Compare(a.factors[i], b.factors[i])) return order;
  return 0;
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

Polynomial FloorDivideTerms(Polynomial terms, int64_t divisor) {
  for (Term& term : terms) term.coefficient = FloorDivide(term.coefficient, divisor);
  std::erase_if(terms, [](const Term& term) { return term.coefficient == 0; });
  return terms;
}

}  // namespace

int64_t CoefficientGcd(const Polynomial& terms, int64_t with) {
  int64_t divisor = with;
  for (const Term& term : terms) {
    if (term.factors.empty()) continue;
    if (term.coefficient == INT64_MIN) return 1;
    divisor = std::gcd(divisor, term.coefficient);
  }
  return divisor;
}

int Compare(const Dim& a, const Dim& b) {
  if (a == b) return 0;
  if (a.op() != b.op()) return a.op() < b.op() ? -1 : 1;
  if (a.is_constant()) return a.value() < b.value() ? -1 : 1;
  if (a.is_symbol()) return a.symbol() < b.symbol() ? -1 : 1;
  if (a.op() == DimOp::kNamed) return a.name() < b.name() ? -1 : 1;
  const auto& x = a.operands();
  const auto& y = b.operands();
  if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
  for (size_t i = 0; i < x.size(); ++i)
    if (int order = Compare(x[i], y[i])) return order;
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

}  // namespace tvmvm::ir
