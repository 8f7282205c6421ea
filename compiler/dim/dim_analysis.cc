// What can be said of a dim when its symbols are replaced, given values, or bounded.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "compiler/dim/dim_polynomial.h"
#include "compiler/dim/signed_symbols.h"

namespace tvmvm::ir {
namespace {

using Wide = __int128;

// Bounds beyond int64 stand for "unbounded".
constexpr Wide kInfinity = Wide{1} << 100;

struct Interval {
  Wide low, high;
};

Wide Saturate(Wide value) {
  if (value > INT64_MAX) return kInfinity;
  if (value < INT64_MIN) return -kInfinity;
  return value;
}

bool IsInfinite(Wide value) { return value >= kInfinity || value <= -kInfinity; }

Wide Times(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  if (IsInfinite(a) || IsInfinite(b)) return (a < 0) == (b < 0) ? kInfinity : -kInfinity;
  return Saturate(a * b);
}

Wide FloorQuotient(Wide a, Wide b) {
  if (IsInfinite(b)) return (a < 0) != (b < 0) && a != 0 ? -1 : 0;
  if (IsInfinite(a)) return (a < 0) == (b < 0) ? kInfinity : -kInfinity;
  Wide quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Interval Hull(std::initializer_list<Wide> values) { return {std::min(values), std::max(values)}; }

Interval Add(Interval a, Interval b) {
  bool no_low = a.low <= -kInfinity || b.low <= -kInfinity,
       no_high = a.high >= kInfinity || b.high >= kInfinity;
  return {no_low ? -kInfinity : Saturate(a.low + b.low), no_high ? kInfinity : Saturate(a.high + b.high)};
}
Interval Negate(Interval a) { return {-a.high, -a.low}; }
Interval Multiply(Interval a, Interval b) {
  return Hull({Times(a.low, b.low), Times(a.low, b.high), Times(a.high, b.low), Times(a.high, b.high)});
}

constexpr Interval kAnything{-kInfinity, kInfinity};

Interval FloorDivide(Interval a, Interval b) {
  if (b.low <= 0 && b.high >= 0) return kAnything;
  return Hull({FloorQuotient(a.low, b.low), FloorQuotient(a.low, b.high), FloorQuotient(a.high, b.low),
               FloorQuotient(a.high, b.high)});
}

Interval FloorModulo(Interval a, Interval b) {
  if (b.low <= 0) return b.high < 0 ? Interval{b.low + 1, 0} : kAnything;
  if (a.low >= 0 && a.high < b.low) return a;
  Interval remainder{0, IsInfinite(b.high) ? kInfinity : b.high - 1};
  if (a.low >= 0) remainder.high = std::min(remainder.high, a.high);
  return remainder;
}

Interval Decided(bool is_true, bool is_false) { return {is_true ? 1 : 0, is_false ? 0 : 1}; }

Interval Truth(Interval a) { return Decided(a.low > 0 || a.high < 0, a.low == 0 && a.high == 0); }

Interval Not(Interval a) {
  Interval truth = Truth(a);
  return {1 - truth.high, 1 - truth.low};
}

// What symbols are known to be, and what followed from it for large expressions: their parts are met again
// and again, in differences and as parts of one another.
struct Bounds {
  static constexpr size_t kLeastKept = 16;  // nodes
  const RangeLookup& lookup;
  std::unordered_map<Dim, Interval> kept = {};
};

Interval IntervalOf(const Dim& dim, Bounds& bounds);

// Of a - b as one polynomial, which is tighter than the difference of the intervals; not where `a - b` could
// wrap.
Interval DifferenceOf(const Dim& a, const Dim& b, Bounds& bounds) {
  bool may_wrap = (a.is_constant() && b.is_constant()) || a.IsConstant(INT64_MIN) || b.IsConstant(INT64_MIN);
  if (may_wrap) return Add(IntervalOf(a, bounds), Negate(IntervalOf(b, bounds)));
  return IntervalOf(a - b, bounds);
}

Interval BinaryInterval(const Dim& dim, Bounds& bounds) {
  const Dim& x = dim.operands()[0];
  const Dim& y = dim.operands()[1];
  Interval a = IntervalOf(x, bounds), b = IntervalOf(y, bounds);
  switch (dim.op()) {
    case DimOp::kFloorDiv: {
      Interval quotient = FloorDivide(a, b);
      // Of a number by what is at least as large.
      if (b.low > 0 && y.op() == DimOp::kMax && std::ranges::count(y.operands(), x) > 0)
        quotient.high = std::min<Wide>(quotient.high, 1);
      return quotient;
    }
    case DimOp::kCeilDiv:
      return Negate(FloorDivide(Negate(a), b));
    case DimOp::kFloorMod:
      return FloorModulo(a, b);
    case DimOp::kMin:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case DimOp::kMax:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case DimOp::kAnd: {
      Interval p = Truth(a), q = Truth(b);
      return {std::min(p.low, q.low), std::min(p.high, q.high)};
    }
    case DimOp::kOr: {
      Interval p = Truth(a), q = Truth(b);
      return {std::max(p.low, q.low), std::max(p.high, q.high)};
    }
    default:
      break;
  }
  Interval difference = DifferenceOf(x, y, bounds);
  switch (dim.op()) {
    case DimOp::kEqual:
      return Decided(difference.low == 0 && difference.high == 0, difference.low > 0 || difference.high < 0);
    case DimOp::kNotEqual:
      return Not(
          Decided(difference.low == 0 && difference.high == 0, difference.low > 0 || difference.high < 0));
    case DimOp::kLess:
      return Decided(difference.high < 0, difference.low >= 0);
    case DimOp::kLessEqual:
      return Decided(difference.high <= 0, difference.low > 0);
    default:
      return kAnything;
  }
}

// Whether `less` takes a part of `whole` away, between nothing and all of it: n - n*f where f is 0 or 1.
bool IsPartTaken(const Dim& whole, const Dim& less, Bounds& bounds) {
  const Dim taken = less * -1, part = FloorDiv(taken, whole);
  if (!(part * whole == taken)) return false;
  const Interval range = IntervalOf(part, bounds);
  return range.low >= 0 && range.high <= 1;
}

Interval SumInterval(const Dim& sum, Bounds& bounds) {
  constexpr size_t kMostTerms = 4;  // of which each is held against each
  std::vector<Interval> terms;
  for (const Dim& operand : sum.operands()) terms.push_back(IntervalOf(operand, bounds));
  std::vector<bool> is_taken_from(terms.size());
  for (size_t less = 0; less < terms.size() && terms.size() <= kMostTerms; ++less) {
    if (terms[less].high > 0 || sum.operands()[less].is_constant()) continue;
    for (size_t whole = 0; whole < terms.size(); ++whole) {
      if (whole == less || is_taken_from[whole] || terms[whole].low < 0 ||
          terms[whole].low == terms[whole].high)
        continue;
      if (!IsPartTaken(sum.operands()[whole], sum.operands()[less], bounds)) continue;
      terms[less] = {0, 0};
      terms[whole].low = 0;
      is_taken_from[whole] = true;
      break;
    }
  }
  Interval all{0, 0};
  for (const Interval& term : terms) all = Add(all, term);
  return all;
}

Interval ComputedInterval(const Dim& dim, Bounds& bounds) {
  switch (dim.op()) {
    case DimOp::kConstant:
      return {dim.value(), dim.value()};
    case DimOp::kNamed:
    case DimOp::kSymbol: {
      DimRange range = dim.is_symbol() ? bounds.lookup(dim.symbol()) : dim.range();
      return {range.low == INT64_MIN ? -kInfinity : range.low,
              range.high == INT64_MAX ? kInfinity : range.high};
    }
    case DimOp::kAdd:
      return SumInterval(dim, bounds);
    case DimOp::kMul: {
      Interval product{1, 1};
      for (const Dim& operand : dim.operands()) product = Multiply(product, IntervalOf(operand, bounds));
      return product;
    }
    case DimOp::kNot:
      return Not(IntervalOf(dim.operands()[0], bounds));
    case DimOp::kSelect: {
      Interval condition = Truth(IntervalOf(dim.operands()[0], bounds));
      if (condition.low == 1) return IntervalOf(dim.operands()[1], bounds);
      if (condition.high == 0) return IntervalOf(dim.operands()[2], bounds);
      Interval a = IntervalOf(dim.operands()[1], bounds), b = IntervalOf(dim.operands()[2], bounds);
      return {std::min(a.low, b.low), std::max(a.high, b.high)};
    }
    default:
      return BinaryInterval(dim, bounds);
  }
}

Interval IntervalOf(const Dim& dim, Bounds& bounds) {
  if (dim.size() < Bounds::kLeastKept) return ComputedInterval(dim, bounds);
  if (const auto found = bounds.kept.find(dim); found != bounds.kept.end()) return found->second;
  const Interval interval = ComputedInterval(dim, bounds);
  bounds.kept.emplace(dim, interval);
  return interval;
}

DimRange RangeWithin(const Dim& dim, Bounds& bounds) {
  const Interval interval = IntervalOf(dim, bounds);
  auto clamp = [](Wide bound) { return static_cast<int64_t>(std::clamp<Wide>(bound, INT64_MIN, INT64_MAX)); };
  return {clamp(interval.low), clamp(interval.high)};
}

// Rebuilds with other operands, simplified again.
Dim Rebuild(const Dim& dim, const std::function<Dim(const Dim&)>& visit) {
  bool changed = false;
  std::vector<Dim> operands;
  for (const Dim& operand : dim.operands()) {
    operands.push_back(visit(operand));
    changed = changed || !(operands.back() == operand);
  }
  return changed ? Apply(dim.op(), operands) : dim;
}

Dim Simplified(const Dim& dim, Bounds& bounds) {
  if (dim.is_constant() || dim.is_symbol() || dim.op() == DimOp::kNamed) return dim;
  Dim rebuilt = Rebuild(dim, [&bounds](const Dim& operand) { return Simplified(operand, bounds); });
  if (rebuilt.is_constant() || rebuilt.is_symbol()) return rebuilt;
  DimRange range = RangeWithin(rebuilt, bounds);
  if (range.low == range.high) return range.low;
  const std::vector<Dim>& operands = rebuilt.operands();
  switch (rebuilt.op()) {
    case DimOp::kMin:
    case DimOp::kMax: {
      Interval difference = DifferenceOf(operands[0], operands[1], bounds);
      bool is_min = rebuilt.op() == DimOp::kMin;
      if (difference.high <= 0) return operands[is_min ? 0 : 1];
      if (difference.low >= 0) return operands[is_min ? 1 : 0];
      return rebuilt;
    }
    case DimOp::kSelect: {
      DimRange condition = RangeWithin(operands[0], bounds);
      if (condition.low == 1) return operands[1];
      if (condition.high == 0) return operands[2];
      return rebuilt;
    }
    case DimOp::kFloorMod: {
      DimRange value = RangeWithin(operands[0], bounds);
      if (value.low >= 0 && value.high < RangeWithin(operands[1], bounds).low) return operands[0];
      return rebuilt;
    }
    default:
      return rebuilt;
  }
}

using SymbolDims = std::function<std::optional<Dim>(const SymbolId&)>;
using SymbolNumbers = std::function<std::optional<int64_t>(const SymbolId&)>;
template <class T>
using Memo = std::unordered_map<Dim, T>;  // what became of named expressions; free while there are none

// Calls `visit` for the named expressions in `dim`, each before those that are built of it: who remembers
// what it gave needs no deep recursion.
template <class Visit>
void VisitNamed(const Dim& dim, std::unordered_set<Dim>* seen, Visit visit) {
  std::vector<std::pair<const Dim*, bool>> open{{&dim, false}};
  while (!open.empty()) {
    auto [at, is_done] = open.back();
    open.pop_back();
    if (is_done) visit(*at);
    if (is_done || at->depth() == 0) continue;
    if (at->op() == DimOp::kNamed) {
      if (!seen->insert(*at).second) continue;
      open.emplace_back(at, true);
    }
    for (const Dim& operand : at->operands()) open.emplace_back(&operand, false);
  }
}

// The visitor of a named expression's definition, which knows what became of those within.
template <class T, class Visit>
T VisitDefinitions(const Dim& dim, Visit visit) {
  Memo<T> memo;
  std::unordered_set<Dim> seen;
  if (dim.depth() > 0)
    VisitNamed(dim, &seen, [&](const Dim& named) { memo.insert_or_assign(named, visit(named, memo)); });
  if (dim.op() == DimOp::kNamed) return memo.at(dim);
  return visit(dim, memo);
}

Dim Replaced(const Dim& dim, const SymbolDims& lookup, const Memo<Dim>& memo) {
  if (dim.is_constant()) return dim;
  if (dim.is_symbol()) return lookup(dim.symbol()).value_or(dim);
  if (dim.op() == DimOp::kNamed) return memo.at(dim);
  return Rebuild(dim, [&](const Dim& operand) { return Replaced(operand, lookup, memo); });
}

std::optional<int64_t> Evaluated(const Dim& dim, const SymbolNumbers& lookup,
                                 const Memo<std::optional<int64_t>>& memo) {
  if (dim.is_constant()) return dim.value();
  if (dim.is_symbol()) return lookup(dim.symbol());
  if (dim.op() == DimOp::kNamed) return memo.at(dim);
  std::vector<std::optional<int64_t>> operands;
  for (const Dim& operand : dim.operands()) operands.push_back(Evaluated(operand, lookup, memo));
  return tvmvm::Apply(dim.op(), operands);
}

}  // namespace

Dim Substitute(const Dim& dim, const SymbolDims& lookup) {
  return VisitDefinitions<Dim>(dim, [&](const Dim& at, const Memo<Dim>& memo) {
    if (at.op() != DimOp::kNamed) return Replaced(at, lookup, memo);
    const bool changes = AnySymbol(at, [&](const SymbolId& symbol) { return lookup(symbol).has_value(); });
    return changes ? Dim::Named(Replaced(at.operands()[0], lookup, memo), at.range()) : at;
  });
}

std::optional<int64_t> Evaluate(const Dim& dim, const SymbolNumbers& lookup) {
  using Number = std::optional<int64_t>;
  return VisitDefinitions<Number>(dim, [&](const Dim& at, const Memo<Number>& memo) {
    return Evaluated(at.op() == DimOp::kNamed ? at.operands()[0] : at, lookup, memo);
  });
}

bool AnySymbol(const Dim& dim, const std::function<bool(const SymbolId&)>& wanted) {
  if (dim.is_symbol()) return wanted(dim.symbol());
  if (dim.op() == DimOp::kNamed) return std::ranges::any_of(DimFactory::SymbolsOf(dim), std::cref(wanted));
  return std::ranges::any_of(dim.operands(), [&](const Dim& operand) { return AnySymbol(operand, wanted); });
}

std::vector<SymbolId> SymbolsOf(const Dim& dim) {
  std::vector<SymbolId> symbols;
  SymbolSet seen;
  AnySymbol(dim, [&](const SymbolId& symbol) {
    if (seen.insert(symbol).second) symbols.push_back(symbol);
    return false;
  });
  return symbols;
}

bool MentionsAny(const Dim& dim, const SymbolSet& symbols) {
  return AnySymbol(dim, [&](const SymbolId& symbol) { return symbols.contains(symbol); });
}

void CollectSymbols(const Dim& dim, SymbolSet* symbols) {
  AnySymbol(dim, [&](const SymbolId& symbol) {
    symbols->insert(symbol);
    return false;
  });
}

void CollectNamed(const Dim& dim, std::vector<Dim>* named) {
  std::unordered_set<Dim> seen(named->begin(), named->end());
  VisitNamed(dim, &seen, [named](const Dim& found) { named->push_back(found); });
}

DimRange RangeOf(const Dim& dim, const RangeLookup& lookup) {
  Bounds bounds{lookup};
  return RangeWithin(dim, bounds);
}

DimRange RangeOf(const Dim& dim) {
  return RangeOf(dim, [](const SymbolId& symbol) {
    return MayBeNegative(symbol) ? DimRange{INT64_MIN, INT64_MAX} : DimRange();
  });
}

Dim Simplify(const Dim& dim, const RangeLookup& lookup) {
  Bounds bounds{lookup};
  return Simplified(dim, bounds);
}

int64_t DivisorOf(const Dim& dim) {
  constexpr size_t kMostNodes = 200;
  constexpr int64_t kMost = int64_t{1} << 31;  // products of two stay within 64 bits
  if (dim.is_constant()) {
    const int64_t value = dim.value();
    return value > -kMost && value < kMost ? std::abs(value) : 1;
  }
  const bool is_product = dim.op() == DimOp::kMul;
  const bool is_one_of = dim.op() == DimOp::kAdd || dim.op() == DimOp::kSub || dim.op() == DimOp::kMin ||
                         dim.op() == DimOp::kMax;
  if ((!is_product && !is_one_of) || dim.size() > kMostNodes) return 1;
  int64_t divisor = is_product ? 1 : 0;
  for (const Dim& operand : dim.operands()) {
    const int64_t part = DivisorOf(operand);
    divisor = is_one_of ? std::gcd(divisor, part) : divisor * part < kMost ? divisor * part : divisor;
  }
  return divisor;
}

}  // namespace tvmvm::ir
