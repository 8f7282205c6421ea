#include "compiler/importers/rank_dispatch.h"

#include <optional>
#include <utility>

#include "compiler/importers/string_positions.h"
#include "compiler/ops/onnx_control.h"

namespace tvmvm::ir {
namespace {

class RankDispatch {
 public:
  RankDispatch(const OnnxOp& row, OnnxContext* context) : row_(row), c_(*context), b_(context->b) {}

  void Run() {
    std::optional<size_t> unknown = FirstUnknown();
    if (!unknown) return LowerRow();
    Type type = b_.type(c_.inputs[*unknown]);
    std::optional<Error> first;
    std::vector<int> ranks;
    for (int rank = 0; rank < Type::kMostRanks; ++rank)
      if ((type.ranks >> rank & 1) != 0 && Takes(*unknown, rank, &first)) ranks.push_back(rank);
    if (ranks.empty()) {
      if (first) b_.Fail(first->code, first->message);
      return;
    }
    Dim rank = b_.module().FreshSymbol({.range = {0, Type::kMostRanks}});
    b_.Host(HostFunctionId::kTensorRank, {c_.inputs[*unknown]}, {}, {}, {rank.symbol()});
    std::vector<ValueId> results = Branches(*unknown, rank, ranks, 0);
    for (size_t i = 0, next = 0; i < c_.outputs.size(); ++i)
      c_.outputs[i] = c_.wants(i) && next < results.size() ? results[next++] : ValueId{};
  }

 private:
  std::optional<size_t> FirstUnknown() const {
    if (row_.any_type) return std::nullopt;
    for (size_t i = 0; i < c_.inputs.size(); ++i)
      if (c_.has(i) && !b_.type(c_.inputs[i]).ranked && b_.type(c_.inputs[i]).kind == TypeKind::kTensor)
        return i;
    return std::nullopt;
  }

  void LowerRow() {
    if (row_.strings == StringUse::kMoved)
      LowerOnPositions(row_, &c_);
    else
      row_.lower(c_);
  }

  // The row for one rank, in the region that the builder is in. Its wanted outputs.
  std::vector<ValueId> LowerAs(size_t input, int rank) {
    std::vector<ValueId> inputs = c_.inputs, outputs(c_.outputs.size());
    Type type = Type::Tensor(b_.dtype(inputs[input]), {});
    for (int axis = 0; axis < rank; ++axis) type.dims.push_back(b_.module().FreshSymbol());
    c_.inputs[input] = b_.Host(HostFunctionId::kTensorRanked, {inputs[input]}, {type})[0];
    std::swap(c_.outputs, outputs);
    Run();
    std::swap(c_.outputs, outputs);
    c_.inputs = std::move(inputs);
    std::vector<ValueId> wanted;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (c_.wants(i)) wanted.push_back(outputs[i]);
    return wanted;
  }

  // Tries in a region that is thrown away.
  bool Takes(size_t input, int rank, std::optional<Error>* first) {
    b_.EnterRegion(b_.function().AddRegion());
    LowerAs(input, rank);
    b_.LeaveRegion();
    auto error = b_.TakeError();
    if (error && !*first) *first = error;
    return !error;
  }

  // The last rank needs no test: tensor.ranked fails where the rank is another one.
  std::vector<ValueId> Branches(size_t input, const Dim& rank, const std::vector<int>& ranks, size_t number) {
    if (number + 1 == ranks.size()) return LowerAs(input, ranks[number]);
    return BuildIf(
        b_, Equal(rank, ranks[number]),
        [&]() -> Expected<std::vector<ValueId>> { return LowerAs(input, ranks[number]); },
        [&]() -> Expected<std::vector<ValueId>> { return Branches(input, rank, ranks, number + 1); });
  }

  const OnnxOp& row_;
  OnnxContext& c_;
  OpBuilder& b_;
};

}  // namespace

void LowerForRanks(const OnnxOp& row, OnnxContext* context) { RankDispatch(row, context).Run(); }

}  // namespace tvmvm::ir
