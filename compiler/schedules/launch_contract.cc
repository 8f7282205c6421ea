#include "compiler/schedules/launch_contract.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_rewrite.h"
#include "compiler/schedules/bounded_indices.h"
#include "fmt/format.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::DimOp;
using ir::Dims;
using ir::SymbolId;

constexpr size_t kMostNodes = 1000;  // of an expression
constexpr int kMostSteps = 20000;    // of expressions looked at for one contract

// Whether the kernel only asks if the dim is beyond a size that caches have, which decides how it goes about
// its work. No local buffer is of that size, so that its code takes nothing for granted there. What says the
// size of the grid is none: by it generated code finds a point's coordinates.
bool IsEstimate(const LoopKernel& kernel, const Dim& dim) {
  if (std::ranges::find(kernel.grid_size, dim) != std::end(kernel.grid_size)) return false;
  constexpr int64_t kCaches = 4 << 20;
  const auto is_dim = [&](const Expr& e) { return e.op() == ExprOp::kDim && e->dim == dim; };
  const auto asks_size = [&](Expr e) {
    if (e.op() == ExprOp::kNot) e = e->operands[0];
    if (e.op() != ExprOp::kLess && e.op() != ExprOp::kLessEqual) return false;
    const Expr &a = e->operands[0], &b = e->operands[1];
    const Expr& size = is_dim(a) ? b : a;
    return (is_dim(a) || is_dim(b)) && size.op() == ExprOp::kConstant && size->integer >= kCaches;
  };
  bool is_estimate = true;
  const auto look = [&](const Expr& e) {
    if (is_estimate && e.valid()) VisitOnce(e, [&](const Expr& part) { is_estimate &= !is_dim(part); });
  };
  for (const BufferInfo& buffer : kernel.buffers) look(buffer.scratch_offset);
  VisitStatements(kernel.body, [&](const Stmt& s) {
    if (!is_estimate || (s.kind == StmtKind::kIf && asks_size(s.value))) return;
    for (const Expr& e : {s.begin, s.end, s.index, s.mask, s.value}) look(e);
  });
  return is_estimate;
}

// What the launch is given, and what follows from it.
class ContractWriter {
 public:
  // `told`: what the launch passes behind the call's scalars.
  ContractWriter(const ContractedCall& call, const Dims& told, const ir::RangeLookup& ranges)
      : call_(call), told_(told), ranges_(ranges) {}

  std::string Write() {
    const LoopKernel& kernel = call_.variants[0]->kernel;
    for (size_t k = 0; k < call_.scalars.size(); ++k)
      if (!AreEstimates(call_.scalars[k])) Give(fmt::format("s{}", k), call_.scalars[k]);
    for (size_t k = 0; k < told_.size(); ++k) Give(fmt::format("s{}", call_.scalars.size() + k), told_[k]);
    for (int axis = 0; axis < 3; ++axis) Give(std::string(1, "xyz"[axis]), kernel.grid_size[axis]);
    for (const Dim& fact : call_.facts) AddFact(fact);
    AddFact(call_.variants[0]->when);
    SolveSymbols();
    SolveByFacts();
    if (!ReplaceRest()) return "";
    SolveByFacts();
    ChooseRest();
    const std::optional<Dim> scratch = Said(Plain(ScratchBytes()));
    if (!scratch) return "";
    std::string text = scratch->ToString();
    for (const Dim& bytes : call_.bytes) {
      const std::optional<Dim> said = Said(Plain(bytes));
      if (!said) return "";
      text += "; " + said->ToString();
    }
    for (const Dim& fact : facts_) {
      const std::optional<Dim> said = Said(Plain(fact));
      if (!said) return "";
      Demand(*said);
    }
    for (const std::string& condition : conditions_) text += "; " + condition;
    return text;
  }

  // After Write: the symbols that do not follow from what the launch is given.
  Dims Untold() const {
    ir::SymbolSet symbols;
    for (const Given& given : given_) ir::CollectSymbols(given.meaning, &symbols);
    for (const Dim& bytes : call_.bytes) ir::CollectSymbols(bytes, &symbols);
    for (const Dim& fact : facts_) ir::CollectSymbols(fact, &symbols);
    ir::CollectSymbols(ScratchBytes(), &symbols);
    Dims untold;
    for (const SymbolId& symbol : symbols)
      if (!solved_.contains(symbol)) untold.push_back(Dim::Symbol(symbol));
    std::ranges::sort(untold, {}, &Dim::ToString);
    return untold;
  }

 private:
  // A number of the launch and what it stands for.
  struct Given {
    Dim name, meaning;
    bool is_used = false;  // it is what says its meaning
  };

