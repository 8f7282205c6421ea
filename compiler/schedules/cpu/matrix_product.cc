#include "compiler/schedules/cpu/matrix_product.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "compiler/loops/loop_blocks.h"
#include "compiler/schedules/cpu/left_rows.h"
#include "compiler/schedules/cpu/tile_results.h"
#include "compiler/schedules/cpu/tiles/micro_kernel.h"
#include "compiler/schedules/packing.h"

namespace tvmvm::tensor {
namespace {

constexpr int64_t kCacheLine = 64;
constexpr int64_t kOffsetBytes = 8;
// Rows whose sums stay in the first level of cache while codes are multiplied with them.
constexpr int64_t kRowsOfBytes = 96;

class ProductBuilder {
 public:
  ProductBuilder(const MatrixProduct& product, const TargetInfo& target, Nest& nest)
      : product_(product), target_(target), kernel_(nest.kernel()), nest_(nest) {
    block_panels_ = static_cast<int>(product.schedule.block_panels);
    block_rows_ = product.schedule.block_rows;
    tiles_ = TilesOf(product.schedule);
    lanes_ = VectorLanes(target, product.accumulator);
    steps_ = product.steps();
    step_type_ = product.of_bytes ? DType::kU32 : product.accumulator;
    overlaps_ =
        product.right.form == RightForm::kInPlace && !FloorMod(product.columns, kPanelColumns).IsConstant(0);
  }

  Status Build() {
    row_blocks_ = RowBlocks();
    OpenGrid();
    const RightForm form = product_.right.form;
    if (form == RightForm::kBytes || (form == RightForm::kDigits && target_.has_vnni)) {
      // Levels are alike in what a launch needs.
      if (form == RightForm::kDigits)
        kernel_->scratch_bytes = kernel_->scratch_bytes + LeftBytes() + RightBytes();
      TVMVM_CHECK_OK(TilesOfBytes());
    } else {
      GatherLeft();
      TVMVM_CHECK_OK(product_.schedule.depth_block > 0 ? Parts(PossibleHeights()) : All(PossibleHeights()));
    }
    kernel_->flops = product_.batch * product_.rows * product_.columns * product_.depth * 2;
    kernel_->body = nest_.Finish();
    return {};
  }

  // Inside of other loops.
  Status Add(const ProductBlock& block) {
    first_row_ = block.first_row;
    rows_ = block.rows;
    block_rows_ = block.most_rows;
    row_blocks_ = CeilDiv(product_.rows, product_.schedule.block_rows);  // as the caller divides them
    pads_rows_ = block.is_padded;
    GatherLeft();
    const int64_t width = block_panels_ * kPanelColumns;
    Expr column_block =
        Variable(nest_.Open("column_block", IntConstant(0), DimValue(CeilDiv(product_.columns, width))));
    first_column_ = nest_.Let("first_column", column_block * IntConstant(width));
    GatherRight();
    Heights heights;
    if (pads_rows_) heights.many.insert(tiles_.rows);
    if (block.is_any) heights = PossibleHeights();
    for (int h = 1; !pads_rows_ && !block.is_any && h <= kFewRows; ++h)
      (h <= tiles_.few_rows() ? heights.few : heights.many).insert(h);
    TVMVM_CHECK_OK(Tile(heights));
    nest_.Close();
    return {};
  }

 private:
  // Heights of register tiles that can occur: in blocks of few rows and in all others.
  struct Heights {
    std::set<int> few, many;
  };

  ir::Dim ColumnBlocks() const { return CeilDiv(product_.columns, block_panels_ * kPanelColumns); }

  // More than there must be where those are few grid points.
  ir::Dim RowBlocks() const {
    const ProductSchedule& schedule = product_.schedule;
    const ir::Dim most = CeilDiv(product_.rows, schedule.least_rows);
    const ir::Dim wanted = CeilDiv(schedule.grid_points, Max(ColumnBlocks() * product_.batch, 1));
    return Max(CeilDiv(product_.rows, schedule.block_rows), Min(most, wanted));
  }

  Status All(const Heights& heights) {
    GatherRight();
    return Tile(heights);
  }

