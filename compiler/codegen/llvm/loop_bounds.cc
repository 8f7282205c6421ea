#include "compiler/codegen/llvm/loop_bounds.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace tvmvm::codegen {
namespace {

using ir::Dim;
using ir::DimOp;
using tensor::Expr;
using tensor::ExprOp;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr int kMostSteps = 500;   // of expressions that are looked at for one loop
constexpr size_t kMostTerms = 8;  // further ones are forgotten
constexpr size_t kMostNodes = 64;
constexpr double kLeastCut = 16, kMostCut = 1 << 20;

double Times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Bound Number(double most) { return {most, {}, {}}; }

// A factor that is a number goes into `factor`.
Dim WithoutFactor(const Dim& dim, double* factor) {
  if (dim.op() != DimOp::kMul) return dim;
  Dim rest = 1;
  for (const Dim& operand : dim.operands()) {
    if (auto constant = operand.constant(); constant && *constant > 0) {
      *factor *= static_cast<double>(*constant);
    } else {
      rest = rest * operand;
    }
  }
  return rest;
}

void Add(std::vector<Bound::Term>* terms, const Dim& dim, double factor) {
  if (factor == kUnbounded) return;
  for (auto& [other, least] : *terms)
    if (other == dim) {
      least = std::min(least, factor);
      return;
    }
  if (terms->size() < kMostTerms) terms->emplace_back(dim, factor);
}

double FactorOf(const Bound& a, const Dim& dim) {
  for (const auto& [other, factor] : a.by)
    if (other == dim) return std::min(factor, a.most);
  return a.most;
}

// Of `a` and `b` by the same dim.
template <class Combine>
Bound Both(const Bound& a, const Bound& b, const Combine& combine) {
  Bound both = Number(combine(a.most, b.most));
  for (const Bound* one : {&a, &b})
    for (const auto& [dim, factor] : one->by) Add(&both.by, dim, combine(FactorOf(a, dim), FactorOf(b, dim)));
  return both;
}

Bound Smaller(const Bound& a, const Bound& b) {
  Bound smaller = a;
  smaller.most = std::min(a.most, b.most);
  for (const auto& [dim, factor] : b.by) Add(&smaller.by, dim, factor);
  smaller.shares.insert(smaller.shares.end(), b.shares.begin(), b.shares.end());
  // A dim that is cut off at a number.
  if ((a.by.empty() || b.by.empty()) && smaller.most >= kLeastCut && smaller.most <= kMostCut)
    for (const Bound* bound : {&a, &b})
      for (const auto& [dim, factor] : bound->by)
        if (factor == 1 && dim.op() != DimOp::kMin)
          Add(&smaller.by, Min(dim, static_cast<int64_t>(smaller.most)), 1);
  return smaller;
}

// The other operand of a max of a number, which is `least`; else the dim.
const Dim& WithoutLeast(const Dim& dim, double* least) {
  if (dim.op() == DimOp::kMax && dim.operands().size() == 2)
    for (size_t i : {0, 1})
      if (auto constant = dim.operands()[i].constant(); constant && *constant > 0) {
        *least = static_cast<double>(*constant);
        return dim.operands()[1 - i];
      }
  return dim;
}

Bound OfDim(const Dim& dim) {
  const int64_t high = ir::RangeOf(dim).high;
  Bound bound = Number(high == INT64_MAX ? kUnbounded : static_cast<double>(std::max<int64_t>(0, high)));
  if (dim.is_constant()) return bound;
  if (dim.op() == DimOp::kMin)
    for (const Dim& operand : dim.operands()) bound = Smaller(bound, OfDim(operand));
  double factor = 1, least = 0;
  const Dim& quotient = WithoutLeast(dim, &least);
  if (quotient.op() == DimOp::kFloorDiv && quotient.operands()[0].constant()) {
    double ignored = 0;
    const Dim parts = WithoutFactor(WithoutLeast(quotient.operands()[1], &ignored), &factor);
    bound.shares.push_back({parts, static_cast<double>(*quotient.operands()[0].constant()) / factor, least});
  } else {
    const Dim rest = WithoutFactor(dim, &factor);
    Add(&bound.by, rest, factor);
  }
  return bound;
}

// What `whole` divided by `parts` is at most, where that is a division into parts of so many at most.
std::optional<double> LargestPart(const Dim& whole, const Dim& parts) {
  double least = 0;
  Dim quotient = WithoutLeast(parts, &least);
  int64_t more = 0;
  if (quotient.op() == DimOp::kAdd && quotient.operands().size() == 2)
    for (size_t i : {0, 1})
      if (auto constant = quotient.operands()[i].constant()) {
        more = *constant;
        quotient = Dim(quotient.operands()[1 - i]);
        break;
      }
  const bool rounds_up = quotient.op() == DimOp::kCeilDiv;
  if (!rounds_up && quotient.op() != DimOp::kFloorDiv) return std::nullopt;
  const auto size = quotient.operands()[1].constant();
  const auto missing = (whole - quotient.operands()[0]).constant();
  // parts * size is at least the dividend, less what was rounded off.
  if (!size || *size <= 0 || !missing ||
      *missing > (more - (rounds_up ? 0 : 1)) * *size + (rounds_up ? 0 : 1))
    return std::nullopt;
  return static_cast<double>(*size);
}

std::optional<int64_t> PositiveConstant(const Expr& e) {
  if (e.op() == ExprOp::kConstant && e->integer > 0) return e->integer;
  return std::nullopt;
}

}  // namespace

