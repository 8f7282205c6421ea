#include <algorithm>
#include <bit>
#include <charconv>
#include <string>
#include <utility>

#include "bytecode/dim_expression.h"
#include "bytecode/launch_contract.h"

namespace tvmvm {
namespace {

constexpr uint8_t NumberOf(DimOp op) { return static_cast<uint8_t>(op); }

}  // namespace

std::string_view ContractExpression(std::string_view contract, size_t number) {
  for (; number > 0; --number) {
    const size_t end = contract.find(';');
    if (end == std::string_view::npos) return {};
    contract.remove_prefix(end + 1);
  }
  contract = contract.substr(0, contract.find(';'));
  contract.remove_prefix(std::min(contract.find_first_not_of(' '), contract.size()));
  return contract;
}

class ContractReader {
 public:
  explicit ContractReader(const KernelSpec& kernel) : kernel_(kernel) {}

  Expected<LaunchContract> Read() {
    const size_t expressions = 1 + static_cast<size_t>(std::ranges::count(kernel_.contract, ';'));
    if (expressions <= kernel_.buffers.size())
      return Fail("has " + std::to_string(expressions) + " expressions, wanted scratch, " +
                  std::to_string(kernel_.buffers.size()) + " buffers and conditions");
    if (kernel_.scalar_count > LaunchContract::kMostValues / 2 || expressions > LaunchContract::kMostValues)
      return Fail("is too large");
    for (size_t number = 0; number < LaunchContract::kFirstScalar + kernel_.scalar_count; ++number)
      NewValue(0, BitOf(number));
    std::string_view rest = kernel_.contract;
    for (size_t number = 0; number < expressions; ++number) {
      expression_ = static_cast<uint16_t>(number);
      TVMVM_CHECK_OK(ReadExpression(ContractExpression(rest, 0)));
      rest.remove_prefix(std::min(rest.find(';'), rest.size() - 1) + 1);
    }
    SortSteps();
    return std::move(contract_);
  }

 private:
  using Step = LaunchContract::Step;
  static constexpr int kDeepest = 256;  // DimExpression is less deep
  static constexpr uint32_t kNone = UINT32_MAX;

  tl::unexpected<Error> Fail(const std::string& what) const {
    return MakeError(Code::kInvalidProgram, "kernel '" + kernel_.name + "': its contract " + what);
  }
  tl::unexpected<Error> FailHere(std::string_view text, const char* what) const {
    return Fail("has '" + std::string(text) + "', " + what);
  }

  Status ReadExpression(std::string_view text) {
    auto parsed = DimExpression::Parse(text, &symbols_);
    if (!parsed) return Fail("cannot be read: " + parsed.error().message);
    const bool is_condition = expression_ > kernel_.buffers.size();
    uint32_t stack[kDeepest];
    size_t top = 0;
    const auto steps = parsed->steps();
    for (const auto& [op, value] : steps) {
      top -= static_cast<size_t>(RowOf(op).arity);
      // What decides a condition is no value but a check.
      const bool is_last = &op == &steps.back().op;
      if (is_condition && is_last && (op == DimOp::kEqual || op == DimOp::kLessEqual))
        return AddCheck(op == DimOp::kEqual ? LaunchContract::kIsEqual : LaunchContract::kIsAtMost, stack[0],
                        stack[1], text);
      const bool is_symbol = op == DimOp::kSymbol;
      stack[top] = is_symbol                ? Number(symbols_.name(static_cast<uint32_t>(value)))
                   : op == DimOp::kConstant ? Constant(value)
                                            : Computed(op, stack + top);
      if (stack[top] == kNone)
        return FailHere(text, is_symbol ? "which is not of x, y, z and its scalars"
                                        : "which has no value or is too large");
      ++top;
    }
    if (expression_ == 0)
      return AddCheck(LaunchContract::kIsAtMost, stack[0], LaunchContract::kScratch, text);
    if (is_condition) return AddCheck(LaunchContract::kIsSet, stack[0], stack[0], text);
    contract_.bytes_.push_back(stack[0]);
    return {};
  }