  // A part of the depth after the other; what is summed of all but the last lies in scratch.
  Status Parts(const Heights& heights) {
    const int64_t most = product_.schedule.depth_block, row = block_panels_ * kPanelColumns * ElementBytes();
    const ir::Dim right = kernel_->scratch_bytes;
    right_scratch_ = AddScratchBuffer("right", product_.accumulator, right);
    const ir::Dim sums = right + Min(steps_, most) * row;
    sums_ = AddScratchBuffer("sums", product_.accumulator, sums);
    kernel_->scratch_bytes = sums + Less(most, steps_) * (Min(product_.rows, block_rows_) * row);
    const Expr depth = DimValue(steps_);
    const Expr begin =
        Variable(nest_.Open("part", IntConstant(0), Max(depth, IntConstant(1)), LoopKind::kSerial, most));
    const Range part{begin, nest_.Let("part_end", Min(begin + IntConstant(most), depth))};
    range_ = DepthRange{.begin = part.begin, .end = part.end};
    product_.right.gather_part(nest_, part, first_column_, block_panels_, right_scratch_);
    TVMVM_CHECK_OK(Tile(heights));
    nest_.Close();
    return {};
  }

  // The block's rows and columns, a register tile after the other.
  Status Tile(const Heights& heights) {
    int64_t tile_elements = tiles_.rows * tiles_.panels;
    for (const TilePlan::Few& few : tiles_.few)
      tile_elements = std::max<int64_t>(tile_elements, few.max_rows * few.panels);
    tile_ = nest_.Local("tile", product_.accumulator, Memory::kLocal, tile_elements * kPanelColumns);
    int below = 0;
    for (const TilePlan::Few& few : tiles_.few) {
      std::set<int> block = Between(heights.few, below, few.max_rows);
      if (!block.empty()) {
        nest_.OpenIf(And(Less(IntConstant(below), rows_), LessEqual(rows_, IntConstant(few.max_rows))));
        TVMVM_CHECK_OK(FewRows(block, few.panels));
        nest_.Close();
      }
      below = few.max_rows;
    }
    if (heights.many.empty()) return {};
    nest_.OpenIf(Less(IntConstant(pads_rows_ ? 0 : below), rows_));
    TVMVM_CHECK_OK(ManyRows(heights.many));
    nest_.Close();
    return {};
  }

  Status TilesOfBytes() {
    const int panels = PanelsByBytes(block_panels_);
    const int64_t most = std::min(product_.schedule.block_rows, kRowsOfBytes);
    tile_ = nest_.Local("tile", product_.accumulator, Memory::kLocal, most * panels * kPanelColumns);
    return ColumnGroups(panels, [&](const Expr& column) -> Status {
      if (product_.schedule.block_rows <= most) return TileOfBytes(panels, first_row_, rows_, column);
      Expr first = Variable(nest_.Open("first", IntConstant(0), rows_, LoopKind::kSerial, most));
      Expr row = nest_.Let("tile_row", first_row_ + first);
      Expr count = nest_.Let("count", Min(IntConstant(most), rows_ - first));
      TVMVM_CHECK_OK(TileOfBytes(panels, row, count, column));
      nest_.Close();
      return {};
    });
  }

  // All these rows at once.
  Status TileOfBytes(int panels, const Expr& row, const Expr& rows, const Expr& column) {
    BytesProduct bytes{.layout = product_.right.coded,
                       .codes = product_.right.coded_buffers,
                       .left = product_.right.rows,
                       .rows = rows,
                       .panels = panels};
    bytes.panel =
        nest_.Let("panel", product_.right.base(nest_) + FloorDiv(column, IntConstant(kPanelColumns)));
    bytes.first_row = nest_.Let("first_of_bytes", product_.right.first_row() + row);
    AddBytesProduct(nest_, bytes, target_, tile_);
    return StoreResults(product_, {panels, row, rows, column}, tile_, overlaps_, nest_);
  }

  static std::set<int> Between(const std::set<int>& heights, int above, int to) {
    return {heights.upper_bound(above), heights.upper_bound(to)};
  }