Bound Bound::Unknown() { return Number(kUnbounded); }

Bound Sum(const Bound& a, const Bound& b) {
  return Both(a, b, [](double x, double y) { return x + y; });
}

Bound Larger(const Bound& a, const Bound& b) {
  return Both(a, b, [](double x, double y) { return std::max(x, y); });
}

Bound Scaled(const Bound& a, double factor) {
  Bound scaled = Number(Times(a.most, factor));
  for (const auto& [dim, each] : a.by) scaled.by.emplace_back(dim, each * factor);
  for (const auto& [dim, whole, least] : a.shares)
    scaled.shares.push_back({dim, whole * factor, least * factor});
  return scaled;
}

Bound Product(const Bound& length, const Bound& each) {
  Bound product = Number(Times(length.most, each.most));
  for (const Bound::Share& share : length.shares)
    product.most = std::min(
        product.most, std::max(Times(share.least, each.most), Times(share.whole, FactorOf(each, share.dim))));
  for (const auto& [dim, factor] : length.by) {
    for (const auto& [other, inner] : each.by)
      if (dim.size() + other.size() < kMostNodes) Add(&product.by, dim * other, factor * inner);
    Add(&product.by, dim, Times(factor, each.most));
  }
  for (const auto& [dim, factor] : each.by) Add(&product.by, dim, Times(length.most, factor));
  return product;
}

Bound LoopBounds::IterationsOf(const tensor::Stmt& loop) {
  if (auto extent = tensor::ConstantExtent(loop))
    return Number(static_cast<double>(std::max<int64_t>(0, *extent)));
  steps_left_ = kMostSteps;
  known_.clear();
  const Bound length = Between(loop.begin, loop.end);
  const int64_t step = loop.step->integer;
  if (step == 1) return length;
  const double rounding = IsWhole(loop) ? 0 : static_cast<double>(step - 1);
  return Scaled(rounding > 0 ? Sum(length, Number(rounding)) : length, 1 / static_cast<double>(step));
}

// How far `end` is from `begin`.
Bound LoopBounds::Between(const Expr& begin, const Expr& end) {
  if (tensor::Same(begin, end)) return Number(0);
  if (double most = 0; IsRest(begin, end, &most)) return Number(most);
  auto identity = [](const Expr& e) {  // a variable has many nodes
    return e.op() == ExprOp::kVariable ? std::pair<const void*, uint32_t>(nullptr, e->id)
                                       : std::pair<const void*, uint32_t>(e.get(), 0);
  };
  const std::pair key(identity(begin), identity(end));
  if (auto known = known_.find(key); known != known_.end()) return known->second;
  if (--steps_left_ < 0) return Bound::Unknown();
  const Bound bound = Smaller(ToEnd(begin, end), FromBegin(begin, end));
  known_.emplace(key, bound);
  return bound;
}

