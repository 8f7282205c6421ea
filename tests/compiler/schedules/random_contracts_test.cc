// Contracts of groups that nobody chose: operators that move, join, reduce and sort, over sizes drawn from
// numbers, symbols, and what is made of symbols.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/compiler/schedules/contracted_group.h"
#include "tests/tries.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::ValueId;

// One group of one operator, behind something elementwise or not.
class RandomGroup {
 public:
  explicit RandomGroup(uint32_t seed) : random_(seed) {
    using Kind = void (RandomGroup::*)();
    constexpr Kind kKinds[] = {&RandomGroup::Elementwise, &RandomGroup::Transpose, &RandomGroup::Concat,
                               &RandomGroup::Reduce,      &RandomGroup::Softmax,   &RandomGroup::TopK,
                               &RandomGroup::Slice};
    (this->*kKinds[Below(std::size(kKinds))])();
  }
  GroupBuilder& builder() { return b_; }

 private:
  size_t Below(size_t end) { return random_() % end; }

  Dim Size() {
    const Dim sizes[] = {N(), M(), K(), N(), M(), 1, 2, 3, 8, 19, M() + 2, N() * 2, N() * M(), Max(K(), 1)};
    return sizes[Below(std::size(sizes))];
  }
  Dims Shape(size_t least = 1) {
    Dims shape;
    for (size_t rank = least + Below(5 - least); shape.size() < rank;) shape.push_back(Size());
    return shape;
  }
  DType Type() {
    constexpr DType kTypes[] = {DType::kF32, DType::kF32, DType::kI8, DType::kI64};
    return kTypes[Below(std::size(kTypes))];
  }
  ValueId Input(const Dims& shape, DType type) {
    const ValueId input = b_.Input(type, shape);
    return Below(3) == 0 ? b_.Add("neg", {input}) : input;
  }

  void Elementwise() {
    const Dims shape = Shape();
    Dims other = shape;
    for (Dim& dim : other)
      if (Below(3) == 0) dim = 1;
    const DType type = Type();
    b_.Output(b_.Add("add", {Input(shape, type), Input(other, type)}));
  }
  void Transpose() {
    const Dims shape = Shape(2);
    std::vector<int64_t> perm(shape.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), random_);
    b_.Output(b_.Add("transpose", {Input(shape, Type())}, {{"perm", perm}}));
  }
  void Concat() {
    const Dims shape = Shape();
    const size_t axis = Below(shape.size());
    const DType type = Type();
    std::vector<ValueId> parts;
    for (size_t count = 2 + Below(3); parts.size() < count;) {
      Dims part = shape;
      part[axis] = Size();
      parts.push_back(Input(part, type));
    }
    b_.Output(b_.Add("concat", parts, {{"axis", static_cast<int64_t>(axis)}}));
  }
  ValueId Reduced(ValueId x, size_t rank, size_t axis, const char* kind) {
    Dims flags(rank, 0);
    flags[axis] = 1;
    return b_.Add("reduce", {x}, {{"flags", flags}, {"kind", std::string(kind)}});
  }
  void Reduce() {
    const Dims shape = Shape();
    b_.Output(
        Reduced(Input(shape, DType::kF32), shape.size(), Below(shape.size()), Below(2) == 0 ? "sum" : "max"));
  }
  void Softmax() {
    const Dims shape = Shape();
    const size_t axis = Below(shape.size());
    const ValueId x = Input(shape, DType::kF32);
    const ValueId e = b_.Add("exp", {b_.Add("sub", {x, Reduced(x, shape.size(), axis, "max")})});
    b_.Output(b_.Add("div", {e, Reduced(e, shape.size(), axis, "sum")}));
  }
  void TopK() {
    Dims shape = Shape();
    const size_t axis = Below(shape.size());
    shape[axis] = shape[axis] + 2;
    const Dim count = Below(2) == 0 ? Dim(2) : Min(K(), shape[axis]);
    b_.Add("topk", {b_.Input(Type(), shape)},
           {{"axis", static_cast<int64_t>(axis)}, {"k", count}, {"largest", static_cast<int64_t>(Below(2))}});
  }
  void Slice() {
    const Dims dims = Shape();
    Dims shape = dims, starts, steps;
    for (Dim& dim : shape) {
      const int64_t start = static_cast<int64_t>(Below(3)), step = 1 + static_cast<int64_t>(Below(2));
      dim = dim * step + start;
      starts.push_back(start);
      steps.push_back(step);
    }
    b_.Output(
        b_.Add("slice", {Input(shape, Type())}, {{"starts", starts}, {"steps", steps}, {"dims", dims}}));
  }

  std::mt19937 random_;
  GroupBuilder b_;
};

// Sizes multiply: launches of large buffers would take minutes.
class SmallAttacker : public Attacker {
 public:
  using Attacker::Attacker;

 protected:
  int64_t Draw() override {
    constexpr int64_t kSizes[] = {0, 1, 2, 3, 4, 5, 7, 9};
    return kSizes[Random() % std::size(kSizes)];
  }
  void Run(const std::vector<int64_t>& numbers) override {
    if (std::ranges::all_of(wanted(), [](int64_t bytes) { return bytes < 20'000; })) Attacker::Run(numbers);
  }
};

TEST(RandomContracts, KeepKernelsWithinTheirBuffers) {
  int honest = 0;
  for (uint32_t seed = 0; seed < Tries(60) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGroup random(seed);
    ContractedGroup group(random.builder(), random.builder().Finish());
    for (const ContractedKernel& kernel : group.kernels()) {
      if (kernel.contract.empty()) continue;  // none can be said: it runs where all kernels are trusted alone
      SmallAttacker attacker(kernel, group.facts(), AnyRanges());
      for (int i = 0; i < 12 && !HasFatalFailure(); ++i) attacker.Attack();
      honest += attacker.honest;
    }
  }
  EXPECT_GT(honest, 0);
}

}  // namespace
}  // namespace tvmvm::tensor