  void Give(std::string name, const Dim& meaning) {
    const Dim number = Dim::Symbol(std::move(name));
    if (meaning.is_constant()) return Demand(Equal(number, meaning));
    given_.push_back({number, meaning});
  }

  bool AreEstimates(const Dim& dim) const {
    return std::ranges::all_of(call_.variants,
                               [&](const KernelCall* variant) { return IsEstimate(variant->kernel, dim); });
  }

  void AddFact(const Dim& fact) {
    if (fact.op() != DimOp::kAnd) return facts_.push_back(fact);
    for (const Dim& part : fact.operands()) AddFact(part);
  }

  void Demand(const Dim& condition) {
    if (condition.is_constant() && condition.value() != 0) return;
    std::string text = condition.ToString();
    if (std::ranges::find(conditions_, text) == conditions_.end()) conditions_.push_back(std::move(text));
  }

  void DemandRange(const Dim& number, const ir::DimRange& range) {
    if (range.low != INT64_MIN) Demand(LessEqual(range.low, number));
    if (range.high != INT64_MAX) Demand(LessEqual(number, range.high));
  }

  Dim ScratchBytes() const {
    Dim bytes = 0;
    for (const KernelCall* variant : call_.variants)
      if (!(variant->kernel.scratch_bytes == bytes)) bytes = Max(bytes, variant->kernel.scratch_bytes);
    return bytes;
  }

  // Symbols that a number tells: those that are one first, then those that all others in it are known for.
  void SolveSymbols() {
    for (Given& given : given_)
      if (given.meaning.is_symbol() && !solved_.contains(given.meaning.symbol())) {
        Solve(given.meaning.symbol(), given.name);
        given.is_used = true;
      }
    const auto solve = [this](const Given& given) { return SolveBy(given); };
    while (std::ranges::any_of(given_, solve)) {
    }
  }

  bool SolveBy(const Given& given) {
    const std::vector<SymbolId> open = OpenSymbols(given.meaning);
    if (open.size() != 1) return false;
    const std::optional<Slope> slope = SlopeOf(given.meaning, open[0]);
    if (!slope || ir::RangeOf(slope->factor, ranges_).low < 1) return false;  // a factor of 0 tells nothing
    const std::optional<Dim> factor = Said(slope->factor), rest = Said(slope->rest);
    if (!factor || !rest) return false;
    // A hostile launch may have another one.
    Solve(open[0], FloorDiv(given.name - *rest, factor->is_constant() ? *factor : Max(*factor, 1)));
    return true;
  }

  // What the other numbers must be; those that no symbols tell stand for themselves.
  bool ReplaceRest() {
    std::vector<Given*> rest;
    for (Given& given : given_)
      if (!given.is_used) rest.push_back(&given);
    std::ranges::stable_sort(rest, {}, [](const Given* given) { return given->meaning.size(); });
    for (Given* given : rest) {
      if (const std::optional<Dim> said = Said(given->meaning)) {
        Demand(Equal(given->name, *said));
      } else if (!StandsAlone(*given)) {
        return false;
      }
    }
    return true;
  }

  std::vector<SymbolId> OpenSymbols(const Dim& dim) const {
    std::vector<SymbolId> open;
    for (const SymbolId& symbol : ir::SymbolsOf(dim))
      if (!solved_.contains(symbol)) open.push_back(symbol);
    return open;
  }

  // Symbols that an equality among the facts tells.
  void SolveByFacts() {
    for (const Dim& fact : facts_) {
      if (fact.op() != DimOp::kEqual) continue;
      const Dim difference = fact.operands()[0] - fact.operands()[1];
      for (const SymbolId& symbol : ir::SymbolsOf(difference)) {
        const std::optional<Slope> slope = SlopeOf(difference, symbol);
        if (solved_.contains(symbol) || alone_.contains(symbol) || !slope) continue;
        const std::optional<int64_t> factor = slope->factor.constant();
        if (!factor) continue;
        const std::optional<Dim> rest = Said(*factor > 0 ? 0 - slope->rest : slope->rest);
        if (rest) Solve(symbol, FloorDiv(*rest, Dim(std::abs(*factor))));
      }
    }
  }

  // Sizes that the kernel does not know, of which it touches what the facts say: the least one that they
  // allow is enough.
  void ChooseRest() {
    ir::SymbolSet known;
    for (const Given& given : given_) ir::CollectSymbols(given.meaning, &known);
    for (const Dim& bytes : call_.bytes)
      for (const SymbolId& symbol : ir::SymbolsOf(bytes))
        if (!known.contains(symbol) && !solved_.contains(symbol) && GrowsWith(symbol))
          if (const std::optional<Dim> least = LeastOf(symbol)) Choose(symbol, *least);
  }

