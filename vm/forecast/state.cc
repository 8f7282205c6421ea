#include "vm/forecast/state.h"

#include <algorithm>

namespace tvmvm::forecast {
namespace {

// More are not remembered: those that matter stand close to their branches.
constexpr size_t kMostComparisons = 32;

bool SameDims(const Dims& a, const Dims& b) { return a == b || (a != nullptr && b != nullptr && *a == *b); }

Dims JoinDims(const Dims& a, const Dims& b) {
  if (SameDims(a, b)) return a;
  if (a == nullptr || b == nullptr || a->size() != b->size()) return nullptr;
  auto joined = std::make_shared<std::vector<Interval>>(*a);
  for (size_t i = 0; i < joined->size(); ++i) (*joined)[i] = (*a)[i].Join((*b)[i]);
  return joined;
}

}  // namespace

ObjectId ObjectTable::Find(Kind kind, uint32_t context, uint32_t place, uint32_t number) {
  const auto [at, is_new] = ids_.try_emplace({static_cast<uint32_t>(kind), context, place, number},
                                             static_cast<ObjectId>(objects_.size()));
  if (is_new) objects_.emplace_back();
  return at->second;
}

void ObjectTable::Rename(ObjectId from, ObjectId to) {
  auto has = [](const Object& object, ObjectId id) {
    return std::find(object.one_of.begin(), object.one_of.end(), id) != object.one_of.end();
  };
  for (Object& object : objects_)
    if (has(object, from) && !has(object, to)) object.one_of.push_back(to);
}

bool State::Holds(ObjectId id) const {
  return std::any_of(refs.begin(), refs.end(), [id](const Ref& ref) { return ref.object == id; });
}

void State::Replace(ObjectId from, ObjectId to) {
  for (Ref& ref : refs)
    if (ref.object == from) ref.object = to;
}

void State::SetScalar(uint32_t reg, const Interval& value) {
  scalars[reg] = value;
  std::erase_if(comparisons, [reg](const Comparison& comparison) {
    return comparison.result == reg || comparison.a == reg || comparison.b == reg;
  });
  if (comparisons.size() > kMostComparisons) comparisons.erase(comparisons.begin());
}

bool State::Narrow(uint32_t reg, const Interval& range) {
  const std::optional<Interval> met = scalars[reg].Meet(range);
  if (met) scalars[reg] = *met;
  return met.has_value();
}

bool State::AssumeComparison(const Comparison& comparison, bool is_true) {
  const Interval a = scalars[comparison.a], b = scalars[comparison.b];
  auto below = [](int64_t value) { return value == INT64_MIN || value == INT64_MAX ? value : value - 1; };
  auto above = [](int64_t value) { return value == INT64_MIN || value == INT64_MAX ? value : value + 1; };
  switch (comparison.opcode) {
    case Opcode::kLess:
      if (is_true)
        return Narrow(comparison.a, {INT64_MIN, below(b.high)}) &&
               Narrow(comparison.b, {above(a.low), INT64_MAX});
      return Narrow(comparison.a, {b.low, INT64_MAX}) && Narrow(comparison.b, {INT64_MIN, a.high});
    case Opcode::kLessEqual:
      if (is_true)
        return Narrow(comparison.a, {INT64_MIN, b.high}) && Narrow(comparison.b, {a.low, INT64_MAX});
      return Narrow(comparison.a, {above(b.low), INT64_MAX}) &&
             Narrow(comparison.b, {INT64_MIN, below(a.high)});
    case Opcode::kEqual:
    case Opcode::kNotEqual:
      if (is_true != (comparison.opcode == Opcode::kEqual)) return true;
      return Narrow(comparison.a, b) && Narrow(comparison.b, a);
    case Opcode::kAnd:
      return !is_true || (Assume(comparison.a, true) && Assume(comparison.b, true));
    case Opcode::kNot:
      return Assume(comparison.a, !is_true);
    default:
      return true;
  }
}

bool State::Assume(uint32_t reg, bool is_true) {
  if (scalars[reg].truth() == (is_true ? 0 : 1)) return false;
  if (!is_true) scalars[reg] = Interval::Of(0);
  const std::vector<Comparison> known = comparisons;
  for (const Comparison& comparison : known)
    if (comparison.result == reg && !AssumeComparison(comparison, is_true)) return false;
  return true;
}

State Join(const std::vector<const State*>& from, uint32_t context, uint32_t place, ObjectTable* objects) {
  State joined = *from[0];
  if (from.size() == 1) return joined;
  joined.share = 0;
  for (const State* state : from) {
    joined.share += state->share;
    for (size_t i = 0; i < joined.scalars.size(); ++i)
      joined.scalars[i] = joined.scalars[i].Join(state->scalars[i]);
    for (size_t i = 0; i < joined.least_peak.size(); ++i)
      joined.least_peak[i] = std::min(joined.least_peak[i], state->least_peak[i]);
    std::erase_if(joined.comparisons, [state](const Comparison& comparison) {
      return std::find(state->comparisons.begin(), state->comparisons.end(), comparison) ==
             state->comparisons.end();
    });
  }
  std::map<std::vector<ObjectId>, ObjectId> alike;
  for (uint32_t reg = 0; reg < joined.refs.size(); ++reg) {
    Ref& ref = joined.refs[reg];
    std::vector<ObjectId> sides;
    for (const State* state : from) {
      sides.push_back(state->refs[reg].object);
      ref.dims = JoinDims(ref.dims, state->refs[reg].dims);
    }
    if (std::all_of(sides.begin(), sides.end(), [&](ObjectId id) { return id == sides[0]; })) continue;
    const auto [at, is_new] = alike.try_emplace(sides, kNoObject);
    if (is_new) {
      at->second = objects->Find(ObjectTable::Kind::kJoined, context, place, reg);
      Object object = (*objects)[sides[0]];
      object.one_of.clear();
      for (ObjectId id : sides) {
        const Object& side = (*objects)[id];
        object.bytes = {std::min(object.bytes.low, side.bytes.low),
                        std::max(object.bytes.high, side.bytes.high)};
        object.device = std::max(object.device, side.device);
        object.is_tensor = object.is_tensor && side.is_tensor;
      }
      objects->Set(at->second, object);
    }
    ref.object = at->second;
  }
  return joined;
}

void Widen(const State& before, State* state) {
  for (size_t i = 0; i < state->scalars.size(); ++i) {
    Interval& now = state->scalars[i];
    const Interval& old = before.scalars[i];
    if (now.low < old.low) now.low = now.low >= 0 ? 0 : INT64_MIN;
    if (now.high > old.high) now.high = INT64_MAX;
  }
  for (size_t i = 0; i < state->refs.size(); ++i)
    if (!SameDims(before.refs[i].dims, state->refs[i].dims)) state->refs[i].dims = nullptr;
}

bool SameKnowledge(const State& a, const State& b) {
  return a.scalars == b.scalars && a.comparisons == b.comparisons &&
         std::equal(
             a.refs.begin(), a.refs.end(), b.refs.begin(), b.refs.end(),
             [](const Ref& x, const Ref& y) { return x.object == y.object && SameDims(x.dims, y.dims); });
}

}  // namespace tvmvm::forecast