  Heights PossibleHeights() const {
    Heights heights;
    int few_rows = tiles_.few_rows();
    auto rows = product_.rows.constant();
    if (!rows) {
      auto most = [this](int64_t rows) { return static_cast<int>(std::min(rows, product_.most_rows)); };
      for (int h = 1; h <= most(few_rows); ++h) heights.few.insert(h);
      const bool are_tiles = product_.most_rows <= tiles_.rows;  // all blocks are one
      const int least = are_tiles ? few_rows + 1 : std::min(few_rows + 1, (tiles_.rows + 1) / 2);
      for (int h = least; h <= most(tiles_.rows); ++h) heights.many.insert(h);
      return heights;
    }
    const ProductSchedule& schedule = product_.schedule;
    auto blocks_of = [&](int64_t size) { return std::max<int64_t>((*rows + size - 1) / size, 1); };
    int64_t fewest = blocks_of(schedule.block_rows);
    int64_t most = std::max(fewest, std::min(blocks_of(schedule.least_rows), schedule.grid_points));
    if (row_blocks_.is_constant()) fewest = most = std::max<int64_t>(row_blocks_.value(), 1);
    for (int64_t blocks = fewest; blocks <= most; ++blocks) {
      for (int64_t size : {*rows / blocks, (*rows + blocks - 1) / blocks}) {
        if (size < 1) continue;
        if (size <= few_rows) {
          heights.few.insert(static_cast<int>(size));
          continue;
        }
        int64_t count = (size + tiles_.rows - 1) / tiles_.rows;
        heights.many.insert(static_cast<int>(size / count));
        heights.many.insert(static_cast<int>((size + count - 1) / count));
      }
    }
    return heights;
  }

  void OpenGrid() {
    // Blocks of rows run fastest: neighbouring grid points share a block of the right operand.
    const int rows_axis =
        product_.right.form == RightForm::kPanels && IsSmallRight(steps_ * product_.columns);
    Expr row_block = Variable(nest_.Grid(rows_axis, "row_block", row_blocks_));
    Expr column_block = Variable(nest_.Grid(1 - rows_axis, "column_block", ColumnBlocks()));
    Expr batch = Variable(nest_.Grid(2, "batch", product_.batch));
    if (product_.begin) product_.begin(nest_, batch);
    // Balanced blocks: sizes differ by one at most.
    Expr rows = DimValue(product_.rows), blocks = DimValue(Max(row_blocks_, 1));
    first_row_ = nest_.Let("first_row", FloorDiv(row_block * rows, blocks));
    Expr end = nest_.Let("end_row", FloorDiv((row_block + IntConstant(1)) * rows, blocks));
    rows_ = nest_.Let("rows", end - first_row_);
    first_column_ = nest_.Let("first_column", column_block * IntConstant(block_panels_ * kPanelColumns));
  }

  // Of scratch for the block's rows where they are gathered, and for its panels of a kGathered operand.
  ir::Dim LeftBytes() const {
    if (!product_.left.gather) return 0;
    ir::Dim rows = Min(product_.rows, block_rows_);
    if (pads_rows_) rows = PaddedRows(rows);
    return RoundUp(rows * steps_ * ElementBytes(), kCacheLine);
  }
  ir::Dim RightBytes() const { return product_.depth * (block_panels_ * kPanelColumns * ElementBytes()); }

  void GatherLeft() {
    if (!product_.left.gather) return;
    const ir::Dim bytes = kernel_->scratch_bytes;
    left_scratch_ = AddScratchBuffer("left", step_type_, bytes);
    // Bytes are written one by one and read four together.
    uint32_t target = product_.of_bytes ? AddScratchBuffer("left_bytes", DType::kU8, bytes) : left_scratch_;
    ir::Dim row_elements = product_.of_bytes ? steps_ * MatrixProduct::kBytesOfStep : steps_;
    kernel_->scratch_bytes = bytes + LeftBytes();
    GatherRows(nest_, product_.left, first_row_, rows_, target, row_elements);
  }

  void GatherRight() {
    if (!IsGathered(product_.right.form)) return;
    ir::Dim bytes = kernel_->scratch_bytes;
    right_scratch_ = AddScratchBuffer("right", product_.accumulator, bytes);
    if (product_.right.form == RightForm::kShared) {
      const ir::Dim offsets =
          bytes + RoundUp(product_.right.elements(block_panels_) * ElementBytes(), kCacheLine);
      right_offsets_ = AddScratchBuffer("right_offsets", DType::kI64, offsets);
      kernel_->scratch_bytes = offsets + RoundUp(product_.depth * kOffsetBytes, kCacheLine);
      product_.right.offsets(nest_, block_panels_, right_offsets_);
      return product_.right.gather(nest_, first_column_, block_panels_, right_scratch_);
    }
    kernel_->scratch_bytes = bytes + (product_.right.form == RightForm::kRows
                                          ? product_.depth * (GatheredPitch(block_panels_) * ElementBytes())
                                          : RightBytes());
    product_.right.gather(nest_, first_column_, block_panels_, right_scratch_);
  }

