#include "compiler/schedules/cpu/tiles/transposed_tiles.h"

#include <algorithm>
#include <bit>
#include <set>

#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"
#include "compiler/loops/lanes.h"
#include "compiler/loops/loop_blocks.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;

constexpr int kChunkBits = 128;     // what codegen turns whole
constexpr int kLongestSide = 16;    // of a tile, in elements
constexpr int kFew = 4;             // of a side, where that does
constexpr size_t kMostTurned = 4;   // loads
constexpr int64_t kMostJoined = 8;  // rows of the output in a register

bool IsTurnable(DType dtype) {
  const int bits = DTypeBits(dtype);
  return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

bool Reads(const Expr& a) {
  bool reads = false;
  VisitOnce(a, [&](const Expr& e) { reads |= e.op() == ExprOp::kLoad; });
  return reads;
}

// The loads that are executed whatever indices are: a condition that reads chooses between values.
class FreeLoads {
 public:
  explicit FreeLoads(std::span<const Expr> roots) {
    for (const Expr& root : roots) Visit(root);
  }
  const std::vector<Expr>& loads() const { return loads_; }

 private:
  void Visit(const Expr& e) {
    if (!seen_.insert(e.get()).second) return;
    const bool guards = e.op() == ExprOp::kSelect && !Reads(e->operands[0]);
    if (e.op() == ExprOp::kLoad && e->operands.size() == 1) loads_.push_back(e);
    for (size_t i = 0; i < (guards ? 1 : e->operands.size()); ++i) Visit(e->operands[i]);
  }

  std::set<const ExprNode*> seen_;
  std::vector<Expr> loads_;
};

// A gather along the variable, which could be made of wide loads along another one.
bool IsStrided(const Expr& load, VariableId variable) {
  auto step = Coefficient(load->operands[0], variable);
  if (!step) return false;
  return !step->is_constant() || step->value() < 0 || step->value() > kMaxShortStep;
}

bool IsConsecutive(const Expr& load, VariableId variable) {
  auto step = Coefficient(load->operands[0], variable);
  return step && step->IsConstant(1);
}

bool SuitsVectors(std::span<const Expr> roots, VariableId variable) {
  return std::all_of(roots.begin(), roots.end(),
                     [&](const Expr& root) { return GatheredLoads(root, variable) == 0; });
}

}  // namespace

bool AreTurnable(std::span<const Expr> roots) {
  bool suits = true;
  for (const Expr& root : roots) {
    suits &= IsTurnable(root.dtype());
    VisitOnce(root, [&](const Expr& e) {
      suits &= e.op() != ExprOp::kReduce && (e.op() != ExprOp::kLoad || IsTurnable(e.dtype()));
    });
  }
  return suits;
}

namespace {

// Rows of the output so short that several make a vector, read along the axis of which they are rows.
std::optional<TransposedTiles> FindJoinedRows(std::span<const Expr> roots, const Expr& place,
                                              std::span<const OutputAxis> axes) {
  const auto& [along, extent] = axes.back();
  if (!extent.is_constant() || extent.value() < 2 || extent.value() > kMostJoined) return std::nullopt;
  for (const OutputAxis& axis : axes.first(axes.size() - 1)) {
    auto step = Coefficient(place, axis.first);
    if (!step || *step != extent || !SuitsVectors(roots, axis.first)) continue;
    const bool is_read = std::any_of(roots.begin(), roots.end(), [&](const Expr& root) {
      bool reads = false;
      VisitOnce(root,
                [&](const Expr& e) { reads |= e.op() == ExprOp::kLoad && IsConsecutive(e, axis.first); });
      return reads;
    });
    if (is_read)
      return TransposedTiles{along, axis.first, extent, axis.second, {roots.begin(), roots.end()},
                             true,  true};
  }
  return std::nullopt;
}

}  // namespace