  void Choose(const SymbolId& symbol, const Dim& value) {
    const std::optional<Dim> said = Said(value);
    if (!said) return;
    chosen_.emplace(symbol, value);
    solved_.emplace(symbol, *said);
    if (const int64_t high = ranges_(symbol).high; high != INT64_MAX) Demand(LessEqual(*said, high));
  }

  // With what was chosen, and without what is always so.
  Dim Plain(const Dim& dim) const {
    const Dim chosen = ir::Substitute(dim, [this](const SymbolId& symbol) {
      const auto found = chosen_.find(symbol);
      return found != chosen_.end() ? std::optional(found->second) : std::nullopt;
    });
    return ir::Simplify(chosen, ranges_);
  }

  bool GrowsWith(const SymbolId& symbol) const {
    return std::ranges::all_of(call_.bytes, [&](const Dim& bytes) {
      const Dim next = ir::Substitute(bytes, [&](const SymbolId& other) {
        return other == symbol ? std::optional(Dim::Symbol(symbol) + 1) : std::nullopt;
      });
      return ir::RangeOf(next - bytes, ranges_).low >= 0;
    });
  }

  std::optional<Dim> LeastOf(const SymbolId& symbol) const {
    Dim least = std::max<int64_t>(ranges_(symbol).low, 0);
    for (const Dim& fact : facts_) {
      if (!ir::MentionsAny(fact, {symbol})) continue;
      if (fact.op() != DimOp::kLess && fact.op() != DimOp::kLessEqual) return std::nullopt;
      // 0 <= difference
      const Dim difference = fact.operands()[1] - fact.operands()[0] - Dim(fact.op() == DimOp::kLess ? 1 : 0);
      const std::optional<Slope> slope = SlopeOf(difference, symbol);
      if (!slope || !slope->factor.is_constant()) return std::nullopt;
      if (slope->factor.value() < 0) continue;
      least = Max(least, CeilDiv(0 - slope->rest, slope->factor));
    }
    return ir::Simplify(least, ranges_);
  }

  // dim = factor * symbol + rest, neither of which has the symbol.
  struct Slope {
    Dim factor, rest;
  };
  static std::optional<Slope> SlopeOf(const Dim& dim, const SymbolId& symbol) {
    const auto at = [&](int64_t value) {
      return ir::Substitute(dim, [&](const SymbolId& other) {
        return other == symbol ? std::optional(Dim(value)) : std::nullopt;
      });
    };
    const Dim rest = at(0), factor = at(1) - rest;
    if (factor.IsConstant(0) || !(dim == factor * Dim::Symbol(symbol) + rest)) return std::nullopt;
    return Slope{factor, rest};
  }

  void Solve(const SymbolId& symbol, const Dim& value) {
    solved_.emplace(symbol, value);
    DemandRange(value, ranges_(symbol));
  }

  // A number made of symbols that nothing else is made of stands for itself: a schedule goes by what dims
  // look like and by their ranges, so that it is right for any number of that range. What is a multiple of
  // the rest, but for a constant, stays that.
  bool StandsAlone(Given& given) {
    if (given.meaning.depth() > 0 || !KeepsWhatIsKnown(given)) return false;
    for (const SymbolId& symbol : OpenSymbols(given.meaning))
      if (!alone_.insert(symbol).second) return false;
    const auto [factor, constant] = FactorOf(given.meaning);
    const Dim part = FloorDiv(given.meaning - constant, factor),
              name = FloorDiv(given.name - constant, factor);
    if (!(part * factor + constant == given.meaning)) return false;
    if (!KeepsKnownFactors(part, name)) return false;
    DemandRange(name, ir::RangeOf(part, ranges_));
    if (!(name == given.name)) Demand(Equal(given.name, name * factor + constant));
    parts_.push_back({name, part, true});
    return true;
  }

  // A product of sizes known and unknown stays a multiple of the known ones, which may be 0; in a sum the
  // known ones would be lost.
  bool KeepsKnownFactors(const Dim& part, const Dim& name) {
    const size_t open = OpenSymbols(part).size();
    if (open == ir::SymbolsOf(part).size() || part.op() == DimOp::kMin || part.op() == DimOp::kMax)
      return true;
    if (part.op() != DimOp::kMul) return false;
    Dim known = 1;
    for (const Dim& operand : part.operands()) {
      if (!OpenSymbols(operand).empty()) {
        if (OpenSymbols(operand).size() < ir::SymbolsOf(operand).size()) return false;
        continue;
      }
      const std::optional<Dim> said = Said(operand);
      if (!said) return false;
      known = known * *said;
    }
    Demand(Equal(name, FloorDiv(name, Max(known, 1)) * known));
    return true;
  }