  int64_t ElementBytes() const { return DTypeBits(product_.accumulator) / 8; }

  uint32_t AddScratchBuffer(const char* name, DType dtype, const ir::Dim& offset) {
    uint32_t buffer = kernel_->AddLocal(name, dtype, Memory::kScratch, 0, DimValue(offset));
    nest_.Add(Allocate(buffer));
    return buffer;
  }

  // The block is one row of tiles.
  Status FewRows(const std::set<int>& heights, int panels) {
    FindRows(first_row_, rows_);
    const auto tile = [&](const Expr& column) { return OneTile(heights, panels, first_row_, rows_, column); };
    return ColumnGroups(panels, tile);
  }

  Status ManyRows(const std::set<int>& heights) {
    int panels = tiles_.panels;
    if (product_.schedule.has_rows_outside) {
      return Tiles([&](const Expr& row, const Expr& height) {
        FindRows(row, height);
        return ColumnGroups(
            panels, [&](const Expr& column) { return OneTile(heights, panels, row, height, column); });
      });
    }
    return ColumnGroups(panels, [&](const Expr& column) {
      return Tiles([&](const Expr& row, const Expr& height) {
        FindRows(row, height);
        return OneTile(heights, panels, row, height, column);
      });
    });
  }

  // Calls `body` with the first column of each group of `panels` panels in the block that has columns.
  template <class Body>
  Status ColumnGroups(int panels, Body body) {
    if (block_panels_ == panels) return body(first_column_);
    Expr group = Variable(nest_.Open("group", IntConstant(0), IntConstant(block_panels_ / panels)));
    Expr column = nest_.Let("column", first_column_ + group * IntConstant(panels * kPanelColumns));
    bool all_exist = FloorMod(product_.columns, block_panels_ * kPanelColumns).IsConstant(0);
    if (!all_exist) nest_.OpenIf(Less(column, DimValue(product_.columns)));
    TVMVM_CHECK_OK(body(column));
    if (!all_exist) nest_.Close();
    nest_.Close();
    return {};
  }

  // Calls `body` with the first row and the height of each tile in the block; heights differ by one at most.
  template <class Body>
  Status Tiles(Body body) {
    const Expr most = IntConstant(tiles_.rows);
    if (pads_rows_) {
      Expr first = Variable(nest_.Open("tile", IntConstant(0), rows_, LoopKind::kSerial, tiles_.rows));
      TVMVM_CHECK_OK(
          body(nest_.Let("tile_row", first_row_ + first), nest_.Let("height", Min(most, rows_ - first))));
      nest_.Close();
      return {};
    }
    Expr count = nest_.Let("tiles", FloorDiv(rows_ + most - IntConstant(1), most));
    Expr t = Variable(nest_.Open("tile", IntConstant(0), count));
    Expr first = nest_.Let("tile_first", FloorDiv(t * rows_, count));
    Expr end = nest_.Let("tile_end", FloorDiv((t + IntConstant(1)) * rows_, count));
    Expr height = nest_.Let("height", end - first);
    TVMVM_CHECK_OK(body(nest_.Let("tile_row", first_row_ + first), height));
    nest_.Close();
    return {};
  }

  // Pixels are few at times, as keys are: where one panel holds those that are left, it is enough.
  Status OneTile(const std::set<int>& heights, int panels, const Expr& row, const Expr& height,
                 const Expr& column) {
    const RightForm form = product_.right.form;
    const bool are_pixels = form == RightForm::kRows || form == RightForm::kShared;
    const std::optional<int64_t> columns = product_.columns.constant();
    const bool has_half = !columns || (*columns + kPanelColumns - 1) / kPanelColumns % 2 == 1;
    const bool may_be_few = has_half && form != RightForm::kCoded;
    if (panels != 2 || !(are_pixels || may_be_few)) return TileOf(heights, panels, row, height, column);
    const Expr two = Less(column + IntConstant(kPanelColumns), DimValue(product_.columns));
    nest_.OpenIf(two);
    TVMVM_CHECK_OK(TileOf(heights, 2, row, height, column));
    nest_.Close();
    nest_.OpenIf(Unary(ExprOp::kNot, two));
    // Rows that the highest tile has and this one has not are the last one, so that one height is enough.
    const std::set<int> highest = are_pixels ? heights : std::set<int>{*heights.rbegin()};
    if (highest != heights) last_row_ = nest_.Let("last_row", row + height - IntConstant(1));
    TVMVM_CHECK_OK(TileOf(highest, 1, row, height, column));
    last_row_ = {};
    nest_.Close();
    return {};
  }