std::optional<TransposedTiles> FindTransposedTiles(std::span<const Expr> roots, const Expr& place,
                                                   std::span<const OutputAxis> axes) {
  if (axes.size() < 2 || !AreTurnable(roots)) return std::nullopt;
  if (auto joined = FindJoinedRows(roots, place, axes)) return joined;
  TransposedTiles tiles;
  std::tie(tiles.along, tiles.along_extent) = axes.back();
  std::optional<OutputAxis> across;
  const FreeLoads free(roots);
  for (const Expr& load : free.loads()) {
    if (!IsStrided(load, tiles.along)) continue;
    for (const OutputAxis& axis : axes.first(axes.size() - 1))
      if (!across && IsConsecutive(load, axis.first)) across = axis;
    if (across && IsConsecutive(load, across->first)) tiles.turned.push_back(load);
  }
  if (!across || tiles.turned.size() > kMostTurned) return std::nullopt;
  std::tie(tiles.across, tiles.across_extent) = *across;
  if (roots.size() <= tiles.turned.size() && SuitsVectors(roots, tiles.across))
    return TransposedTiles{
        tiles.along, tiles.across, tiles.along_extent, tiles.across_extent, {roots.begin(), roots.end()},
        true,        false};
  return tiles;
}

namespace {

class TileStores {
 public:
  TileStores(Nest& nest, const TransposedTiles& tiles, const TilePart& part, std::span<const Expr> roots,
             std::span<const Expr> places, std::span<const uint32_t> stores,
             std::span<const std::pair<VariableId, Expr>> bound, const TargetInfo& target)
      : nest_(nest), tiles_(tiles), part_(part), stores_(stores), target_(target) {
    given_ = Marked(tiles.turned, roots, bound);
    if (tiles.turns_all && !tiles.interleaves) loads_ = Marked(LoadsToTurn(roots), roots, bound);
    for (const Expr& place : places) places_.push_back(Substitute(place, bound));
    ChooseSides(roots);
  }

  void Build() {
    turned_ = given_.turned;
    roots_ = given_.roots;
    if (tiles_.interleaves) return BuildRows();
    // An axis that does not fill its side has tiles of a smaller one.
    const std::vector<Side> along = SidesOf(tiles_.along_extent, rows_);
    const std::vector<Side> across = SidesOf(tiles_.across_extent, columns_);
    for (const Side& rows : along)
      for (const Side& columns : across) {
        const Expr suits = nest_.Let("suits", And(rows.suits, columns.suits));
        if (IsIntConstant(suits, 0)) continue;
        const int depth = nest_.depth();
        if (!IsConstant(suits)) nest_.OpenIf(suits);
        BuildTiles(rows, columns);
        while (nest_.depth() > depth) nest_.Close();
      }
  }

 private:
  struct Side {
    int elements;
    Expr suits;      // the extent
    bool is_filled;  // by such an extent
  };
  std::vector<Side> SidesOf(const Dim& extent, int side) const {
    const Expr fills = LessEqual(IntConstant(side), DimValue(extent));
    if (few_ >= side) return {{side, BoolConstant(true), IsIntConstant(fills, 1)}};
    return {{side, fills, true}, {few_, Unary(ExprOp::kNot, fills), false}};
  }

  // Where a tile begins along an axis, of which there are some more elements, or a whole side.
  struct Place {
    Expr first, whole, is_whole;
    Expr Holds(bool wanted) const { return wanted ? is_whole : Unary(ExprOp::kNot, is_whole); }
  };

  // What is turned, and the elements with marks for it.
  struct Elements {
    std::vector<Expr> turned, roots;
  };
  static Elements Marked(const std::vector<Expr>& turned, std::span<const Expr> roots,
                         std::span<const std::pair<VariableId, Expr>> bound) {
    auto mark = [&](const Expr& e) {
      for (size_t i = 0; i < turned.size(); ++i)
        if (Same(e, turned[i])) return Mark(i, e.dtype());
      return e;
    };
    Rewriter rewrite(mark);
    Elements made;
    for (const Expr& value : turned) made.turned.push_back(Substitute(value, bound));
    for (const Expr& root : roots) {
      // All of it, before a part that is turned as well.
      const Expr whole = mark(root);
      made.roots.push_back(Substitute(Same(whole, root) ? rewrite(root) : whole, bound));
    }
    return made;
  }

