// Schedules for pulls: every output element is an expression over its coordinates.
//
// The coordinates of an output become a grid of blocks of about kBlockElements elements, in each block loops
// over rows, and innermost a loop of vectors with a scalar tail. Outputs of equal dims share a kernel.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"
#include "compiler/expr/unflatten.h"
#include "compiler/loops/cut_range.h"
#include "compiler/loops/lower_reductions.h"
#include "compiler/loops/nest.h"
#include "compiler/schedules/collapse_axes.h"
#include "compiler/schedules/cpu/cpu_schedules.h"
#include "compiler/schedules/cpu/pull_lanes.h"
#include "compiler/schedules/cpu/tiles/launch_axes.h"
#include "compiler/schedules/cpu/tiles/launch_choices.h"
#include "compiler/schedules/cpu/tiles/tile_blocks.h"
#include "compiler/schedules/cpu/tiles/transposed_tiles.h"
#include "compiler/schedules/cpu/woven_rows.h"
#include "compiler/schedules/expand.h"
#include "compiler/schedules/group.h"
#include "compiler/schedules/group_kernel.h"
#include "compiler/schedules/schedule_overrides.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;

constexpr int kMostChoices = 2, kRowsTogether = 4;
constexpr int kNarrowest = 8;              // lanes
constexpr int kGathered = 8;               // lanes that are gathered in kernels for few cases
constexpr int64_t kShortOfPlaces = 400;    // elements up to which a vector finds places of several results
constexpr int64_t kLeastInnerBlock = 128;  // of a row, for a grid point: full vectors at every level

using Bound = std::vector<std::pair<VariableId, Expr>>;  // coordinates by their variables

// Of a few kernels a launch takes the one that suits its sizes.
enum class Form : uint8_t {
  kPlain,
  kTurned,       // vectors of reductions run along the other axis than they do as a rule
  kLaunchRows,   // the launch knows which axes are the innermost ones: they are in the same order
  kLaunchTiles,  // and they are not
};

// A kernel in the making, for outputs that all have the dims `dims`.
class PullKernel {
 public:
  PullKernel(const GroupView& group, const TargetInfo& target, std::vector<uint32_t> outputs, Form form)
      : group_(group),
        target_(target),
        form_(form),
        outputs_(std::move(outputs)),
        made_(group),
        nest_(&made_.kernel()),
        dims_(group.type(group.outputs()[outputs_[0]]).dims) {}

  // The kernel, and when it is the one to launch; without loops where that is never.
  Expected<KernelCall> Build() {
    TVMVM_CHECK_OK(ExpandOutputs());
    DecideSchedule();
    launch_axes_ = FindLaunchAxes(roots_, FlatIndex(dims_, coordinates_), OutputAxes());
    ChooseLanes();
    const Dim when = SuitsForm();
    if (when.IsConstant(0)) return KernelCall{.when = when};
    made_.Estimate(Product(dims_), WorkPerElement(), roots_);
    if (form_ == Form::kLaunchRows) TakeLaunchRows();
    if (form_ == Form::kLaunchTiles)
      BuildLaunchTiles();
    else if (!BuildTiles())
      BuildLoops();
    KernelCall call = made_.Take(nest_.Finish(), std::move(decided_));
    call.when = when;
    return call;
  }

 private:
  // --- what to compute ---
  Status ExpandOutputs() {
    const Dims shape = dims_;
    // Elements that share a byte must belong to one grid point: such outputs are walked in memory order.
    if (IsSubByte(group_.type(group_.outputs()[outputs_[0]]).dtype)) dims_ = {Product(shape)};
    for (size_t axis = 0; axis < dims_.size(); ++axis) {
      bool is_single = dims_[axis].IsConstant(1);
      variables_.push_back(made_.kernel().NewVariable(fmt::format("i{}", axis)));
      coordinates_.push_back(is_single ? IntConstant(0) : Variable(variables_.back()));
      if (!is_single) axes_.push_back(static_cast<int>(axis));
    }
    std::vector<Expr> index = dims_ == shape ? coordinates_ : Unflatten(coordinates_[0], shape);
    auto leaf = [this](ir::ValueId value, std::span<const Expr> at) { return made_.LoadInput(value, at); };
    Expander expander(group_, leaf, &made_.kernel());
    for (uint32_t output : outputs_) roots_.push_back(expander.Expand(group_.outputs()[output], index));
    if (expander.missing().valid()) return tl::unexpected(NoSchedule(group_, expander.missing()));
    for (uint32_t output : outputs_) stores_.push_back(made_.AddOutput(output));
    return {};
  }

