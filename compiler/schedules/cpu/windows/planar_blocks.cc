#include "compiler/schedules/cpu/windows/planar_blocks.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/product_group.h"
#include "compiler/schedules/schedule_overrides.h"

namespace tvmvm::tensor {
namespace {

// Tiles so high have ones of half the height, a vector wide, beside them for what is left.
constexpr int kLeastHalvedRows = 8;
// Of scratch, so that levels whose tiles are narrow take as much of it as others.
constexpr int64_t kWholeColumns = 32;

}  // namespace

int64_t PlanarShape::taps() const {
  return std::accumulate(kernel.begin(), kernel.end(), int64_t{1}, std::multiplies<>());
}

bool PlanarShape::IsUnitAxis(size_t axis) const {
  return kernel[axis] == 1 && input[axis].IsConstant(1) && output[axis].IsConstant(1) &&
         low[axis].IsConstant(0);
}

PlanarShape PlanarShape::WithoutUnitAxes() const {
  PlanarShape shape = *this;
  for (size_t i = axes(); i-- > 0 && shape.axes() > 1;) {
    if (!IsUnitAxis(i)) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    for (ir::Dims* list : {&shape.input, &shape.output, &shape.low}) list->erase(list->begin() + at);
    for (std::vector<int64_t>* list : {&shape.kernel, &shape.strides, &shape.dilations})
      list->erase(list->begin() + at);
  }
  return shape;
}

std::vector<Expr> PlanarShape::WithUnitAxes(const std::vector<Expr>& at) const {
  std::vector<Expr> all;
  size_t left_out = axes() - at.size();
  for (size_t i = axes(); i-- > 0;) {
    const bool is_left_out = left_out > 0 && IsUnitAxis(i);
    if (is_left_out) --left_out;
    all.push_back(is_left_out ? IntConstant(0) : at[i - left_out]);
  }
  std::reverse(all.begin(), all.end());
  return all;
}

KernelSchedule DecidePlanar(const GroupView& group, const TargetInfo& target, const std::string& problem,
                            PlanarSchedule* schedule) {
  return Decide(
      group, target, WordsOf(group) + " " + problem, schedule,
      [widest = schedule->lanes](PlanarSchedule* made) { made->lanes = std::min(made->lanes, widest); });
}

PlanarBlocks::PlanarBlocks(PlanarShape shape, PlanarForm form, Nest* nest)
    : shape_(std::move(shape)), form_(std::move(form)), nest_(*nest), last_(shape_.axes() - 1) {
  for (size_t i = 0; i + 1 < last_; ++i) {
    outer_.push_back(shape_.output[i]);
    outer_taps_.emplace_back(shape_.kernel[i]);
  }
}

int PlanarBlocks::tile_rows() const {
  if (!has_rows()) return 1;
  return is_rest_ ? rest_rows() : static_cast<int>(form_.schedule.tile_rows);
}
int PlanarBlocks::rest_rows() const {
  const int rows = has_rows() ? static_cast<int>(form_.schedule.tile_rows) : 1;
  return rows >= kLeastHalvedRows && rows % 2 == 0 ? rows / 2 : rows;
}
int64_t PlanarBlocks::wide() const {
  return has_rows() ? form_.schedule.tile_vectors : form_.schedule.row_vectors;
}

void PlanarBlocks::OpenGrid(const ir::Dim& planes) {
  const ir::Dim row_blocks = CeilDiv(output_rows(), form_.schedule.block_rows),
                column_blocks = CeilDiv(shape_.output[last_], form_.schedule.block_columns);
  plane_ = Variable(nest_.Grid(0, "plane", planes));
  Expr outer_block = Variable(nest_.Grid(1, "row_block", row_blocks * ir::Product(outer_)));
  Expr column_block = Variable(nest_.Grid(2, "column_block", column_blocks));
  position_ = Unflatten(FloorDiv(outer_block, DimValue(row_blocks)), outer_);
  for (Expr& at : position_) at = nest_.Let("o", at);
  const Expr block_rows = IntConstant(form_.schedule.block_rows);
  first_row_ = nest_.Let("first_row", FloorMod(outer_block, DimValue(row_blocks)) * block_rows);
  rows_ = nest_.Let("rows", Min(block_rows, DimValue(output_rows()) - first_row_));
  first_column_ = nest_.Let("first_column", column_block * IntConstant(form_.schedule.block_columns));
  columns_ = nest_.Let("columns", Min(IntConstant(form_.schedule.block_columns),
                                      DimValue(shape_.output[last_]) - first_column_));
}

void PlanarBlocks::Fill(const Expr& input_plane, const std::function<Expr(const Expr& flat)>& load) {
  input_plane_ = input_plane;
  load_ = load;
  const int64_t window_rows = (row_taps() - 1) * row_dilation() + 1, tile = rest_rows();
  const ir::Dim block_rows =
      has_rows() ? RoundUp(Min(output_rows(), form_.schedule.block_rows), tile) : ir::Dim(1);
  input_rows_ = (block_rows - 1) * row_stride() + window_rows;
  const int64_t columns = std::max(wide() * form_.schedule.lanes, kWholeColumns);
  pitch_ = RoundUp(Min(shape_.output[last_], form_.schedule.block_columns), columns) +
           (shape_.reach(last_) / stride(last_) / form_.schedule.lanes + 2) * form_.schedule.lanes;
  const ir::Dim plane = input_rows_ * stride(last_) * pitch_, taps = ir::Product(outer_taps_);
  scratch_ = nest_.Scratch("rows", form_.dtype, form_.combines ? plane : taps * plane);
  Expr whole_rows = FloorDiv(rows_ + IntConstant(tile - 1), IntConstant(tile)) * IntConstant(tile);
  used_rows_ = nest_.Let(
      "used_rows", (whole_rows - IntConstant(1)) * IntConstant(row_stride()) + IntConstant(window_rows));
  Expr first = IntConstant(0);
  if (form_.combines) {
    FillOuterTap(first, first, false);
    if (taps.IsConstant(1)) return;
    first = IntConstant(1);
  }
  Expr tap = Variable(nest_.Open("outer_tap", first, DimValue(taps)));
  FillOuterTap(tap, form_.combines ? IntConstant(0) : tap * DimValue(plane), form_.combines.has_value());
  nest_.Close();
}

void PlanarBlocks::FillOuterTap(const Expr& tap, const Expr& target, bool combines) {
  std::vector<Expr> at = Unflatten(tap, outer_taps_);
  Expr inside = BoolConstant(true);
  for (size_t i = 0; i < at.size(); ++i) {
    at[i] = nest_.Let("at", position_[i] * IntConstant(stride(i)) - DimValue(shape_.low[i]) +
                                at[i] * IntConstant(shape_.dilations[i]));
    inside = And(inside, And(LessEqual(IntConstant(0), at[i]), Less(at[i], DimValue(shape_.input[i]))));
  }
  const Rows rows = RowsOf(inside);
  const int64_t residues = std::min(stride(last_), shape_.reach(last_) + 1);
  Expr residue = Variable(nest_.Open("residue", IntConstant(0), IntConstant(residues)));
  FillColumns(at, residue, rows, target + residue * DimValue(pitch_), combines);
  nest_.Close();
}

PlanarBlocks::Rows PlanarBlocks::RowsOf(const Expr& is_inside) {
  const Expr zero = IntConstant(0);
  Rows rows{zero, zero, IntConstant(1)};
  if (has_rows()) {
    rows.corner =
        nest_.Let("corner", first_row_ * IntConstant(row_stride()) - DimValue(shape_.low[last_ - 1]));
    rows.begin = nest_.Let("row_begin", Min(Max(zero - rows.corner, zero), used_rows_));
    rows.end = Max(Min(DimValue(shape_.input[last_ - 1]) - rows.corner, used_rows_), rows.begin);
  }
  rows.end = Select(is_inside, rows.end, rows.begin);
  rows.end = nest_.Let("row_end", rows.end);
  return rows;
}

// Of a residue: elements [begin, end) of `count` exist; where those of row 0 are read and written.
struct PlanarBlocks::Columns {
  Expr begin, end, count, from, to;
};

// Elements `residue`, `residue` + stride, ... of all rows, from the block's first window on.
void PlanarBlocks::FillColumns(std::vector<Expr> at, const Expr& residue, const Rows& rows,
                               const Expr& target, bool combines) {
  const Expr zero = IntConstant(0), step = IntConstant(stride(last_));
  Expr corner = nest_.Let("corner", first_column_ * step - DimValue(shape_.low[last_]) + residue);
  auto first_from = [&](const Expr& x) { return FloorDiv(x - corner + step - IntConstant(1), step); };
  Columns columns;
  columns.begin = nest_.Let("begin", Max(first_from(zero), zero));
  columns.end = nest_.Let("end", first_from(DimValue(shape_.input[last_])));
  // What results read that exist; the others of a last vector may get anything.
  columns.count = nest_.Let("count", columns_ + IntConstant(shape_.reach(last_) / stride(last_)));
  if (has_rows()) at.push_back(rows.corner);
  at.push_back(corner);
  columns.from = input_plane_ * DimValue(ir::Product(shape_.input)) + FlatIndex(shape_.input, at);
  columns.to = target;
  form_.reads_whole ? FillWhole(columns, rows, combines) : FillMasked(columns, rows, combines);
}

void PlanarBlocks::Put(const Expr& place, Expr element, bool combines) {
  if (combines) element = Binary(*form_.combines, Load(scratch_, form_.dtype, place), std::move(element));
  nest_.Add(tensor::Store(scratch_, place, std::move(element)));
}

// A column of vectors after the other, because what the edges mask is the same for all rows. Those that no
// edge cuts, which are the most, are read without masks.
void PlanarBlocks::FillMasked(const Columns& columns, const Rows& all, bool combines) {
  const Expr zero = IntConstant(0), step = IntConstant(stride(last_)),
             lanes = IntConstant(form_.schedule.lanes);
  Expr chunk = Variable(nest_.Open("chunk", zero, columns.count, LoopKind::kSerial, form_.schedule.lanes));
  Expr from = nest_.Let("from", columns.from + chunk * step), to = nest_.Let("to", columns.to + chunk);
  enum class Existing : uint8_t { kNone, kSome, kAll };
  auto rows = [&](const Expr& first, const Expr& last, Existing existing) {
    Expr row = Variable(nest_.Open("row", first, last));
    Expr source = nest_.Let("source", from + row * DimValue(shape_.input[last_]));
    Expr place = nest_.Let("place", to + row * DimValue(row_pitch()));
    Expr lane = Variable(nest_.Open("lane", zero, lanes, LoopKind::kVectorized));
    Expr element = form_.neutral, j = chunk + lane;
    if (existing != Existing::kNone) {
      Expr read = Cast(form_.dtype, load_(source + lane * step));
      element = existing == Existing::kAll
                    ? read
                    : Select(And(LessEqual(columns.begin, j), Less(j, columns.end)), read, element);
    }
    Put(place + lane, std::move(element), combines);
    nest_.Close();
    nest_.Close();
  };
  if (!combines) rows(zero, all.begin, Existing::kNone);
  const Expr exist =
      nest_.Let("exist", And(LessEqual(columns.begin, chunk), LessEqual(chunk + lanes, columns.end)));
  for (bool whole : {true, false}) {
    nest_.OpenIf(whole ? exist : Unary(ExprOp::kNot, exist));
    rows(all.begin, all.end, whole ? Existing::kAll : Existing::kSome);
    nest_.Close();
  }
  if (!combines) rows(all.end, used_rows_, Existing::kNone);
  nest_.Close();
}

// Neutral elements everywhere, then what exists.
void PlanarBlocks::FillWhole(const Columns& columns, const Rows& all, bool combines) {
  const Expr zero = IntConstant(0), step = IntConstant(stride(last_)),
             lanes = IntConstant(form_.schedule.lanes);
  auto vector = [&](const std::function<void(const Expr& lane)>& build) {
    build(Variable(nest_.Open("lane", zero, lanes, LoopKind::kVectorized)));
    nest_.Close();
  };
  if (!combines) {
    Expr row = Variable(nest_.Open("row", zero, used_rows_));
    Expr place = nest_.Let("place", columns.to + row * DimValue(row_pitch()));
    Expr chunk = Variable(nest_.Open("chunk", zero, columns.count, LoopKind::kSerial, form_.schedule.lanes));
    vector([&](const Expr& lane) { Put(place + chunk + lane, form_.neutral, false); });
    nest_.Close();
    nest_.Close();
  }
  const Expr begin = columns.begin,
             end = nest_.Let("end", Max(Min(columns.end, columns.count), columns.begin));
  const Expr length = end - begin;
  const Expr whole = nest_.Let("whole", begin + FloorDiv(length, lanes) * lanes);
  // What is brought in twice must not be combined twice.
  const bool may_repeat = !combines || form_.combines == ExprOp::kMax || form_.combines == ExprOp::kMin;
  const Expr repeats = may_repeat ? LessEqual(lanes, length) : BoolConstant(false);
  const Expr last = nest_.Let("last", Select(repeats, end - lanes, end));
  Expr row = Variable(nest_.Open("row", all.begin, all.end));
  Expr source = nest_.Let("source", columns.from + row * DimValue(shape_.input[last_]));
  Expr place = nest_.Let("place", columns.to + row * DimValue(row_pitch()));
  auto bring = [&](const Expr& j) { Put(place + j, Cast(form_.dtype, load_(source + j * step)), combines); };
  Expr chunk = Variable(nest_.Open("chunk", begin, whole, LoopKind::kSerial, form_.schedule.lanes));
  vector([&](const Expr& lane) { bring(chunk + lane); });
  nest_.Close();
  if (may_repeat) {
    nest_.OpenIf(And(repeats, Less(whole, end)));
    vector([&](const Expr& lane) { bring(last + lane); });
    nest_.Close();
  }
  bring(Variable(nest_.Open("single", Select(repeats, end, whole), end)));
  nest_.Close();
  nest_.Close();
}

Expr PlanarBlocks::TapOffset(const Expr& tap) const {
  Expr distance = tap * IntConstant(shape_.dilations[last_]), step = IntConstant(stride(last_));
  return FloorMod(distance, step) * DimValue(pitch_) + FloorDiv(distance, step);
}

Expr PlanarBlocks::RowOffset(const Expr& outer_tap, const Expr& row) const {
  return (outer_tap * DimValue(input_rows_) + row * IntConstant(row_stride())) * DimValue(row_pitch());
}

Expr PlanarBlocks::Data(const Expr& from, const Expr& row, int vector) const {
  Expr at = from + row * DimValue(row_pitch()) + IntConstant(vector * form_.schedule.lanes);
  return Load(scratch_, form_.dtype,
              Ramp(std::move(at), IntConstant(1), static_cast<int>(form_.schedule.lanes)));
}

std::map<int64_t, std::vector<std::pair<int, int64_t>>> PlanarBlocks::RowUses() const {
  std::map<int64_t, std::vector<std::pair<int, int64_t>>> uses;
  for (int r = 0; r < tile_rows(); ++r)
    for (int64_t t = 0; t < row_taps(); ++t) uses[r * row_stride() + t * row_dilation()].emplace_back(r, t);
  return uses;
}

Expr PlanarBlocks::Lanes(int number) const {
  return Ramp(IntConstant(number * form_.schedule.lanes), IntConstant(1),
              static_cast<int>(form_.schedule.lanes));
}

Status PlanarBlocks::ForTiles(const std::function<void(const Expr& row)>& begin_rows, const Build& build) {
  if (!has_rows()) return ForColumns(IntConstant(0), begin_rows, build);
  const int64_t tile = tile_rows(), rest = rest_rows();
  const auto rows = output_rows().constant();
  const bool divides = rows && *rows % tile == 0 && form_.schedule.block_rows % tile == 0;
  const bool is_halved = rest < tile && !divides;
  Expr begin = IntConstant(0), end = rows_;
  if (is_halved)
    end = nest_.Let("whole_rows",
                    FloorDiv(rows_ + IntConstant(tile - rest - 1), IntConstant(tile)) * IntConstant(tile));
  for (bool is_rest : {false, true}) {
    if (is_rest && !is_halved) continue;
    is_rest_ = is_rest;
    Expr row = Variable(nest_.Open("tile_row", begin, end, LoopKind::kSerial, tile_rows()));
    TVMVM_CHECK_OK(ForColumns(row, begin_rows, build));
    nest_.Close();
    begin = std::exchange(end, rows_);
  }
  is_rest_ = false;
  return {};
}

Status PlanarBlocks::ForColumns(const Expr& row, const std::function<void(const Expr& row)>& begin_rows,
                                const Build& build) {
  if (begin_rows) begin_rows(row);
  const Expr width = IntConstant(wide() * form_.schedule.lanes), lanes = IntConstant(form_.schedule.lanes);
  Expr whole = IntConstant(0);
  if (wide() > 1 && !is_rest_) whole = nest_.Let("whole", FloorDiv(columns_, width) * width);
  for (bool is_wide : {true, false}) {
    if (is_wide && (wide() == 1 || is_rest_)) continue;
    const int64_t vectors = is_wide ? wide() : 1;
    Expr begin = is_wide ? IntConstant(0) : whole, end = is_wide ? whole : columns_;
    Expr x = Variable(nest_.Open("x", begin, end, LoopKind::kSerial, vectors * form_.schedule.lanes));
    if (vectors == 1 && form_.writes_whole && form_.may_rewrite)
      x = nest_.Let("x", Max(Min(x, columns_ - lanes), IntConstant(0)));
    TVMVM_CHECK_OK(build(row, x, static_cast<int>(vectors)));
    nest_.Close();
  }
  return {};
}

Status PlanarBlocks::StoreTile(const Expr& row, const Expr& x, int vectors, const Element& element,
                               const Store& store) {
  for (int r = 0; r < tile_rows(); ++r) {
    if (r > 0) nest_.OpenIf(Less(row + IntConstant(r), rows_));
    for (int v = 0; v < vectors; ++v) {
      auto of_vector = [&](const Expr& lane, const Expr& column) {
        return element(r, r * vectors + v, lane, column);
      };
      TVMVM_CHECK_OK(StoreVector(row + IntConstant(r), x + IntConstant(v * form_.schedule.lanes),
                                 vectors == 1, of_vector, store));
    }
    if (r > 0) nest_.Close();
  }
  return {};
}

Status PlanarBlocks::StoreVector(const Expr& row, const Expr& x, bool may_end,
                                 const std::function<Expr(const Expr& lane, const Expr& column)>& element,
                                 const Store& store) {
  auto store_at = [&](const Expr& column, const Expr& value) {
    std::vector<Expr> at = position_;
    if (has_rows()) at.push_back(first_row_ + row);
    at.push_back(first_column_ + column);
    Expr flat = plane_ * DimValue(ir::Product(shape_.output)) + FlatIndex(shape_.output, at);
    return store(at, flat, value);
  };
  if (may_end && form_.writes_whole) return StoreWhole(x, element, store_at);
  Expr lane =
      Variable(nest_.Open("lane", IntConstant(0), IntConstant(form_.schedule.lanes), LoopKind::kVectorized));
  if (may_end) nest_.OpenIf(Less(x + lane, columns_));
  TVMVM_CHECK_OK(store_at(x + lane, element(lane, x + lane)));
  if (may_end) nest_.Close();
  nest_.Close();
  return {};
}

// A vector where all of it exists, else one element after the other.
Status PlanarBlocks::StoreWhole(const Expr& x,
                                const std::function<Expr(const Expr& lane, const Expr& column)>& element,
                                const std::function<Status(const Expr& column, const Expr& element)>& store) {
  const Expr zero = IntConstant(0), lanes = IntConstant(form_.schedule.lanes);
  const Expr exists = nest_.Let("exists", LessEqual(x + lanes, columns_));
  nest_.OpenIf(exists);
  Expr lane = Variable(nest_.Open("lane", zero, lanes, LoopKind::kVectorized));
  TVMVM_CHECK_OK(store(x + lane, element(lane, x + lane)));
  nest_.Close();
  nest_.Close();
  nest_.OpenIf(Unary(ExprOp::kNot, exists));
  uint32_t rest = nest_.Local("rest", form_.dtype, Memory::kLocal, form_.schedule.lanes);
  lane = Variable(nest_.Open("lane", zero, lanes, LoopKind::kVectorized));
  nest_.Add(tensor::Store(rest, lane, element(lane, x + lane)));
  nest_.Close();
  Expr single = Variable(nest_.Open("single", zero, columns_ - x));
  TVMVM_CHECK_OK(store(x + single, Load(rest, form_.dtype, single)));
  nest_.Close();
  nest_.Close();
  return {};
}

}  // namespace tvmvm::tensor