Bound LoopBounds::ToEnd(const Expr& begin, const Expr& end) {
  const auto& operands = end->operands;
  switch (end.op()) {
    case ExprOp::kMin:
      return Smaller(Between(begin, operands[0]), Between(begin, operands[1]));
    case ExprOp::kMax:
      return Larger(Between(begin, operands[0]), Between(begin, operands[1]));
    case ExprOp::kSelect:
      return Larger(Between(begin, operands[1]), Between(begin, operands[2]));
    case ExprOp::kAdd:
      for (size_t i : {0, 1})
        if (tensor::Same(begin, operands[i])) return Of(operands[1 - i]);
      for (size_t i : {0, 1})
        if (operands[i].op() == ExprOp::kConstant)
          return Sum(Between(begin, operands[1 - i]),
                     Number(static_cast<double>(std::max<int64_t>(0, operands[i]->integer))));
      break;
    case ExprOp::kSub:  // rounded down
      if (operands[1].op() == ExprOp::kFloorMod) return Between(begin, operands[0]);
      break;
    case ExprOp::kFloorDiv:
      return Smaller(Part(Resolved(begin), end), Of(end));
    case ExprOp::kVariable:
      if (auto let = lets_.find(end->id); let != lets_.end()) {
        const Bound bound = Between(begin, let->second);
        return limits_.count(end->id) > 0 ? Smaller(bound, Of(end)) : bound;
      }
      break;
    default:
      break;
  }
  const int64_t first = begin.op() == ExprOp::kConstant ? begin->integer : 0;
  Bound bound = Of(end);
  bound.most = std::max(0.0, bound.most - static_cast<double>(first));
  if (first < 0) bound.by.clear();
  return bound;
}

// As ToEnd, of what `begin` is not below.
Bound LoopBounds::FromBegin(const Expr& begin, const Expr& end) {
  const auto& operands = begin->operands;
  switch (begin.op()) {
    case ExprOp::kMax:
      return Smaller(Between(operands[0], end), Between(operands[1], end));
    case ExprOp::kAdd:
      for (size_t i : {0, 1})
        if (PositiveConstant(operands[i])) return Between(operands[1 - i], end);
      break;
    case ExprOp::kVariable:
      if (auto let = lets_.find(begin->id); let != lets_.end()) return Between(let->second, end);
      break;
    default:
      break;
  }
  return Bound::Unknown();
}

Bound LoopBounds::Of(const Expr& e) {
  if (--steps_left_ < 0) return Bound::Unknown();
  const auto& operands = e->operands;
  switch (e.op()) {
    case ExprOp::kConstant:
      return Number(static_cast<double>(std::max<int64_t>(0, e->integer)));
    case ExprOp::kDim:
      return OfDim(e->dim);
    case ExprOp::kMin:
      return Smaller(Of(operands[0]), Of(operands[1]));
    case ExprOp::kMax:
      return Larger(Of(operands[0]), Of(operands[1]));
    case ExprOp::kSelect:
      return Larger(Of(operands[1]), Of(operands[2]));
    case ExprOp::kAdd:
      return Sum(Of(operands[0]), Of(operands[1]));
    case ExprOp::kSub:
      return operands[1].op() == ExprOp::kFloorMod ? Of(operands[0]) : Between(operands[1], operands[0]);
    case ExprOp::kMul:
      for (size_t i : {0, 1})
        if (auto factor = PositiveConstant(operands[i]))
          return Scaled(Of(operands[1 - i]), static_cast<double>(*factor));
      return Product(Of(operands[1]), Of(operands[0]));
    case ExprOp::kFloorDiv:
      if (auto divisor = PositiveConstant(operands[1]))
        return Scaled(Of(operands[0]), 1 / static_cast<double>(*divisor));
      return Of(operands[0]);
    case ExprOp::kFloorMod:
      return Of(operands[1]);
    case ExprOp::kVariable: {
      Bound bound = Bound::Unknown();
      if (auto let = lets_.find(e->id); let != lets_.end()) bound = Of(let->second);
      if (auto limit = limits_.find(e->id); limit != limits_.end()) bound = Smaller(bound, Of(limit->second));
      return bound;
    }
    default:
      return Bound::Unknown();
  }
}