  // What a number is compared with or divided by, and is known, would be lost where the number stands for
  // itself: a smallest or largest one is demanded to be so, else such a number does not.
  bool KeepsWhatIsKnown(const Given& given) {
    const DimOp op = given.meaning.op();
    if (op != DimOp::kMin && op != DimOp::kMax) return !TiesToKnown(given.meaning);
    for (const Dim& operand : given.meaning.operands()) {
      if (!OpenSymbols(operand).empty()) {
        if (TiesToKnown(operand)) return false;
      } else if (const std::optional<Dim> said = Said(operand)) {
        Demand(op == DimOp::kMin ? LessEqual(given.name, *said) : LessEqual(*said, given.name));
      } else {
        return false;
      }
    }
    return true;
  }
  bool TiesToKnown(const Dim& dim) const {
    if (dim.is_constant() || dim.is_symbol()) return false;
    if (dim.op() != DimOp::kAdd && dim.op() != DimOp::kMul) {
      const size_t open = OpenSymbols(dim).size();
      if (open > 0 && open < ir::SymbolsOf(dim).size()) return true;
    }
    return std::ranges::any_of(dim.operands(), [this](const Dim& operand) { return TiesToKnown(operand); });
  }

  // The constant in a sum, and what all that is added to it are multiples of.
  static std::pair<int64_t, int64_t> FactorOf(const Dim& dim) {
    int64_t factor = 0, constant = 0;
    for (const Dim& term : dim.op() == DimOp::kAdd ? dim.operands() : Dims{dim}) {
      int64_t of_term = 1;
      for (const Dim& operand : term.op() == DimOp::kMul ? term.operands() : Dims{})
        of_term = operand.constant().value_or(of_term);
      if (term.is_constant())
        constant = term.value();
      else
        factor = std::gcd(factor, of_term);
    }
    return {std::max<int64_t>(factor, 1), constant};
  }

  // The dim in terms of the launch.
  std::optional<Dim> Said(const Dim& dim) const {
    if (dim.is_constant()) return dim;
    if (steps_left_ == 0) return std::nullopt;
    --steps_left_;
    for (const std::vector<Given>* list : {&given_, &parts_})
      for (const Given& given : *list)
        if (given.is_used && given.meaning == dim) return given.name;
    if (dim.is_symbol()) {
      const auto found = solved_.find(dim.symbol());
      return found != solved_.end() ? std::optional(found->second) : std::nullopt;
    }
    if (dim.op() == DimOp::kNamed) return Said(dim.operands()[0]);  // the definition
    if (dim.size() > kMostNodes) return std::nullopt;
    Dims operands;
    for (const Dim& operand : dim.operands()) {
      const std::optional<Dim> said = Said(operand);
      if (!said) return SaidAsMultiple(dim);
      operands.push_back(*said);
    }
    return Apply(dim.op(), operands);
  }

  // As what a number stands for, times something.
  std::optional<Dim> SaidAsMultiple(const Dim& dim) const {
    if (dim.op() != DimOp::kAdd && dim.op() != DimOp::kMul) return std::nullopt;
    const int64_t constant = FactorOf(dim).second;
    const Dim rest = dim - constant;
    for (const Given& given : parts_) {
      const Dim factor = FloorDiv(rest, given.meaning);
      if (factor.size() >= rest.size() || !(factor * given.meaning == rest)) continue;
      if (const std::optional<Dim> said = Said(factor)) return given.name * *said + constant;
    }
    return std::nullopt;
  }

  const ContractedCall& call_;
  const Dims& told_;
  const ir::RangeLookup& ranges_;
  mutable int steps_left_ = kMostSteps;
  std::vector<Given> given_, parts_;
  std::map<SymbolId, Dim> solved_;  // in terms of the launch
  std::map<SymbolId, Dim> chosen_;  // in terms of other symbols
  ir::SymbolSet alone_;
  Dims facts_;
  std::vector<std::string> conditions_;
};

}  // namespace

CallContract LaunchContractOf(const ContractedCall& call, const ir::RangeLookup& ranges,
                              const std::function<bool(const Dim&)>& can_tell) {
  constexpr size_t kMostTold = 16;
  for (const KernelCall* variant : call.variants)
    if (!IndicesAreBounded(variant->kernel)) return {};
  const Dims nothing;
  ContractWriter writer(call, nothing, ranges);
  CallContract contract{writer.Write(), {}};
  if (!contract.text.empty()) return contract;
  contract.told = writer.Untold();
  if (contract.told.size() > kMostTold || !std::ranges::all_of(contract.told, can_tell)) return {};
  contract.text = ContractWriter(call, contract.told, ranges).Write();
  return contract.text.empty() ? CallContract{} : contract;
}

}  // namespace tvmvm::tensor