  // The loads, where they are no more than what is made of them: what few lanes have read many can compute.
  static std::vector<Expr> LoadsToTurn(std::span<const Expr> roots) {
    size_t count = 0;
    for (const Expr& root : roots)
      VisitOnce(root, [&](const Expr& e) { count += e.op() == ExprOp::kLoad ? 1 : 0; });
    std::vector<Expr> loads = FreeLoads(roots).loads();
    if (count > loads.size() || loads.size() > roots.size()) return {};
    const int bits = DTypeBits(roots[0].dtype());
    const auto is_as_wide = [&](const Expr& e) { return DTypeBits(e.dtype()) == bits; };
    return std::ranges::all_of(roots, is_as_wide) && std::ranges::all_of(loads, is_as_wide)
               ? loads
               : std::vector<Expr>();
  }

  void BuildTiles(const Side& rows, const Side& columns) {
    const bool has_few_lanes = columns.elements == few_ && !columns.is_filled && !loads_.turned.empty();
    const Elements& elements = has_few_lanes ? loads_ : given_;
    turned_ = elements.turned;
    roots_ = elements.roots;
    rows_ = rows.elements;
    columns_ = columns.elements;
    Expr across =
        Variable(nest_.Open("across", part_.across_begin, part_.across_end, LoopKind::kSerial, columns_));
    Expr along = Variable(nest_.Open("along", part_.along_begin, part_.along_end, LoopKind::kSerial, rows_));
    // The last tile of a row may begin within the one before it, where nothing is read that was stored.
    const bool overlaps = tiles_.turns_all;
    const auto place = [&](const Side& side, const Dim& extent, const Expr& part_begin, const Expr& part_end,
                           const Expr& first) {
      const Expr end = part_.ends_anywhere ? part_end : DimValue(extent);
      const Expr last = end - IntConstant(side.elements);
      const Expr begin = part_.ends_anywhere ? part_begin : IntConstant(0);
      Expr is_whole = LessEqual(overlaps ? begin : first, last);
      const bool is_multiple = IsMultiple(extent, side.elements);
      if (!part_.ends_anywhere && (overlaps ? side.is_filled : is_multiple)) is_whole = BoolConstant(true);
      return Place{first, overlaps ? Min(first, last) : first, nest_.Let("is_whole", is_whole)};
    };
    const Place row = place(rows, tiles_.along_extent, part_.along_begin, part_.along_end, along);
    const Place column = place(columns, tiles_.across_extent, part_.across_begin, part_.across_end, across);
    // Few of both are rare.
    const bool has_few = overlaps && !rows.is_filled && !columns.is_filled && has_masks_;
    for (bool has_rows : {true, false})
      for (bool has_columns : {true, false}) {
        // What has no place for all may be short along either axis, unless tiles overlap.
        if ((has_few && has_rows) || ((has_few || !overlaps) && has_rows != has_columns)) continue;
        Expr suits = And(row.Holds(has_rows), column.Holds(has_columns));
        if (!overlaps && !has_rows) suits = Unary(ExprOp::kNot, And(row.is_whole, column.is_whole));
        if (has_few) suits = BoolConstant(true);
        if (IsIntConstant(suits, 0)) continue;
        nest_.OpenIf(suits);
        const Expr first_row = has_rows ? nest_.Let("first", row.whole) : along;
        const Expr first_column = has_columns ? nest_.Let("first", column.whole) : across;
        const bool is_whole = has_rows && has_columns;
        is_whole || has_masks_ ? BuildTile(first_row, first_column, !has_rows, !has_columns)
                               : BuildElements(along, across);
        nest_.Close();
      }
  }
  static constexpr VariableId kMark = 1u
                                      << 30;  // from here on: turned values, which no kernel has so many of
  static Expr Mark(size_t i, DType dtype) { return Variable(kMark + static_cast<VariableId>(i), dtype); }

  static bool IsMultiple(const Dim& extent, int side) {
    return extent.is_constant() && extent.value() % side == 0;
  }