  // --- how ---
  void DecideSchedule() {
    const auto inner = axes_.empty() ? std::nullopt : std::optional(variables_[axes_.back()]);
    const int widest = LanesFor(roots_, target_, inner);
    schedule_.lanes = widest;
    // Lanes of which each has found a place take long to agree on one.
    if (FindsPlaces(roots_)) schedule_.short_row = kShortOfPlaces;
    std::string problem = WordsOf(group_) + " dims=" + WordOf(dims_);
    decided_ = Decide(group_, target_, std::move(problem), &schedule_,
                      [&](PullsSchedule* made) { made->lanes = std::min<int64_t>(made->lanes, widest); });
  }

  void ChooseLanes() {
    width_ = static_cast<int>(schedule_.lanes);
    if (axes_.empty()) return;
    lanes_ = ChoosePullLanes(roots_, variables_[axes_.back()], dims_[axes_.back()], schedule_);
    inner_is_vector_ = lanes_.run_along_results;
    if (form_ == Form::kTurned) {
      inner_is_vector_ = !inner_is_vector_;
      width_ = std::min(width_, kGathered);
    }
    inner_is_vector_ = inner_is_vector_ && width_ > 1;
  }

  Dim SuitsForm() const {
    const Dim has_rows = launch_axes_ ? launch_axes_->has_rows : Dim(0);
    const bool has_tiles = launch_axes_ && launch_axes_->tiles;
    if (form_ == Form::kLaunchRows) return has_rows;
    if (form_ == Form::kLaunchTiles) return has_tiles ? Not(has_rows) : Dim(0);
    if (form_ == Form::kTurned) return lanes_.suits_turned;
    return has_tiles ? Dim(0) : And(Not(lanes_.suits_turned), Not(has_rows));
  }

  // Behind one output element.
  Dim WorkPerElement() const { return ReductionSteps(roots_); }

  // --- loops ---
  // Tiles of two axes where the result's innermost one is none of memory; grid points take blocks of both.
  bool BuildTiles() {
    const std::vector<OutputAxis> axes = OutputAxes();
    const std::vector<Expr> places(roots_.size(), FlatIndex(dims_, coordinates_));
    std::optional<TransposedTiles> tiles = FindTransposedTiles(roots_, places[0], axes);
    if (!tiles) return false;
    std::vector<OutputAxis> others;
    for (const OutputAxis& axis : axes)
      if (axis.first != tiles->along && axis.first != tiles->across) others.push_back(axis);
    StoreTileBlocks(nest_, TileBlockOf(), *tiles, others, roots_, places, stores_, target_);
    return true;
  }

  std::vector<OutputAxis> OutputAxes() const {
    std::vector<OutputAxis> axes;
    for (int axis : axes_) axes.emplace_back(variables_[axis], dims_[axis]);
    return axes;
  }

  TileBlock TileBlockOf() const { return {schedule_.tile_block, schedule_.block_elements}; }

  // The same axes as they are in memory: rows instead of the innermost one, all of which belongs to them.
  void TakeLaunchRows() {
    const std::vector<OutputAxis> axes = OutputAxes();
    const int last = axes_.back();
    const VariableId within = made_.kernel().NewVariable("within");
    const Expr place = FlatIndex(dims_, coordinates_);
    for (size_t i = 0; i + 1 < axes_.size(); ++i) dims_[axes_[i]] = launch_axes_->rows.outside[i];
    dims_[last] = launch_axes_->rows.row;
    variables_[last] = within;
    coordinates_[last] = Variable(within);
    roots_ = AtRows(roots_, axes, place, within, FlatIndex(dims_, coordinates_));
  }

  void BuildLaunchTiles() {
    const LaunchTiles& chosen = *launch_axes_->tiles;
    const VariableId along = made_.kernel().NewVariable("along"),
                     across = made_.kernel().NewVariable("across");
    Expr place = FlatIndex(dims_, coordinates_);
    const TransposedTiles tiles = TilesOver(chosen, roots_, OutputAxes(), along, across, &place);
    const std::vector<Expr> places(roots_.size(), place);
    std::vector<OutputAxis> others = OutputAxes();
    for (size_t i = 0; i < others.size(); ++i) others[i].second = chosen.outside[i];
    StoreTileBlocks(nest_, TileBlockOf(), tiles, others, tiles.turned, places, stores_, target_);
  }

