#include "vm/forecast/input_sizes.h"

#include <algorithm>
#include <string>

#include "bytecode/dim_expression.h"

namespace tvmvm::forecast {
namespace {

struct WantedDim {
  std::string name;
  Interval bounds = kAnySize;  // of the program
};

std::string RangeText(const Interval& range) {
  if (range.is_exact()) return std::to_string(range.low);
  if (range.high == INT64_MAX) return "at least " + std::to_string(range.low);
  return std::to_string(range.low) + " to " + std::to_string(range.high);
}

std::string ListOf(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

bool IsRanked(const TypeSpec& type) { return type.kind == ValueKind::kTensor && type.has_rank; }

// The dimensions of the inputs as expressions over names.
class Dims {
 public:
  explicit Dims(const FunctionSpec& main) : main_(main) {
    for (const ParameterSpec& input : main.inputs) {
      expressions_.emplace_back();
      if (!IsRanked(input.type)) continue;
      for (size_t axis = 0; axis < input.type.dims.size(); ++axis)
        expressions_.back().push_back(Read(input, axis));
    }
  }

  const std::vector<WantedDim>& wanted() const { return wanted_; }

  // `sizes`: of the wanted ones.
  InputSizes Evaluate(const std::vector<Interval>& sizes) const {
    InputSizes result;
    for (size_t k = 0; k < main_.inputs.size(); ++k) {
      result.emplace_back();
      if (!IsRanked(main_.inputs[k].type)) continue;
      result.back().emplace();
      for (const Dim& dim : expressions_[k]) result.back()->push_back(ValueOf(dim, sizes));
    }
    return result;
  }

 private:
  struct Dim {
    Interval value;  // where there is no expression
    Interval bounds = kAnySize;
    std::optional<DimExpression> expression;
  };

  Dim Read(const ParameterSpec& input, size_t axis) {
    const DimSpec& dim = input.type.dims[axis];
    if (dim.value >= 0) return {Interval::Of(dim.value)};
    const Interval bounds{dim.low, dim.high};
    if (!dim.symbol.empty() && dim.symbol != "?") {
      if (Expected<DimExpression> expression = DimExpression::Parse(dim.symbol, &symbols_)) {
        Want(expression->plain_symbol(), bounds);
        return {{}, bounds, std::move(*expression)};
      }
    }
    const std::string name = input.name + "[" + std::to_string(axis) + "]";
    const uint32_t symbol = symbols_.Intern(name);
    Want(symbol, bounds);
    return {{}, bounds, *DimExpression::Parse(DimSymbolText(name), &symbols_)};
  }

  // All symbols so far are wanted; `plain` has these bounds.
  void Want(std::optional<uint32_t> plain, const Interval& bounds) {
    while (wanted_.size() < symbols_.size())
      wanted_.push_back({symbols_.name(static_cast<uint32_t>(wanted_.size()))});
    if (plain)
      if (auto met = wanted_[*plain].bounds.Meet(bounds)) wanted_[*plain].bounds = *met;
  }

  static Interval ValueOf(const Dim& dim, const std::vector<Interval>& sizes) {
    if (!dim.expression) return dim.value;
    std::vector<Interval> stack;
    for (const DimExpression::Step& step : dim.expression->steps()) {
      if (step.op == DimOp::kConstant || step.op == DimOp::kSymbol) {
        stack.push_back(step.op == DimOp::kConstant ? Interval::Of(step.value)
                                                    : sizes[static_cast<size_t>(step.value)]);
        continue;
      }
      const auto arity = static_cast<size_t>(RowOf(step.op).arity);
      Interval result = kAnything;
      if (step.op == DimOp::kSelect) {
        const Interval* at = &stack[stack.size() - 3];
        result = at->truth() == 1 ? at[1] : at->truth() == 0 ? at[2] : at[1].Join(at[2]);
      } else {
        const Interval& a = stack[stack.size() - arity];
        result = Compute(step.op, a, stack.back()).value_or(kAnything);
      }
      stack.resize(stack.size() - arity);
      stack.push_back(result);
    }
    return stack.back().Meet(dim.bounds).value_or(dim.bounds);
  }

  const FunctionSpec& main_;
  SymbolTable symbols_;
  std::vector<WantedDim> wanted_;  // by symbol
  std::vector<std::vector<Dim>> expressions_;
};

// nullopt: it is missing.
Expected<std::optional<Interval>> SizeOf(const WantedDim& wanted, const DimRanges& given) {
  auto found = given.find(wanted.name);
  if (found == given.end())
    return wanted.bounds.high == INT64_MAX ? std::nullopt : std::optional(wanted.bounds);
  const Interval range{found->second.low, found->second.high};
  const std::string name = "dimension '" + wanted.name + "'";
  if (range.low > range.high)
    return MakeError(Code::kInvalidArgument, name + ": the range from " + std::to_string(range.low) + " to " +
                                                 std::to_string(range.high) + " is empty");
  if (range.low < 0)
    return MakeError(Code::kInvalidArgument, name + " is " + RangeText(range) + ", a size is 0 or more");
  if (range.low < wanted.bounds.low || range.high > wanted.bounds.high)
    return MakeError(Code::kInvalidArgument,
                     name + " is " + RangeText(range) + ", the program takes " + RangeText(wanted.bounds));
  return std::optional(range);
}

}  // namespace

std::vector<std::string> WantedDims(const FunctionSpec& main) {
  std::vector<std::string> names;
  const Dims dims(main);
  for (const WantedDim& wanted : dims.wanted())
    if (!wanted.name.empty()) names.push_back(wanted.name);
  return names;
}

Expected<InputSizes> SizesOfInputs(const FunctionSpec& main, const DimRanges& given) {
  const Dims dims(main);
  std::vector<std::string> names, missing;
  std::vector<Interval> sizes;
  for (const WantedDim& wanted : dims.wanted()) {
    if (wanted.name.empty()) {  // "?" within an expression
      sizes.push_back(kAnySize);
      continue;
    }
    names.push_back(wanted.name);
    TVMVM_TRY(const std::optional<Interval> size, SizeOf(wanted, given));
    if (!size) missing.push_back(wanted.name);
    sizes.push_back(size.value_or(kAnySize));
  }
  for (const auto& [name, range] : given)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return MakeError(Code::kInvalidArgument, "the program has no dimension '" + name + "'; " +
                                                   (names.empty() ? "all its sizes are fixed"
                                                                  : "its dimensions are " + ListOf(names)));
  if (!missing.empty())
    return MakeError(Code::kInvalidArgument, "no size is given for " + ListOf(missing) + "; wanted are " +
                                                 "sizes of " + ListOf(names));
  return dims.Evaluate(sizes);
}

}  // namespace tvmvm::forecast