// From part * whole // parts to (part + 1) * whole // parts.
Bound LoopBounds::Part(const Expr& begin, const Expr& end) {
  if (begin.op() != ExprOp::kFloorDiv || !tensor::Same(begin->operands[1], end->operands[1]))
    return Bound::Unknown();
  const Expr &from = begin->operands[0], &to = end->operands[0];
  if (from.op() != ExprOp::kMul || to.op() != ExprOp::kMul) return Bound::Unknown();
  const Expr &part = from->operands[0], &whole = from->operands[1], &next = to->operands[0];
  if (!tensor::Same(whole, to->operands[1]) || next.op() != ExprOp::kAdd ||
      !tensor::Same(next->operands[0], part) || !tensor::IsIntConstant(next->operands[1], 1))
    return Bound::Unknown();
  const Expr& parts = Resolved(end->operands[1]);
  if (Resolved(whole).op() == ExprOp::kDim && parts.op() == ExprOp::kDim)
    if (auto most = LargestPart(Resolved(whole)->dim, parts->dim)) return Number(*most);
  // (whole + (size - 1)) // size
  if (parts.op() == ExprOp::kFloorDiv && parts->operands[0].op() == ExprOp::kAdd &&
      tensor::Same(parts->operands[0]->operands[0], whole))
    if (auto size = PositiveConstant(parts->operands[1]);
        size && tensor::IsIntConstant(parts->operands[0]->operands[1], *size - 1))
      return Number(static_cast<double>(*size));
  return Bound::Unknown();
}

// Whether `begin` is first + (end - first) // step * step: what is left behind whole steps.
bool LoopBounds::IsRest(const Expr& begin, const Expr& end, double* most) const {
  const Expr& sum = Resolved(begin);
  if (sum.op() != ExprOp::kAdd) return false;
  for (size_t i : {0, 1}) {
    const Expr &first = sum->operands[1 - i], &steps = sum->operands[i];
    if (steps.op() != ExprOp::kMul || steps->operands[0].op() != ExprOp::kFloorDiv) continue;
    const Expr &distance = steps->operands[0]->operands[0], &step = steps->operands[0]->operands[1];
    if (distance.op() != ExprOp::kSub || !tensor::Same(distance->operands[0], end) ||
        !tensor::Same(distance->operands[1], first) || !tensor::Same(step, steps->operands[1]))
      continue;
    if (auto size = PositiveConstant(step)) {
      *most = static_cast<double>(*size - 1);
      return true;
    }
  }
  return false;
}

// Whether the loop ends at its begin + steps * step.
bool LoopBounds::IsWhole(const tensor::Stmt& loop) const {
  const Expr& end = Resolved(loop.end);
  if (end.op() != ExprOp::kAdd) return false;
  for (size_t i : {0, 1}) {
    const Expr& steps = end->operands[i];
    if (tensor::Same(end->operands[1 - i], loop.begin) && steps.op() == ExprOp::kMul &&
        tensor::Same(steps->operands[1], loop.step))
      return true;
  }
  return false;
}

const Expr& LoopBounds::Resolved(const Expr& e) const {
  const Expr* resolved = &e;
  for (int i = 0; i < 8 && resolved->op() == ExprOp::kVariable; ++i) {
    auto let = lets_.find((*resolved)->id);
    if (let == lets_.end()) break;
    resolved = &let->second;
  }
  return *resolved;
}

}  // namespace tvmvm::codegen