  void BuildLoops() {
    Dim budget = Max(FloorDiv(Dim(schedule_.block_elements), WorkPerElement()), Dim(1));
    size_t rank = axes_.size();
    Dim inner = rank > 0 ? dims_[axes_[rank - 1]] : Dim(1);
    Dim middle = rank > 1 ? dims_[axes_[rank - 2]] : Dim(1);
    Dim outer = 1;
    for (size_t i = 0; i + 2 < rank; ++i) outer = outer * dims_[axes_[i]];

    Dim least(lanes_.has_inner_reduction && inner_is_vector_ ? kLeastInnerBlock : 1);
    rows_ = RowsTogether();
    Dim inner_block = Max(CeilDiv(FloorDiv(budget, rows_), least) * least, least);
    Dim row = Max(inner, Dim(1));
    Dim middle_block = Max(FloorDiv(budget, row), Dim(rows_));
    Dim plane = Max(inner * middle, Dim(1));
    Dim outer_block = Max(FloorDiv(budget, plane), Dim(1));

    inner_range_ = BlockOf(nest_, 0, "inner", inner, inner_block);
    Range middle_range = BlockOf(nest_, 1, "middle", middle, middle_block);
    Range outer_range = BlockOf(nest_, 2, "outer", outer, outer_block);
    const Expr choice = FindLaunchChoice(roots_, Divides);
    if (!choice.valid()) return BuildBlocks(middle_range, outer_range, MovesMoreThanCachesHold());
    const std::vector<Expr> all = roots_;
    for (bool holds : {true, false}) {
      roots_ = Chosen(all, choice, holds);
      nest_.OpenIf(holds ? choice : Unary(ExprOp::kNot, choice));
      BuildBlocks(middle_range, outer_range, holds ? MovesMoreThanCachesHold() : BoolConstant(false));
      nest_.Close();
    }
  }

  // Written past the caches where `streams` holds.
  void BuildBlocks(const Range& middle_range, const Range& outer_range, const Expr& streams) {
    for (bool holds : {true, false}) {
      const bool is_choice = !IsConstant(streams);
      if (!is_choice && (streams->integer != 0) != holds) continue;
      const int depth = nest_.depth();
      if (is_choice) nest_.OpenIf(holds ? streams : Unary(ExprOp::kNot, streams));
      outermost_ = holds ? LoopKind::kStreaming : LoopKind::kSerial;
      BuildBlock(middle_range, outer_range);
      while (nest_.depth() > depth) nest_.Close();
    }
  }

  // Rows of the last axis but one that are made together: those whose elements are gathered from the same
  // places of each. (Rows that are the same are written faster one behind the other than side by side.)
  int RowsTogether() const {
    if (axes_.size() < 2 || !inner_is_vector_ || lanes_.has_inner_reduction) return 1;
    const int middle = axes_[axes_.size() - 2];
    if (dims_[middle].constant().value_or(kRowsTogether) < kRowsTogether) return 1;
    return GatherTogether(roots_, variables_[middle], variables_[axes_.back()]) ? kRowsTogether : 1;
  }

  // Of what one element costs little beside its way to memory.
  Expr MovesMoreThanCachesHold() {
    const bool is_cheap = inner_is_vector_ && !lanes_.has_inner_reduction && WorkPerElement().IsConstant(1);
    if (!is_cheap) return BoolConstant(false);
    return MovesMoreThan(group_, dims_, outputs_, schedule_.streamed_kib * 1024);
  }

  void BuildBlock(const Range& middle_range, const Range& outer_range) {
    const size_t rank = axes_.size();
    Bound bound;
    if (rank > 2) {
      Dims extents;
      for (size_t i = 0; i + 2 < rank; ++i) extents.push_back(dims_[axes_[i]]);
      std::vector<Expr> outer_index = BindCoordinates(nest_, extents, OpenRange("outer", outer_range));
      for (size_t i = 0; i + 2 < rank; ++i) bound.emplace_back(variables_[axes_[i]], outer_index[i]);
    }
    if (rank <= 1) return BuildRow({bound});
    Expr begin = middle_range.begin;
    const LoopKind kind = std::exchange(outermost_, LoopKind::kSerial);
    const int depth = nest_.depth();
    for (int rows : {rows_, 1}) {
      if (rows == 1 && rows_ > 1 && Same(begin, middle_range.end)) continue;
      const Expr end = rows == 1 ? middle_range.end : WholeSteps(nest_, middle_range, rows);
      const int axis = axes_[rank - 2];
      const Expr first = Variable(nest_.Open(fmt::format("i{}", axis), begin, end, kind, rows));
      std::vector<Bound> of_rows(rows, bound);
      for (int row = 0; row < rows; ++row)
        of_rows[row].emplace_back(variables_[axis], first + IntConstant(row));
      BuildRow(of_rows);
      while (nest_.depth() > depth) nest_.Close();
      begin = end;
      if (rows == 1) break;
    }
  }

