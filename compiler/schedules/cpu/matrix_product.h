// One kernel that computes a batch of matrix products: the shape shared by contractions and convolutions.
//
// The result is cut into blocks of rows and columns, one grid point each; block sizes do not depend on the
// CPU level. Within a block, tiles are summed in registers (micro_kernel.h), written to a small local buffer
// and from there, row by row and panel by panel, handed to the epilogue.
#pragma once

#include <cstdint>
#include <functional>

#include "compiler/loops/loop_blocks.h"
#include "compiler/loops/loop_ir.h"
#include "compiler/loops/nest.h"
#include "compiler/schedules/cpu/cpu_schedules.h"
#include "compiler/schedules/cpu/tiles/coded_bytes.h"
#include "compiler/schedules/cpu/tiles/coded_kernel.h"
#include "compiler/schedules/cpu/tiles/micro_kernel.h"
#include "compiler/schedules/packing.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::tensor {

// The left operand. Read where it lies when the elements of a row have one step; else rows are gathered into
// scratch first, converted to the accumulator's type (to u8 in products of bytes).
struct LeftOperand {
  uint32_t buffer = 0;            // in place only
  DType dtype = DType::kInvalid;  // in place only
  Expr step;                      // in place only: distance of neighbours along the depth
  std::function<Expr(Nest&, const Expr& row)> offset;  // in place only: element index of (row, 0)
  bool is_linear = true;  // in place only: `offset` is linear in the row, so that it costs nothing to repeat
  ir::Dim pitch = 0;      // in place and linear: distance of neighbouring rows
  bool keeps_apart = false;  // rows do not meet in one set of a cache, whatever the pitch
  // Gathered: writes the row's elements to target[base ...]. Empty: in place.
  std::function<void(Nest&, const Expr& row, uint32_t target, const Expr& base)> gather;
  bool is_dear = false;  // gathered: from many places
  // Gathered, where rows are lines of `line` positions: the same for the row at a position of a line.
  ir::Dim line = 1;
  std::function<void(Nest&, const Expr& line, const Expr& at, uint32_t target, const Expr& base)>
      gather_in_line;
};

enum class RightForm : uint8_t {
  kPanels,    // a constant packed at compile time
  kInPlace,   // rows of consecutive columns: a multiple of 16, or at least kMinColumnsInPlace of them
  kGathered,  // packed into scratch by the grid point
  kRows,      // the same, as rows of all its columns, GatheredPitch() elements apart
  kShared,    // the same, as rows that lie anywhere, and share elements
  kColumns,   // columns whose elements lie side by side: BuildDotProducts only
  kCoded,     // a constant packed as codes, which are decoded in registers
  kBytes,     // the same, multiplied as integers with a left operand that was rounded to bytes
  kDigits,    // as kBytes at levels with instructions for that, at others decoded: as kGathered
};

struct RightOperand {
  RightForm form = RightForm::kPanels;
  // What lies ready, be it packed (kCoded, kBytes, kDigits: in the fields below):
  uint32_t buffer = 0;
  DType dtype = DType::kInvalid;
  // Element index of the batch's first element; of codes: number of its first panel.
  std::function<Expr(Nest&)> base;
  CodedLayout coded;                // kCoded, kBytes, kDigits
  CodedBuffers coded_buffers;       // the same
  ByteRows rows;                    // kBytes, kDigits: the left operand, [batch][rows]
  std::function<Expr()> first_row;  // kBytes, kDigits: of the batch
  Expr step;                        // kInPlace: distance of neighbours along the depth; kColumns: of columns
  // What is gathered: writes columns [first, first + 16 * panels) to `target` in the accumulator's type;
  // columns that do not exist are zero.
  std::function<void(Nest&, const Expr& first, int panels, uint32_t target)> gather;
  // kGathered: the same of a part of the depth, where that may be done.
  std::function<void(Nest&, const Range& part, const Expr& first, int panels, uint32_t target)> gather_part;
  std::function<ir::Dim(int panels)> elements;  // kShared: that are gathered
  int64_t taps = 1;  // kShared: as often a row takes an element, where that is known
  // kShared: writes where each row's first column is among them, an i64 for each step of the depth.
  std::function<void(Nest&, int panels, uint32_t target)> offsets;
};