  Status TileOf(const std::set<int>& heights, int panels, const Expr& row, const Expr& height, Expr column) {
    if (overlaps_)
      column =
          nest_.Let("begin", Min(column, DimValue(product_.columns) - IntConstant(panels * kPanelColumns)));
    const TileAt at{panels, row, height, column};
    if (product_.range) range_ = product_.range(nest_, at);
    const Expr is_direct = sums_ != 0 || last_row_.valid()
                               ? BoolConstant(false)
                               : IsStoredDirectly(product_, at, overlaps_, pads_rows_ ? tiles_.rows : 1);
    for (int h : heights) {
      bool is_only = heights.size() == 1;
      if (!is_only) nest_.OpenIf(Equal(height, IntConstant(h)));
      TVMVM_CHECK_OK(AddMicroKernel({h, panels}, at, is_direct));
      if (!is_only) nest_.Close();
    }
    if (sums_ == 0)
      return When(Unary(ExprOp::kNot, is_direct), nest_,
                  [&] { return StoreResults(product_, at, tile_, overlaps_, nest_); });
    return StorePart(
        product_,
        {{range_->begin, range_->end}, sums_, first_row_, first_column_, block_panels_ * kPanelColumns}, at,
        tile_, nest_);
  }

  // Computes where the tile's rows begin, once for all heights, where that is not simple.
  void FindRows(const Expr& row, const Expr& height) {
    if (product_.left.gather || product_.left.is_linear) return;
    row_offsets_ =
        nest_.Local("row_offsets", DType::kI64, Memory::kLocal, std::max(tiles_.rows, tiles_.few_rows()));
    Expr r = Variable(nest_.Open("r", IntConstant(0), height));
    Expr offset = nest_.Place(product_.left.offset(nest_, row + r));
    nest_.Add(Store(row_offsets_, r, std::move(offset)));
    nest_.Close();
  }

  // Sums in registers, which are stored directly or go to the tile in memory.
  Status AddMicroKernel(RegisterTile shape, const TileAt& at, const Expr& is_direct) {
    if (product_.right.form == RightForm::kCoded) {
      AddCodedKernel(shape, at.first_row, at.first_column);
      return {};
    }
    MicroKernelOperands operands;
    operands.accumulator = product_.accumulator;
    operands.depth = steps_;
    operands.range = range_;
    const LeftOperand& left = product_.left;
    if (left.gather) operands.has_near_rows = steps_.is_constant();
    if (!left.gather && left.is_linear) operands.has_near_rows = left.pitch.is_constant();
    operands.has_near_rows &= !last_row_.valid();
    SetLeft(shape.rows, at.first_row, &operands);
    SetRight(at.first_column, &operands);
    operands.round_updates = static_cast<int>(product_.schedule.round_updates);
    operands.round_steps = static_cast<int>(product_.schedule.round_steps);
    const uint32_t sums = nest_.Local("sums", product_.accumulator, Memory::kRegisters,
                                      shape.rows * shape.panels * kPanelColumns);
    nest_.Add(MicroKernel(kernel_, operands, shape, lanes_, sums));
    return StoreSums(product_, at, {sums, shape.rows, lanes_, is_direct}, tile_, nest_);
  }

  void AddCodedKernel(RegisterTile shape, const Expr& row, const Expr& column) {
    CodedOperands operands;
    SetLeft(shape.rows, row, &operands);
    operands.layout = product_.right.coded;
    operands.buffers = product_.right.coded_buffers;
    operands.panel =
        nest_.Let("panel", product_.right.base(nest_) + FloorDiv(column, IntConstant(kPanelColumns)));
    nest_.Add(CodedMicroKernel(kernel_, operands, shape, lanes_, tile_));
  }