  Expr OpenRange(const std::string& name, const Range& range) {
    return Variable(nest_.Open(name, range.begin, range.end, std::exchange(outermost_, LoopKind::kSerial)));
  }

  // The innermost loops, for each way that choices of a launch go: then loads are wide.
  void BuildRow(const std::vector<Bound>& rows) { BuildChoices(roots_, kMostChoices, rows); }
  void BuildChoices(const std::vector<Expr>& roots, int choices, const std::vector<Bound>& rows) {
    Expr choice;
    if (choices > 0 && !axes_.empty() && width_ > 1)
      choice = FindLaunchChoice(roots, [&](const Expr& e) { return DependsOn(e, variables_[axes_.back()]); });
    if (!choice.valid()) return BuildInside(roots, rows);
    for (bool holds : {true, false}) {
      nest_.OpenIf(holds ? choice : Unary(ExprOp::kNot, choice));
      BuildChoices(Chosen(roots, choice, holds), choices - 1, rows);
      nest_.Close();
    }
  }

  // Rows of windows that lie inside along all other axes have loops of their own.
  void BuildInside(const std::vector<Expr>& roots, const std::vector<Bound>& rows) {
    if (!lanes_.has_inner_reduction) return BuildRow(roots, rows);
    std::vector<Expr> inside = roots;
    Expr condition = BoolConstant(true);
    for (size_t i = 0; i + 1 < axes_.size(); ++i) {
      const Dim& extent = dims_[axes_[i]];
      Inside along = InsideOf(variables_[axes_[i]], extent, std::move(inside));
      inside = std::move(along.roots);
      if (!along.begin.IsConstant(0))
        condition = And(condition, LessEqual(DimValue(along.begin), coordinates_[axes_[i]]));
      if (!(along.end == extent))
        condition = And(condition, Less(coordinates_[axes_[i]], DimValue(along.end)));
    }
    condition = nest_.Let("is_inside", Substitute(condition, rows[0]));
    if (IsConstant(condition)) return BuildRow(inside, rows);
    nest_.OpenIf(condition);
    BuildRow(inside, rows);
    nest_.Close();
    nest_.OpenIf(Unary(ExprOp::kNot, condition));
    BuildRow(roots, rows);
    nest_.Close();
  }

  void BuildRow(const std::vector<Expr>& elements, const std::vector<Bound>& rows) {
    ReductionLowering reductions(&nest_, form_ == Form::kTurned && inner_is_vector_ ? 1 : width_,
                                 form_ == Form::kTurned);
    std::vector<Expr> roots, places;
    for (const Bound& bound : rows)
      for (const Expr& element : elements) {
        roots.push_back(Substitute(element, bound));
        places.push_back(Substitute(FlatIndex(dims_, coordinates_), bound));
      }
    if (axes_.empty()) return StoreElements(reductions, roots, places, Lanes{});
    VariableId inner = variables_[axes_.back()];
    if (BuildWindows(reductions, inner, roots, places)) return;
    const Dim& extent = dims_[axes_.back()];
    for (Piece& piece : CutRange(nest_, inner, inner_range_, extent, std::move(roots)))
      BuildPiece(reductions, inner, piece, places);
  }

