#include "compiler/onnx/importer/rank_dispatch.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "compiler/onnx/importer/choice_branches.h"
#include "compiler/onnx/importer/elementwise_probe.h"
#include "compiler/onnx/importer/overlaid.h"
#include "compiler/onnx/importer/string_positions.h"

namespace tvmvm::ir {
namespace {

class RankDispatch {
 public:
  RankDispatch(const OnnxOp& row, OnnxContext* context, FlatViews* flats)
      : row_(row), c_(*context), b_(context->b), flats_(*flats) {}

  void Run() {
    std::optional<size_t> input = FirstOfUnknownRank();
    if (!input) return LowerRanked();
    if (!LowerFlat() && !LowerOverlaid(row_, &c_)) DispatchOnRank(*input);
  }

 private:
  std::optional<size_t> FirstOfUnknownRank() const {
    if (row_.takes_any_value()) return std::nullopt;
    for (size_t i = 0; i < c_.inputs.size(); ++i)
      if (c_.has(i) && IsUnranked(b_.type(c_.inputs[i]))) return i;
    return std::nullopt;
  }

  // ---- elements alone ----

  // Values of one shape, and single numbers. False: the operator needs to know the rank.
  bool LowerFlat() {
    const ValueId like = c_.inputs[*FirstOfUnknownRank()];
    for (ValueId input : c_.inputs) {
      if (!input.valid()) continue;
      const Type& type = b_.type(input);
      if (type.kind != TypeKind::kTensor || type.dtype == DType::kString) return false;
      if (type.ranked ? type.rank() != 0 : !flats_.SameShape(input, like)) return false;
    }
    if (!IsElementwise([this] { LowerRow(); }, &c_, &flats_)) return false;
    const std::vector<ValueId> inputs = c_.inputs;
    for (ValueId& input : c_.inputs)
      if (input.valid() && IsUnranked(b_.type(input))) input = flats_.Flat(b_, input);
    LowerRow();
    c_.inputs = inputs;
    for (ValueId& output : c_.outputs)
      if (output.valid() && !b_.failed()) output = flats_.Shaped(b_, output, like);
    return true;
  }

  // ---- branches ----

  void DispatchOnRank(size_t input) {
    Type type = b_.type(c_.inputs[input]);
    std::vector<int> ranks;
    for (int rank = 0; rank < Type::kMostRanks; ++rank)
      if ((type.ranks >> rank & 1) != 0) ranks.push_back(rank);
    const Dim rank = RankOf(b_, c_.inputs[input]);
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
    ChoiceBranches branches(&b_, choices);
    std::vector<std::vector<ValueId>> results;
    std::vector<size_t> taken;
    std::optional<Error> first;
    for (size_t branch = 0; branch < branches.size(); ++branch) {
      std::vector<ValueId> made;
      auto rewind = c_.checkpoint ? c_.checkpoint() : std::function<void()>();
      std::optional<Error> error = branches.Build(
          branch, [&] { made = LowerWith(input, [&] { return narrow(branches.choice(branch)); }); });
      if (!error) {
        taken.push_back(branch);
        results.push_back(std::move(made));
        continue;
      }
      if (rewind) rewind();
      if (!first) first = error;
    }
    if (taken.empty()) {
      if (first) b_.Fail(first->code, first->message);
      return;
    }
    branches.Keep(taken);
    std::vector<ValueId> joined = branches.Join(decision, results);
    for (size_t i = 0, next = 0; i < c_.outputs.size(); ++i)
      c_.outputs[i] = c_.wants(i) && next < joined.size() ? joined[next++] : ValueId{};
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

  // ---- known ranks ----

  bool MayBeUnreadable(ValueId input) const {
    return input.valid() && b_.type(input).kind == TypeKind::kTensor && IsInteger(b_.dtype(input)) &&
           b_.type(input).ranked && b_.rank(input) == 1 && !b_.dims(input)[0].is_constant();
  }

  // A list whose elements the row wants to read may have a length that only running tells: that shows when
  // the row fails for it.
  void LowerRanked() {
    if (std::ranges::none_of(c_.inputs, [this](ValueId input) { return MayBeUnreadable(input); }))
      return LowerRow();
    const std::vector<ValueId> outputs = c_.outputs;
    auto rewind = c_.checkpoint ? c_.checkpoint() : std::function<void()>();
    b_.Begin();
    LowerRow();
    if (!b_.failed()) return b_.Keep();
    b_.Undo();
    ValueId list;
    const std::optional<Error> error = b_.TakeError(&list);
    auto found = std::ranges::find(c_.inputs, list);
    if (!list.valid() || found == c_.inputs.end() || !MayBeUnreadable(list)) {
      b_.Fail(error->code, error->message);
      return;
    }
    if (rewind) rewind();
    c_.outputs = outputs;
    DispatchOnLength(static_cast<size_t>(found - c_.inputs.begin()));
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
  FlatViews& flats_;
};

}  // namespace

void LowerForRanks(const OnnxOp& row, OnnxContext* context, FlatViews* flats) {
  RankDispatch(row, context, flats).Run();
}

}  // namespace tvmvm::ir
