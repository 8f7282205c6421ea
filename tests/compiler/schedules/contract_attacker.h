// Launches a kernel that has a contract with all sorts of numbers: whatever fulfils the contract stays within
// the bytes that it names, with anything in the buffers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "bytecode/launch_contract.h"
#include "compiler/expr/rewrite.h"
#include "compiler/loops/evaluate_loops.h"
#include "compiler/loops/loop_rewrite.h"
#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

struct ContractedKernel {
  const KernelCall* call = nullptr;
  ir::Dims scalars, bytes;  // what launches pass, and bytes of each buffer
  std::string contract;
};

// The kernel with the numbers of the launch in place of what they stand for.
inline LoopKernel OfNumbers(const ContractedKernel& kernel) {
  LoopKernel result = kernel.call->kernel;
  Rewriter rewrite([&](const Expr& e) -> Expr {
    if (e.op() != ExprOp::kDim) return e;
    for (size_t k = 0; k < kernel.scalars.size(); ++k)
      if (kernel.scalars[k] == e->dim) return DimValue(ir::Dim::Symbol("s" + std::to_string(k)));
    return e;
  });
  result.body = MapExpressions(result.body, [&](const Expr& e) { return rewrite(e); });
  for (BufferInfo& buffer : result.buffers)
    if (buffer.scratch_offset.valid()) buffer.scratch_offset = rewrite(buffer.scratch_offset);
  for (int axis = 0; axis < 3; ++axis) result.grid_size[axis] = ir::Dim::Symbol(std::string(1, "xyz"[axis]));
  result.scratch_bytes = ir::Dim::Symbol("scratch");
  return result;
}

// Launches a kernel with all sorts of numbers, by the evaluator of loops.
class Attacker {
 public:
  // `facts`, `ranges`: what an honest launch fulfils.
  Attacker(const ContractedKernel& kernel, const ir::Dims& facts, const ir::RangeLookup& ranges)
      : kernel_(kernel), facts_(facts), of_numbers_(OfNumbers(kernel)) {
    KernelSpec spec;
    spec.name = "attacked";
    spec.scalar_count = static_cast<uint32_t>(kernel.scalars.size());
    spec.buffers.resize(kernel.bytes.size());
    spec.contract = kernel.contract;
    auto contract = LaunchContract::Parse(spec);
    if (!contract) ADD_FAILURE() << contract.error().message;
    if (contract) contract_ = std::move(*contract);
    ir::Dims all = facts;
    all.insert(all.end(), kernel.scalars.begin(), kernel.scalars.end());
    all.insert(all.end(), kernel.bytes.begin(), kernel.bytes.end());
    for (const ir::Dim& size : kernel.call->kernel.grid_size) all.push_back(size);
    all.push_back(kernel.call->kernel.scratch_bytes);
    all.push_back(kernel.call->when);
    for (const ir::Dim& dim : all)
      for (const ir::SymbolId& symbol : ir::SymbolsOf(dim)) ranges_.emplace(symbol.name(), ranges(symbol));
  }

  virtual ~Attacker() = default;

  int ran = 0, honest = 0;

  // One honest launch, where the numbers drawn make one, and others with a few numbers changed.
  void Attack(int changes = 30) {
    Values symbols;
    for (const auto& [name, range] : ranges_) symbols[name] = Draw();
    std::vector<int64_t> numbers = HonestNumbers(symbols);
    if (IsHonest(symbols)) {
      ++honest;
      ASSERT_TRUE(Fulfils(numbers)) << TextOf(numbers);
      for (size_t i = 0; i < kernel_.bytes.size(); ++i)
        ASSERT_LE(wanted_[i], Of(kernel_.bytes[i], symbols)) << TextOf(numbers);
      Run(numbers);
    }
    for (int i = 0; i < changes; ++i) {
      std::vector<int64_t> changed = numbers;
      for (uint32_t changes = 1 + random_() % 2; changes > 0; --changes) {
        // Scratch may be what it likes.
        const size_t place = random_() % (numbers.size() - 1);
        int64_t& number = changed[place < LaunchContract::kScratch ? place : place + 1];
        number = random_() % 2 == 0 ? Draw() : number + static_cast<int64_t>(random_() % 3) - 1;
      }
      changed[LaunchContract::kScratch] = 1 << 20;
      if (Fulfils(changed)) Run(changed);
    }
  }