  // Windows that reach beyond the edges of a row: whole vectors in the middle need no conditions, masked ones
  // before and behind them do the rest.
  bool BuildWindows(ReductionLowering& reductions, VariableId inner, const std::vector<Expr>& roots,
                    const std::vector<Expr>& places) {
    const int width = LanesWithin(dims_[axes_.back()], width_);
    const Dim& extent = dims_[axes_.back()];
    Inside middle = InsideOf(inner, extent, roots);
    const bool has_edges = !middle.begin.IsConstant(0) || !(middle.end == extent);
    std::vector<Expr> masked = MaskedAtEdges(inner, roots);
    if (!lanes_.has_inner_reduction || !inner_is_vector_ || width == 1 || !has_edges ||
        !SuitsMasks(masked, inner))
      return false;
    const Expr begin = inner_range_.begin, end = inner_range_.end, step = IntConstant(width);
    Expr before = Max(DimValue(middle.begin) - begin, IntConstant(0));
    Expr from = nest_.Let("middle", Min(begin + FloorDiv(before + step - IntConstant(1), step) * step, end));
    Expr last = Max(Min(DimValue(middle.end), end), from);
    Expr to = WholeSteps(nest_, {from, last}, width);
    BuildPiece(reductions, inner, {{from, to}, std::move(middle.roots)}, places);
    Expr side = Variable(nest_.Open("side", IntConstant(0), IntConstant(2)));
    Expr is_first = Equal(side, IntConstant(0));
    Expr edge = nest_.Let("edge", Select(is_first, begin, to));
    Expr edge_end = nest_.Let("edge_end", Select(is_first, from, end));
    Expr first = Variable(nest_.Open("first", edge, edge_end, LoopKind::kSerial, width));
    StoreGuarded(reductions, inner, masked, places, first, edge_end, width);
    nest_.Close();
    nest_.Close();
    return true;
  }

  // Vectors of elements from `from` on, up to `end`, of which more than `least` are there.
  void StoreGuarded(ReductionLowering& reductions, VariableId inner, const std::vector<Expr>& roots,
                    const std::vector<Expr>& places, const Expr& from, const Expr& end, int width,
                    int unroll = 1, int least = 0) {
    Lanes lanes = Lanes::Make(nest_.kernel(), width, unroll);
    const Expr position = from + lanes.Number();
    lanes.guard = Less(position, end);
    if (least > 0) lanes.guard = Or(Less(lanes.Number(), IntConstant(least)), lanes.guard);
    StoreAt(reductions, inner, roots, places, position, lanes);
  }

  void StoreAt(ReductionLowering& reductions, VariableId inner, const std::vector<Expr>& roots,
               const std::vector<Expr>& places, const Expr& position, const Lanes& lanes) {
    std::pair<VariableId, Expr> here(inner, position);
    std::vector<Expr> elements, targets;
    for (size_t r = 0; r < places.size(); ++r) {
      elements.push_back(Guarded(Substitute(roots[r], std::span(&here, 1)), lanes));
      targets.push_back(Substitute(places[r], std::span(&here, 1)));
    }
    StoreElements(reductions, elements, targets, lanes);
  }

  // Groups of vectors, vectors, single elements.
  void BuildPiece(ReductionLowering& reductions, VariableId inner, const Piece& piece,
                  const std::vector<Expr>& places) {
    Range rest = piece.range;
    const Expr& end = piece.range.end;
    auto loop = [&](const Expr& to, int width, int unroll) {
      const Expr from = rest.begin;
      if (Same(from, to)) return;
      Lanes lanes = Lanes::Make(nest_.kernel(), width, unroll);
      VariableId i = nest_.Open(fmt::format("i{}", axes_.back()), from, to, outermost_, lanes.count());
      StoreAt(reductions, inner, piece.roots, places, Variable(i) + lanes.Number(), lanes);
      nest_.Close();
      rest = RestAfter(rest, to, lanes.count());
    };
    auto whole = [&](int step) { return WholeSteps(nest_, rest, step); };
    int width = LanesWithin(dims_[axes_.back()], width_);
    if (piece.is_edge) return loop(end, 1, 1);
    const bool suits_masks = inner_is_vector_ && width > 1 && SuitsMasks(piece.roots, inner);
    if (inner_is_vector_ && width > 1) {
      const int most = static_cast<int>(schedule_.unrolled_vectors);
      for (int sums : {most, most / 2}) {
        // Windows have few taps: what is read of them stays at hand.
        if (!lanes_.has_inner_reduction || form_ == Form::kTurned || sums == 0 ||
            (sums == most && !lanes_.has_long_reduction))
          continue;
        loop(whole(sums * width), width, sums);
        if (lanes_.has_long_reduction && suits_masks)
          rest.begin = BuildMostOfGroup(reductions, inner, piece, places, rest, width, sums);
      }
      const int woven = lanes_.has_inner_reduction ? width : width * VectorsToWeave(piece.roots, width);
      if (woven > width) loop(whole(woven), woven, 1);
      loop(whole(width), width, 1);
      // Vectors of short types hold many elements: what is left may be several narrower ones.
      const bool has_narrow = !lanes_.has_inner_reduction && !suits_masks;
      for (int narrow = width / 2; has_narrow && narrow >= kNarrowest; narrow /= 2)
        loop(whole(narrow), narrow, 1);
    }
    if (!suits_masks) return loop(end, 1, 1);
    if (Same(rest.begin, end)) return;
    nest_.OpenIf(Less(rest.begin, end));
    StoreGuarded(reductions, inner, piece.roots, places, rest.begin, end, width);
    nest_.Close();
  }

