#include "compiler/onnx/importer/rank_dispatch.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "compiler/onnx/importer/string_positions.h"
#include "compiler/onnx/ops/onnx_control.h"

namespace tvmvm::ir {
namespace {

class RankDispatch {
 public:
  RankDispatch(const OnnxOp& row, OnnxContext* context) : row_(row), c_(*context), b_(context->b) {}

  void Run() {
    if (std::optional<size_t> input = FirstOfUnknownRank()) return DispatchOnRank(*input);
    if (std::optional<size_t> input = FirstUnreadableList()) return DispatchOnLength(*input);
    LowerRow();
  }

 private:
  std::optional<size_t> FirstOfUnknownRank() const {
    if (row_.takes_any_value()) return std::nullopt;
    for (size_t i = 0; i < c_.inputs.size(); ++i)
      if (c_.has(i) && !b_.type(c_.inputs[i]).ranked && b_.type(c_.inputs[i]).kind == TypeKind::kTensor)
        return i;
    return std::nullopt;
  }

  // A list whose elements the row wants to read although only running tells how many there are.
  std::optional<size_t> FirstUnreadableList() {
    auto may_be_unreadable = [&](ValueId input) {
      return input.valid() && b_.type(input).kind == TypeKind::kTensor && IsInteger(b_.dtype(input)) &&
             b_.rank(input) == 1 && !b_.dims(input)[0].is_constant();
    };
    if (std::ranges::none_of(c_.inputs, may_be_unreadable)) return std::nullopt;
    ValueId list;
    Try([&] { LowerRow(); }, &list);
    auto found = std::ranges::find(c_.inputs, list);
    if (!list.valid() || found == c_.inputs.end() || !may_be_unreadable(list)) return std::nullopt;
    return static_cast<size_t>(found - c_.inputs.begin());
  }

  void DispatchOnRank(size_t input) {
    Type type = b_.type(c_.inputs[input]);
    std::vector<int> ranks;
    for (int rank = 0; rank < Type::kMostRanks; ++rank)
      if ((type.ranks >> rank & 1) != 0) ranks.push_back(rank);
    Dim rank = b_.module().FreshSymbol({.range = {0, Type::kMostRanks}});
    b_.Host(HostFunctionId::kTensorRank, {c_.inputs[input]}, {}, {}, {rank.symbol()});
    // tensor.ranked fails where the rank is another one.
    Dispatch(input, rank, ranks, [this, type, x = c_.inputs[input]](int rank) {
      Type ranked = Type::Tensor(type.dtype, {});
      for (int axis = 0; axis < rank; ++axis) ranked.dims.push_back(b_.module().FreshSymbol());
      return b_.Host(HostFunctionId::kTensorRanked, {x}, {ranked})[0];
    });
  }

  void DispatchOnLength(size_t input) {
    std::vector<int> lengths(Type::kMostRanks);
    std::iota(lengths.begin(), lengths.end(), 0);
    ValueId list = c_.inputs[input];
    // A reshape fails where the length is another one.
    Dispatch(input, b_.dims(list)[0], lengths,
             [this, list](int length) { return b_.Reshape(list, {length}); });
  }

  // One branch for each of the choices that the row takes; `narrow` gives the input as it is where `decision`
  // is that choice, and fails at run time where it is another.
  template <typename Narrow>
  void Dispatch(size_t input, const Dim& decision, const std::vector<int>& choices, Narrow narrow) {
    auto lower = [&](int choice) { return LowerWith(input, [&] { return narrow(choice); }); };
    std::vector<int> taken;
    std::optional<Error> first;
    for (int choice : choices) {
      std::optional<Error> error = Try([&] { lower(choice); });
      if (!error) taken.push_back(choice);
      if (error && !first) first = error;
    }
    if (taken.empty()) {
      if (first) b_.Fail(first->code, first->message);
      return;
    }
    std::vector<ValueId> results = Branches(decision, taken, lower);
    for (size_t i = 0, next = 0; i < c_.outputs.size(); ++i)
      c_.outputs[i] = c_.wants(i) && next < results.size() ? results[next++] : ValueId{};
  }

  // The last choice needs no test.
  template <typename Lower>
  std::vector<ValueId> Branches(const Dim& decision, std::span<const int> choices, Lower lower) {
    if (choices.size() == 1) return lower(choices[0]);
    return BuildIf(
        b_, Equal(decision, choices[0]),
        [&]() -> Expected<std::vector<ValueId>> { return lower(choices[0]); },
        [&]() -> Expected<std::vector<ValueId>> { return Branches(decision, choices.subspan(1), lower); });
  }

  // The row with another value for one input, in the region that the builder is in. Its wanted outputs.
  template <typename Narrow>
  std::vector<ValueId> LowerWith(size_t input, Narrow narrow) {
    std::vector<ValueId> inputs = c_.inputs, outputs(c_.outputs.size());
    c_.inputs[input] = narrow();
    std::swap(c_.outputs, outputs);
    Run();
    std::swap(c_.outputs, outputs);
    c_.inputs = std::move(inputs);
    std::vector<ValueId> wanted;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!c_.wants(i)) continue;
      bool is_made = outputs[i].valid() || b_.failed();
      wanted.push_back(is_made ? outputs[i]
                               : b_.Fail(Code::kInvalidArgument, fmt::format("there is no output {}", i)));
    }
    return wanted;
  }

  // Tries in a region that is thrown away; `list` as OpBuilder::TakeError gives it.
  template <typename Lower>
  std::optional<Error> Try(Lower lower, ValueId* list = nullptr) {
    b_.EnterRegion(b_.function().AddRegion());
    std::vector<ValueId> outputs = c_.outputs;
    lower();
    c_.outputs = std::move(outputs);
    b_.LeaveRegion();
    return b_.TakeError(list);
  }

  void LowerRow() {
    if (row_.strings == StringUse::kMoved)
      LowerOnPositions(row_, &c_);
    else
      row_.lower(c_);
  }

  const OnnxOp& row_;
  OnnxContext& c_;
  OpBuilder& b_;
};

}  // namespace

void LowerForRanks(const OnnxOp& row, OnnxContext* context) { RankDispatch(row, context).Run(); }

}  // namespace tvmvm::ir
