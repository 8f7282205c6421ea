// Windows that slide along rows of channels_first data: vectors run along a row of results.
//
// A grid point is a block of rows of one plane. It brings what its windows touch into scratch, padding as a
// neutral element, one copy of a row for each residue of the last stride, so that all taps are plain
// neighbouring loads; then tiles of a few rows of results are combined in registers, where rows of data that
// several of them need are read once.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/loops/nest.h"
#include "compiler/schedules/cpu/cpu_schedules.h"
#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

// Windows along the last axes of data; everything before them is planes.
struct PlanarShape {
  ir::Dims input, output;
  std::vector<int64_t> kernel, strides, dilations;
  ir::Dims low;  // padding before each axis

  size_t axes() const { return kernel.size(); }
  int64_t taps() const;
  // From the first to the last tap, in the positions of the data.
  int64_t reach(size_t axis) const { return (kernel[axis] - 1) * dilations[axis]; }
  // Axes of one position say nothing.
  bool IsUnitAxis(size_t axis) const;
  // Without those, but with one axis at least.
  PlanarShape WithoutUnitAxes() const;
  // Positions along the axes of WithoutUnitAxes -> along all.
  std::vector<Expr> WithUnitAxes(const std::vector<Expr>& at) const;
};

// Of a convolution whose taps are constant in number.
struct ConvolutionShape;
PlanarShape PlanarShapeOf(const ConvolutionShape& shape);

struct PlanarForm {
  DType dtype = DType::kInvalid;  // of scratch
  Expr neutral;                   // of that type
  PlanarSchedule schedule;
  // Taps along the axes before the rows are combined while they are brought in; else each has rows of its
  // own in scratch.
  std::optional<ExprOp> combines;
  // Masks are no good for the data or for the results, as is so of types below 32 bits: only whole vectors,
  // the last one of a row beginning earlier, and single elements where a row has no whole vector.
  bool reads_whole = false, writes_whole = false;
  bool may_rewrite = false;  // with writes_whole: an element may be written twice
};

// Overrides what was chosen; vectors become no wider. `problem`: words beside those of the group.
KernelSchedule DecidePlanar(const GroupView& group, const TargetInfo& target, const std::string& problem,
                            PlanarSchedule* schedule);

class PlanarBlocks {
 public:
  // `shape` has no unit axes.
  PlanarBlocks(PlanarShape shape, PlanarForm form, Nest* nest);

  void OpenGrid(const ir::Dim& planes);
  // Valid from OpenGrid on: the plane's number, the first of the block's rows and columns, how many there
  // are.
  const Expr& plane() const { return plane_; }
  const Expr& first_row() const { return first_row_; }
  const Expr& rows() const { return rows_; }
  const Expr& first_column() const { return first_column_; }
  const Expr& columns() const { return columns_; }
  const std::vector<Expr>& position() const { return position_; }  // along the axes before the rows

  // Brings in plane `input_plane`; `load` gives the element at a flat position of the data.
  void Fill(const Expr& input_plane, const std::function<Expr(const Expr& flat)>& load);
  // Valid from Fill on. Scratch is [outer taps][input rows][residues][pitch].
  uint32_t scratch() const { return scratch_; }
  const Expr& used_rows() const { return used_rows_; }  // of scratch
  const ir::Dim& pitch() const { return pitch_; }
  ir::Dim row_pitch() const { return ir::Dim(stride(last_)) * pitch_; }
  const ir::Dims& outer_taps() const { return outer_taps_; }
  // What a tap along the last axis adds to an offset in scratch.
  Expr TapOffset(const Expr& tap) const;
  // Where row `row` of results begins to read in the rows of outer tap `outer_tap`.
  Expr RowOffset(const Expr& outer_tap, const Expr& row) const;
  // The vector of scratch `row` input rows and `vector` vectors behind `from`.
  Expr Data(const Expr& from, const Expr& row, int vector) const;

  // Tiles of `tile_rows` rows by `vectors` vectors from (row, x) on. `begin_rows` comes before the columns.
  using Build = std::function<Status(const Expr& row, const Expr& x, int vectors)>;
  Status ForTiles(const std::function<void(const Expr& row)>& begin_rows, const Build& build);
  // Of the tile that is built: high ones where many rows are left, of half the height where few are.
  int tile_rows() const;
  // Input rows of a tile -> (row of the tile, tap along the rows) that want them.
  std::map<int64_t, std::vector<std::pair<int, int64_t>>> RowUses() const;
  // Indices of a tile's vector number `number` in a buffer in registers.
  Expr Lanes(int number) const;
  // Stores a tile: those of its vectors that exist. `element` is one of vector `number` at column x + lane.
  using Element = std::function<Expr(int row, int number, const Expr& lane, const Expr& column)>;
  using Store = std::function<Status(const std::vector<Expr>& at, const Expr& flat, const Expr& element)>;
  Status StoreTile(const Expr& row, const Expr& x, int vectors, const Element& element, const Store& store);

  bool has_rows() const { return shape_.axes() > 1; }
  ir::Dim output_rows() const { return has_rows() ? shape_.output[last_ - 1] : ir::Dim(1); }
  int64_t row_stride() const { return has_rows() ? stride(last_ - 1) : 1; }
  int64_t row_dilation() const { return has_rows() ? shape_.dilations[last_ - 1] : 1; }
  int64_t row_taps() const { return has_rows() ? shape_.kernel[last_ - 1] : 1; }
  int64_t taps() const { return shape_.kernel[last_]; }

 private:
  // The rows that the block's windows touch; [begin, end) of them exist.
  struct Rows {
    Expr corner, begin, end;
  };

  int64_t stride(size_t axis) const { return shape_.strides[axis]; }
  int64_t wide() const;   // vectors of a tile's row
  int rest_rows() const;  // of the tiles for what is left
  Status ForColumns(const Expr& row, const std::function<void(const Expr& row)>& begin_rows,
                    const Build& build);
  void FillOuterTap(const Expr& tap, const Expr& target, bool combines);
  Rows RowsOf(const Expr& is_inside);
  void FillColumns(std::vector<Expr> at, const Expr& residue, const Rows& rows, const Expr& target,
                   bool combines);
  struct Columns;
  void FillMasked(const Columns& columns, const Rows& rows, bool combines);
  void FillWhole(const Columns& columns, const Rows& rows, bool combines);
  void Put(const Expr& place, Expr element, bool combines);
  Status StoreVector(const Expr& row, const Expr& x, bool may_end,
                     const std::function<Expr(const Expr& lane, const Expr& column)>& element,
                     const Store& store);
  Status StoreWhole(const Expr& x, const std::function<Expr(const Expr& lane, const Expr& column)>& element,
                    const std::function<Status(const Expr& column, const Expr& element)>& store);

  PlanarShape shape_;
  PlanarForm form_;
  Nest& nest_;
  size_t last_ = 0;
  ir::Dims outer_, outer_taps_;  // of the axes before the rows
  ir::Dim input_rows_, pitch_;   // of scratch
  uint32_t scratch_ = 0;
  bool is_rest_ = false;
  Expr plane_, input_plane_, first_row_, rows_, first_column_, columns_, used_rows_;
  std::vector<Expr> position_;
  std::function<Expr(const Expr& flat)> load_;
};

}  // namespace tvmvm::tensor