 protected:
  // A size, or another number of a launch.
  virtual int64_t Draw() {
    static constexpr int64_t kSizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33};
    return kSizes[Random() % std::size(kSizes)];
  }
  uint32_t Random() { return static_cast<uint32_t>(random_()); }

  // A launch that fulfils the contract, with just the bytes that are wanted.
  virtual void Run(const std::vector<int64_t>& numbers) {
    // Generated code finds a point's coordinates by what scalars say of the grid.
    for (size_t k = 0; k < kernel_.scalars.size(); ++k) {
      for (size_t axis = 0; axis < 3; ++axis) {
        if (kernel_.scalars[k] == kernel_.call->kernel.grid_size[axis]) {
          ASSERT_EQ(numbers[LaunchContract::kFirstScalar + k], numbers[axis]) << TextOf(numbers);
        }
      }
    }
    Memory memory;
    for (int64_t bytes : wanted_) {
      ASSERT_GE(bytes, 0) << TextOf(numbers);
      ASSERT_LT(bytes, 10'000'000) << TextOf(numbers);
      memory.emplace_back(static_cast<size_t>(bytes));
      for (std::byte& byte : memory.back()) byte = static_cast<std::byte>(random_());
    }
    Launch(numbers, &memory);
    ++ran;
  }
  const std::vector<int64_t>& wanted() const { return wanted_; }  // bytes of each buffer

  using Memory = std::vector<std::vector<std::byte>>;
  // `memory`: the bytes of each buffer, of just the size that is wanted.
  virtual void Launch(const std::vector<int64_t>& numbers, Memory* memory) {
    std::vector<std::span<std::byte>> buffers(memory->begin(), memory->end());
    Values values{{"x", numbers[0]}, {"y", numbers[1]}, {"z", numbers[2]}, {"scratch", numbers[3]}};
    for (size_t k = 0; k < kernel_.scalars.size(); ++k)
      values["s" + std::to_string(k)] = numbers[LaunchContract::kFirstScalar + k];
    auto code = EvaluateLoops(of_numbers_, buffers, [&](const ir::SymbolId& symbol) {
      return std::optional(values.at(symbol.name()));
    });
    ASSERT_TRUE(code) << code.error().message << "\n"
                      << TextOf(numbers) << "\n"
                      << ToString(kernel_.call->kernel);
  }
  const ContractedKernel& kernel() const { return kernel_; }
  std::string TextOf(const std::vector<int64_t>& numbers) const {
    std::string text = kernel_.contract + " with";
    for (int64_t number : numbers) text += " " + std::to_string(number);
    return text;
  }

 private:
  using Values = std::map<std::string, int64_t>;

  static int64_t Of(const ir::Dim& dim, const Values& values) {
    auto value = ir::Evaluate(
        dim, [&](const ir::SymbolId& symbol) { return std::optional(values.at(symbol.name())); });
    return value.value_or(0);
  }
  bool IsHonest(const Values& symbols) const {
    bool honest = Of(kernel_.call->when, symbols) != 0;
    for (const ir::Dim& fact : facts_) honest = honest && Of(fact, symbols) != 0;
    for (const auto& [name, range] : ranges_)
      honest = honest && range.low <= symbols.at(name) && symbols.at(name) <= range.high;
    return honest;
  }
  std::vector<int64_t> HonestNumbers(const Values& symbols) const {
    std::vector<int64_t> numbers;
    for (const ir::Dim& size : kernel_.call->kernel.grid_size) numbers.push_back(Of(size, symbols));
    numbers.push_back(Of(kernel_.call->kernel.scratch_bytes, symbols));
    for (const ir::Dim& scalar : kernel_.scalars) numbers.push_back(Of(scalar, symbols));
    return numbers;
  }
  bool Fulfils(const std::vector<int64_t>& numbers) {
    std::vector<int64_t> values(contract_.initial().begin(), contract_.initial().end());
    std::ranges::copy(numbers, values.begin());
    if (contract_.Evaluate(values.data())) return false;
    wanted_.clear();
    for (size_t i = 0; i < kernel_.bytes.size(); ++i) wanted_.push_back(values[contract_.bytes(i)]);
    return true;
  }

  const ContractedKernel& kernel_;
  const ir::Dims& facts_;
  LoopKernel of_numbers_;
  std::map<std::string, ir::DimRange> ranges_;  // of the symbols that a launch is made from, by name
  LaunchContract contract_;
  std::vector<int64_t> wanted_;
  std::mt19937 random_{5};
};

}  // namespace tvmvm::tensor