  // A masked group of `sums` vectors, where the range fills more than half of one, so that what is reduced is
  // read in one pass; where what is left begins.
  Expr BuildMostOfGroup(ReductionLowering& reductions, VariableId inner, const Piece& piece,
                        const std::vector<Expr>& places, const Range& range, int width, int sums) {
    const int half = sums / 2 * width;
    const Expr fills = nest_.Let("fills", Less(IntConstant(half), range.end - range.begin));
    if (IsConstant(fills) && fills->integer == 0) return range.begin;
    nest_.OpenIf(fills);
    StoreGuarded(reductions, inner, piece.roots, places, range.begin, range.end, width, sums, half);
    nest_.Close();
    return nest_.Let("rest", Select(fills, range.end, range.begin));
  }

  void StoreElements(ReductionLowering& reductions, std::vector<Expr> elements,
                     const std::vector<Expr>& targets, const Lanes& lanes) {
    for (Expr& element : elements) element = reductions.Lower(element, lanes);
    ForLanes(nest_, lanes, [&] {
      std::vector<Expr> all = elements;
      all.insert(all.end(), targets.begin(), targets.end());
      std::vector<Expr> placed = nest_.Place(all);
      // An output may lie where an input lay: all elements are read before the first is written.
      if (elements.size() > 1) {
        for (size_t i = 0; i < elements.size(); ++i) placed[i] = nest_.Let("value", placed[i]);
      }
      for (size_t i = 0; i < elements.size(); ++i) {
        nest_.Add(Store(stores_[i % stores_.size()], placed[elements.size() + i], placed[i], lanes.guard));
      }
    });
  }

  const GroupView& group_;
  const TargetInfo& target_;
  const Form form_;
  std::vector<uint32_t> outputs_;  // of the group
  GroupKernel made_;
  Nest nest_;
  Dims dims_;                          // of the outputs as the loops see them
  std::vector<VariableId> variables_;  // one for each axis of the outputs; replaced by loop variables
  std::vector<Expr> coordinates_;
  std::vector<int> axes_;         // those that are not of size 1
  std::vector<uint32_t> stores_;  // arguments that are written
  std::vector<Expr> roots_;       // the outputs' elements
  PullsSchedule schedule_;
  KernelSchedule decided_;
  Range inner_range_;
  LoopKind outermost_ = LoopKind::kSerial;  // of the next loop over elements
  int width_ = 1, rows_ = 1;                // lanes; rows that are made together
  bool inner_is_vector_ = false;
  PullLanes lanes_;
  std::optional<LaunchAxes> launch_axes_;
};

}  // namespace

Expected<GroupProgram> ScheduleGeneric(const GroupView& group, const TargetInfo& target) {
  auto build = [&](const GroupView& collapsed, const std::vector<uint32_t>& outputs,
                   std::vector<KernelCall>* calls) -> Status {
    const bool are_all = outputs.size() == collapsed.outputs().size();
    TVMVM_TRY(KernelCall woven, are_all ? BuildWovenRows(collapsed, target) : KernelCall{.when = 0});
    for (Form form : {Form::kPlain, Form::kTurned, Form::kLaunchRows, Form::kLaunchTiles}) {
      TVMVM_TRY(KernelCall call, PullKernel(collapsed, target, outputs, form).Build());
      const Dim when = call.when;
      call.when = And(when, Not(woven.when));
      if (!call.when.IsConstant(0)) calls->push_back(std::move(call));
      if (when.IsConstant(1)) break;
    }
    if (!woven.when.IsConstant(0)) calls->push_back(std::move(woven));
    return {};
  };
  return ScheduleByDims(group, build);
}

}  // namespace tvmvm::tensor