  template <class Operands>
  void SetLeft(int rows, const Expr& row, Operands* operands) {
    const LeftOperand& left = product_.left;
    bool in_place = !left.gather;
    operands->a_buffer = in_place ? left.buffer : left_scratch_;
    operands->a_dtype = in_place ? left.dtype : step_type_;
    operands->a_step = in_place ? left.step : IntConstant(1);
    for (int r = 0; r < rows; ++r) {
      Expr at = row + IntConstant(r);
      if (last_row_.valid()) at = nest_.Let("at", Min(at, last_row_));
      Expr offset = (at - first_row_) * DimValue(steps_);
      if (in_place && left.is_linear) offset = left.offset(nest_, at);
      if (in_place && !left.is_linear) offset = Load(row_offsets_, DType::kI64, at - row);
      if (range_) offset = offset + range_->begin * operands->a_step;
      operands->a_rows.push_back(nest_.Let("a_row", std::move(offset)));
    }
  }

  void SetRight(const Expr& column, MicroKernelOperands* operands) {
    const RightOperand& right = product_.right;
    operands->b_buffer = IsGathered(right.form) ? right_scratch_ : right.buffer;
    operands->b_dtype = IsGathered(right.form) ? product_.accumulator : right.dtype;
    if (right.form == RightForm::kRows || right.form == RightForm::kShared) {
      Expr base = column - first_column_;
      if (right.form == RightForm::kShared) operands->b_offsets = right_offsets_;
      if (right.form == RightForm::kRows) operands->b_step = IntConstant(GatheredPitch(block_panels_));
      if (range_ && operands->b_step.valid()) base = base + range_->begin * operands->b_step;
      operands->b_base = nest_.Let("b_base", std::move(base));
      operands->b_panel_step = IntConstant(kPanelColumns);
      return;
    }
    if (right.form == RightForm::kInPlace) {
      operands->b_base = nest_.Let("b_base", right.base(nest_) + column);
      operands->b_panel_step = IntConstant(kPanelColumns);
      operands->b_step = right.step;
      return;
    }
    // (column / 16) * panel_size, with column a multiple of 16.
    const bool is_gathered = right.form == RightForm::kGathered || right.form == RightForm::kDigits;
    const Expr steps = range_ && is_gathered ? range_->end - range_->begin : DimValue(steps_);
    Expr base = is_gathered ? (column - first_column_) * steps : right.base(nest_) + column * steps;
    if (range_ && !is_gathered) base = base + range_->begin * IntConstant(kPanelColumns);
    operands->b_base = nest_.Let("b_base", std::move(base));
    operands->b_panel_step = steps * IntConstant(kPanelColumns);
    operands->b_step = IntConstant(kPanelColumns);
  }

  const MatrixProduct& product_;
  const TargetInfo& target_;
  LoopKernel* kernel_;
  Nest& nest_;
  bool pads_rows_ = false;
  int block_panels_ = 0;
  ir::Dim block_rows_;
  TilePlan tiles_;
  int lanes_ = 1;
  bool overlaps_ = false;  // the last group of columns begins where all its columns exist
  ir::Dim row_blocks_;
  ir::Dim steps_;                      // of the depth, as the micro-kernel counts them
  DType step_type_ = DType::kInvalid;  // of one step of a gathered row
  Expr first_row_, rows_, first_column_,
      last_row_;                     // the last one: of tiles less high than what computes them
  std::optional<DepthRange> range_;  // where that is not all of it
  uint32_t tile_ = 0, sums_ = 0, row_offsets_ = 0, left_scratch_ = 0, right_scratch_ = 0, right_offsets_ = 0;
};

}  // namespace

ir::Dim MatrixProduct::packed_elements() const { return PackedPanels(columns) * steps() * kPanelColumns; }

Status BuildMatrixProduct(const MatrixProduct& product, const TargetInfo& target, LoopKernel* kernel) {
  Nest nest(kernel);
  return ProductBuilder(product, target, nest).Build();
}

Status AddMatrixProduct(const MatrixProduct& product, const ProductBlock& block, const TargetInfo& target,
                        Nest& nest) {
  return ProductBuilder(product, target, nest).Add(block);
}

ir::Dim PaddedRows(const ir::Dim& rows) { return rows + kMostTileRows; }

}  // namespace tvmvm::tensor