  uint32_t Number(std::string_view name) const {
    if (name.size() == 1 && name[0] >= 'x' && name[0] <= 'z')
      return static_cast<uint32_t>(LaunchContract::kGrid) + static_cast<uint32_t>(name[0] - 'x');
    uint32_t scalar = 0;
    if (name.empty() || name[0] != 's') return kNone;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), scalar);
    const bool is_scalar =
        error == std::errc() && end == name.data() + name.size() && scalar < kernel_.scalar_count;
    return is_scalar ? static_cast<uint32_t>(LaunchContract::kFirstScalar) + scalar : kNone;
  }

  uint32_t NewValue(int64_t value, uint64_t follows_from) {
    if (contract_.initial_.size() == LaunchContract::kMostValues) return kNone;
    contract_.initial_.push_back(value);
    follows_from_.push_back(static_cast<int64_t>(follows_from));
    return static_cast<uint32_t>(contract_.initial_.size() - 1);
  }
  bool IsConstant(uint32_t value) const { return follows_from_[value] == 0; }

  uint32_t Constant(int64_t value) {
    for (uint32_t i = 0; i < contract_.initial_.size(); ++i)
      if (IsConstant(i) && contract_.initial_[i] == value) return i;
    return NewValue(value, 0);
  }

  // Of the operands that lie there.
  uint32_t Computed(DimOp op, const uint32_t* operands) {
    Step step{.operation = NumberOf(op), .expression = expression_};
    std::optional<int64_t> values[3];
    const int arity = RowOf(op).arity;
    for (int i = 0; i < 3; ++i) {
      const uint32_t operand = operands[i < arity ? i : 0];
      step.operands[i] = static_cast<uint16_t>(operand);
      values[i] = contract_.initial_[operand];
    }
    const uint64_t numbers = NumbersOf(step);
    if (numbers == 0) {
      const std::optional<int64_t> value = Apply(op, {values, static_cast<size_t>(arity)});
      return value ? Constant(*value) : kNone;
    }
    for (const Step& other : contract_.steps_)
      if (other.operation == step.operation && std::ranges::equal(other.operands, step.operands))
        return other.result;
    const uint32_t result = NewValue(0, numbers);
    step.result = static_cast<uint16_t>(result);
    if (result != kNone) contract_.steps_.push_back(step);
    return result;
  }

  Status AddCheck(uint8_t check, uint32_t a, uint32_t b, std::string_view text) {
    const auto left = static_cast<uint16_t>(a), right = static_cast<uint16_t>(b);
    contract_.steps_.push_back({check, {left, right, left}, 0, expression_});
    if (!IsConstant(a) || !IsConstant(b)) return {};
    // What is constant is decided here.
    contract_.steps_.pop_back();
    const int64_t x = contract_.initial_[a], y = contract_.initial_[b];
    const bool holds = check == LaunchContract::kIsSet     ? x != 0
                       : check == LaunchContract::kIsEqual ? x == y
                                                           : x <= y;
    return holds ? Status() : FailHere(text, "which never holds");
  }

  // Those that follow from the same numbers beside each other, behind those that they are made of, which
  // follow from fewer.
  void SortSteps() {
    std::vector<Step>& steps = contract_.steps_;
    const auto is_before = [this](const Step& a, const Step& b) {
      const uint64_t x = NumbersOf(a), y = NumbersOf(b);
      return std::popcount(x) != std::popcount(y) ? std::popcount(x) < std::popcount(y) : x < y;
    };
    for (size_t i = 1; i < steps.size(); ++i)
      for (size_t k = i; k > 0 && is_before(steps[k], steps[k - 1]); --k) std::swap(steps[k], steps[k - 1]);
    std::vector<uint32_t>& ends = contract_.ends_;
    contract_.users_.resize(LaunchContract::kFirstScalar + kernel_.scalar_count);
    for (size_t i = 0; i < steps.size(); ++i) {
      const uint64_t numbers = NumbersOf(steps[i]);
      const bool is_new =
          i == 0 || (numbers != NumbersOf(steps[i - 1]) && ends.size() < LaunchContract::kMostParts);
      if (is_new) ends.push_back(0);
      ends.back() = static_cast<uint32_t>(i + 1);
      for (size_t number = 0; number < contract_.users_.size(); ++number)
        if ((numbers & BitOf(number)) != 0) contract_.users_[number] |= uint64_t{1} << (ends.size() - 1);
    }
  }
  // A bit for each number, one for all behind the first 63.
  static uint64_t BitOf(size_t number) { return uint64_t{1} << (number < 63 ? number : 63); }
  uint64_t NumbersOf(const Step& step) const {
    int64_t numbers = 0;
    for (uint16_t operand : step.operands) numbers |= follows_from_[operand];
    return static_cast<uint64_t>(numbers);
  }

  const KernelSpec& kernel_;
  SymbolTable symbols_;
  LaunchContract contract_;
  std::vector<int64_t> follows_from_;  // of each value, the numbers; 0: it is a constant
  uint16_t expression_ = 0;
};

Expected<LaunchContract> LaunchContract::Parse(const KernelSpec& kernel) {
  return ContractReader(kernel).Read();
}

}  // namespace tvmvm