// Rows and columns of the product that a tile holds; its last ones may not exist.
struct TileAt {
  int panels = 1;
  Expr first_row, height, first_column;
};

struct MatrixProduct {
  ir::Dim batch = 1, rows, columns, depth;
  int64_t most_rows = INT64_MAX;  // where `rows` is known to be no more
  DType accumulator = DType::kInvalid;
  // Products of bytes, u8 by i8, summed in i32: rows are gathered as u8, panels are PackBytePanels.
  bool of_bytes = false;
  static constexpr int64_t kBytesOfStep = 4;  // of the depth
  ir::Dim steps() const { return of_bytes ? CeilDiv(depth, kBytesOfStep) : depth; }
  ir::Dim packed_elements() const;  // of the right operand as panels, in one batch entry
  LeftOperand left;
  RightOperand right;
  ProductSchedule schedule;  // as ChooseProduct, or FitProduct, leaves it
  DotsSchedule dots;         // of kColumns
  // Of kPanels, kRows, kShared: steps outside of these multiply zeros in the tile; empty: it is all of them.
  std::function<DepthRange(Nest&, const TileAt& at)> range;
  // Binds what the operands and the epilogue need of the batch's number.
  std::function<void(Nest&, const Expr& batch)> begin;
  // Stores one finished element; called inside of a loop over columns that may be vectorised.
  std::function<Status(Nest&, const Expr& row, const Expr& column, const Expr& sum)> store;
  // `store` is a few instructions: where the depth is short, whole tiles are stored out of registers.
  bool has_simple_store = false;
  // Where columns are not those of the result: calls `run` for runs of the 16 columns from `column` on that
  // are, [begin, end) of the 16, and `first` + i is what `store` shall take for column + i.
  using Run = std::function<Status(const Expr& begin, const Expr& end, const Expr& first)>;
  std::function<Status(Nest&, const Expr& column, const Run& run)> runs;
};

// A block's: the last block begins earlier where columns are left over, so that all its columns exist.
inline constexpr int64_t kMinColumnsInPlace = 64;

constexpr bool IsGathered(RightForm form) {
  return form == RightForm::kGathered || form == RightForm::kRows || form == RightForm::kShared ||
         form == RightForm::kDigits;
}
// Behind the columns there is room for a vector, so that a run that ends among them is written without a
// mask.
constexpr int64_t GatheredPitch(int panels) { return (panels + 1) * kPanelColumns; }

// Whether a packed right operand stays in the second level of cache: then blocks of columns run fastest in
// the grid, so that a thread reads again what it wrote of the rows.
inline constexpr int64_t kSmallRight = 128 * 1024;  // elements
inline bool IsSmallRight(const ir::Dim& elements) {
  return elements.constant().value_or(INT64_MAX) <= kSmallRight;
}

// Fills grid, scratch, estimates and body of `kernel`, whose arguments exist already.
Status BuildMatrixProduct(const MatrixProduct& product, const TargetInfo& target, LoopKernel* kernel);

// A product as a part of a kernel that has loops of its own: rows of one block, all columns. `begin` has been
// done; scratch is added to the kernel's.
struct ProductBlock {
  Expr first_row, rows;
  ir::Dim most_rows;
  // Rows are gathered, or lie in a buffer with room for whole tiles behind the last: all tiles are of one
  // height. Else of exactly as many rows as there are, at most `kFewRows` unless `is_any`.
  bool is_padded = true;
  bool is_any =
      false;  // not padded, of any number of rows up to block_rows, as product.rows divides into blocks
};
inline constexpr int kFewRows = 4;
Status AddMatrixProduct(const MatrixProduct& product, const ProductBlock& block, const TargetInfo& target,
                        Nest& nest);
inline ir::Dim RoundUp(const ir::Dim& a, int64_t multiple) { return CeilDiv(a, multiple) * multiple; }
// Room for whole tiles behind the last row.
ir::Dim PaddedRows(const ir::Dim& rows);

// The same for a few rows, where the right operand's columns lie side by side along the depth (kColumns), and
// rows do in place; else they are gathered.
Status BuildDotProducts(const MatrixProduct& product, LoopKernel* kernel);
// As a part of a kernel: all columns.
Status AddDotProducts(const MatrixProduct& product, Nest& nest);

}  // namespace tvmvm::tensor