  static int LongestSide(const Dim& extent, int least, int most) {
    if (!extent.is_constant()) return most;
    const auto wanted = std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(extent.value(), 1)));
    return static_cast<int>(
        std::clamp<uint64_t>(wanted, static_cast<uint64_t>(least), static_cast<uint64_t>(most)));
  }

  void ChooseSides(std::span<const Expr> roots) {
    int widest = 8, narrowest = 64;
    for (const Expr& turned : tiles_.turned) {
      widest = std::max(widest, DTypeBits(turned.dtype()));
      narrowest = std::min(narrowest, DTypeBits(turned.dtype()));
    }
    int least_loaded = 64;
    for (const Expr& root : roots) {
      least_loaded = std::min(least_loaded, DTypeBits(root.dtype()));
      VisitOnce(root, [&](const Expr& e) {
        if (e.op() == ExprOp::kLoad) least_loaded = std::min(least_loaded, DTypeBits(e.dtype()));
      });
    }
    has_masks_ = least_loaded >= 32 || target_.vector_bits >= 512;
    const int least = kChunkBits / narrowest;
    const int most = std::max(least, std::min(kLongestSide, target_.vector_bits / widest));
    rows_ = LongestSide(tiles_.along_extent, least, most);
    columns_ = LongestSide(tiles_.across_extent, least, most);
    few_ = std::clamp(kFew, least, most);
    if (tiles_.interleaves) {
      rows_ = static_cast<int>(tiles_.along_extent.value());
      columns_ = most;
    }
  }

  Expr At(const Expr& a, const Expr& along, const Expr& across) const {
    std::pair<VariableId, Expr> here[] = {{tiles_.along, along}, {tiles_.across, across}};
    return Substitute(a, here);
  }

  // Reads a tile and turns it: buffers of `columns_` rows of the output. Rows behind the last one are the
  // last one.
  std::vector<uint32_t> Turn(const Expr& along, const Expr& across, bool has_part_rows,
                             bool has_part_columns) {
    std::vector<uint32_t> turned;
    for (const Expr& value : turned_) {
      uint32_t read = nest_.Local("tile", value.dtype(), Memory::kRegisters, rows_ * columns_);
      Lanes lanes = Lanes::Make(nest_.kernel(), columns_, rows_);
      Expr row = along + Variable(lanes.unroll_variable);
      const Expr column = across + Variable(lanes.lane_variable);
      if (has_part_rows) row = Min(row, part_.along_end - IntConstant(1));
      if (has_part_columns) lanes.guard = Less(column, part_.across_end);
      const Expr element = Guarded(At(value, row, column), lanes);
      ForLanes(nest_, lanes, [&] { nest_.Add(Store(read, lanes.Number(), nest_.Place(element))); });
      turned.push_back(nest_.Local("turned", value.dtype(), Memory::kRegisters, rows_ * columns_));
      nest_.Add(Transpose(turned.back(), read, rows_, columns_));
    }
    return turned;
  }

  Expr WithTurned(const Expr& root, const std::vector<uint32_t>& turned, const Lanes& lanes) const {
    std::vector<std::pair<VariableId, Expr>> values;
    for (size_t i = 0; i < turned.size(); ++i)
      values.emplace_back(kMark + static_cast<VariableId>(i),
                          Load(turned[i], turned_[i].dtype(), lanes.Number()));
    return Substitute(root, values);
  }

  void StoreLanes(const Lanes& lanes, const std::vector<Expr>& elements, const std::vector<Expr>& targets) {
    ForLanes(nest_, lanes, [&] {
      std::vector<Expr> all = elements;
      all.insert(all.end(), targets.begin(), targets.end());
      std::vector<Expr> placed = nest_.Place(all);
      // An output may lie where an input lay: all elements are read before the first is written.
      for (size_t i = 0; elements.size() > 1 && i < elements.size(); ++i)
        placed[i] = nest_.Let("value", placed[i]);
      for (size_t i = 0; i < elements.size(); ++i)
        nest_.Add(Store(stores_[i], placed[elements.size() + i], placed[i], lanes.guard));
    });
  }

  // Of a tile that reaches beyond the part only what lies in it.
  void BuildTile(const Expr& along, const Expr& across, bool has_part_rows, bool has_part_columns) {
    const std::vector<uint32_t> turned = Turn(along, across, has_part_rows, has_part_columns);
    const Lanes all = Lanes::Make(nest_.kernel(), rows_, columns_);
    const Expr column = along + Variable(all.lane_variable), row = across + Variable(all.unroll_variable);
    Lanes lanes = all;
    if (has_part_rows) lanes.guard = Less(column, part_.along_end);
    std::vector<Expr> elements, targets;
    for (size_t i = 0; i < roots_.size(); ++i) {
      elements.push_back(Guarded(WithTurned(At(roots_[i], column, row), turned, all), lanes));
      targets.push_back(At(places_[i], column, row));
    }
    // A store of which nothing happens may take long.
    nest_.Open(all.unroll_variable, IntConstant(0), IntConstant(columns_), LoopKind::kUnrolled);
    if (has_part_columns) nest_.OpenIf(Less(row, part_.across_end));
    lanes.unroll = 1;
    StoreLanes(lanes, elements, targets);
    if (has_part_columns) nest_.Close();
    nest_.Close();
  }

  // Rows of the output one behind the other, as many as vectors along them have lanes.
  void BuildRows() {
    const Expr begin = part_.across_begin, end = part_.across_end;
    const Expr whole = WholeSteps(nest_, {begin, end}, columns_);
    Expr across = Variable(nest_.Open("across", begin, whole, LoopKind::kSerial, columns_));
    BuildJoined(across, false);
    nest_.Close();
    if (!has_masks_) return BuildRest(whole, end);
    nest_.OpenIf(Less(whole, end));
    BuildJoined(whole, true);
    nest_.Close();
  }

  void BuildJoined(const Expr& across, bool is_part) {
    const Expr zero = IntConstant(0);
    const std::vector<uint32_t> turned = Turn(zero, across, false, is_part);
    Lanes lanes = Lanes::Make(nest_.kernel(), columns_, rows_);
    if (is_part) lanes.guard = Less(lanes.Number(), (part_.across_end - across) * IntConstant(rows_));
    std::vector<Expr> elements, targets;
    for (size_t i = 0; i < roots_.size(); ++i) {
      elements.push_back(WithTurned(roots_[i], turned, lanes));
      targets.push_back(At(places_[i], zero, across) + lanes.Number());
    }
    StoreLanes(lanes, elements, targets);
  }

  // Without vectors.
  void BuildElements(const Expr& along, const Expr& across) {
    const Expr across_end = nest_.Let("across_end", Min(across + IntConstant(columns_), part_.across_end));
    const Expr along_end = nest_.Let("along_end", Min(along + IntConstant(rows_), part_.along_end));
    BuildElements({along, along_end, across, across_end});
  }
  void BuildRest(const Expr& begin, const Expr& end) {
    BuildElements({IntConstant(0), IntConstant(rows_), begin, end});
  }
  void BuildElements(const TilePart& part) {
    Expr row = Variable(nest_.Open("row", part.across_begin, part.across_end));
    Expr column = Variable(nest_.Open("column", part.along_begin, part.along_end));
    std::vector<Expr> elements, targets;
    std::vector<std::pair<VariableId, Expr>> values;
    for (size_t i = 0; i < turned_.size(); ++i)
      values.emplace_back(kMark + static_cast<VariableId>(i), turned_[i]);
    for (size_t i = 0; i < roots_.size(); ++i) {
      elements.push_back(At(Substitute(roots_[i], values), column, row));
      targets.push_back(At(places_[i], column, row));
    }
    StoreLanes(Lanes{}, elements, targets);
    nest_.Close();
    nest_.Close();
  }

  Nest& nest_;
  const TransposedTiles& tiles_;
  const TilePart& part_;
  std::span<const uint32_t> stores_;
  const TargetInfo& target_;
  std::vector<Expr> turned_, roots_, places_;  // over the two axes; roots with marks for what is turned
  Elements given_, loads_;                     // as they are given; loads, where these can be turned instead
  int rows_ = 1, columns_ = 1;                 // of a tile as it is read
  int few_ = 1;                                // of either, where an axis has few elements
  bool has_masks_ = false;                     // for all types at hand
};

}  // namespace

void StoreTransposedTiles(Nest& nest, const TransposedTiles& tiles, const TilePart& part,
                          std::span<const Expr> roots, std::span<const Expr> places,
                          std::span<const uint32_t> stores,
                          std::span<const std::pair<VariableId, Expr>> bound, const TargetInfo& target) {
  TileStores(nest, tiles, part, roots, places, stores, bound, target).Build();
}

}  // namespace tvmvm::tensor
