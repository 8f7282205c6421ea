// Few rows times columns that lie side by side along the depth (the scores of one query against a cache of
// keys): each element is a dot product, and the right operand is read once where it lies.
#include <functional>

#include "compiler/schedules/cpu/left_rows.h"
#include "compiler/schedules/packing.h"

namespace tvmvm::tensor {
namespace {

constexpr int kLanes = static_cast<int>(kPanelColumns);

class DotBuilder {
 public:
  DotBuilder(const MatrixProduct& product, Nest& nest)
      : product_(product), nest_(nest), dtype_(product.accumulator) {
    whole_ = FloorDiv(product.depth, kLanes) * kLanes;
  }

  ir::Dim blocks() const { return CeilDiv(product_.columns, product_.dots.block_panels * kPanelColumns); }

  // All rows of one block of columns.
  Status Block(const Expr& block) {
    int64_t width = product_.dots.block_panels * kPanelColumns;
    base_ = nest_.Let("base", product_.right.base(nest_));
    left_buffer_ = product_.left.gather ? GatherRows() : product_.left.buffer;
    Expr panel = Variable(nest_.Open("panel", IntConstant(0), IntConstant(product_.dots.block_panels)));
    Expr column = nest_.Let("column", block * IntConstant(width) + panel * IntConstant(kPanelColumns));
    nest_.OpenIf(Less(column, DimValue(product_.columns)));
    Expr row = Variable(nest_.Open("row", IntConstant(0), DimValue(product_.rows)));
    left_ = nest_.Let(
        "left", product_.left.gather ? row * DimValue(product_.depth) : product_.left.offset(nest_, row));
    tile_ = nest_.Local("tile", dtype_, Memory::kLocal, kPanelColumns);
    Expr j = Variable(nest_.Open("j", IntConstant(0), IntConstant(kPanelColumns), LoopKind::kSerial,
                                 product_.dots.columns_at_once));
    Dots(column, j);
    nest_.Close();
    TVMVM_CHECK_OK(StorePanel(row, column));
    for (int i = 0; i < 3; ++i) nest_.Close();
    return {};
  }

 private:
  // All rows, side by side in scratch.
  uint32_t GatherRows() {
    const uint32_t rows = nest_.Scratch("rows", dtype_, product_.rows * product_.depth);
    tensor::GatherRows(nest_, product_.left, IntConstant(0), DimValue(product_.rows), rows, product_.depth);
    return rows;
  }

  static Expr SumIndex(int64_t i) { return Ramp(IntConstant(i * kLanes), IntConstant(1), kLanes); }

  // Columns column + j and the three after it; one that does not exist repeats the last.
  void Dots(const Expr& column, const Expr& j) {
    uint32_t sums = nest_.Local("sums", dtype_, Memory::kRegisters, product_.dots.columns_at_once * kLanes);
    std::vector<Expr> right;
    for (int64_t i = 0; i < product_.dots.columns_at_once; ++i) {
      Expr existing = Min(column + j + IntConstant(i), DimValue(product_.columns - 1));
      right.push_back(nest_.Let("right", base_ + existing * product_.right.step));
      nest_.Add(Store(sums, SumIndex(i), Broadcast(Constant(dtype_, 0), kLanes)));
    }
    auto add_products = [&](const auto& read, const std::function<Expr(int64_t)>& sum) {
      Expr a = nest_.Let("a", read(left_buffer_, left_));
      for (int64_t i = 0; i < product_.dots.columns_at_once; ++i)
        nest_.Add(
            Store(sums, sum(i), Fma(a, read(product_.right.buffer, right[i]), Load(sums, dtype_, sum(i)))));
    };
    if (!whole_.IsConstant(0)) {
      Expr k = Variable(nest_.Open("k", IntConstant(0), DimValue(whole_), LoopKind::kSerial, kLanes));
      auto vector = [&](uint32_t buffer, const Expr& at) {
        return Load(buffer, dtype_, Ramp(at + k, IntConstant(1), kLanes));
      };
      add_products(vector, SumIndex);
      nest_.Close();
    }
    if (!(whole_ == product_.depth)) {
      nest_.OpenIf(Less(DimValue(whole_), DimValue(product_.depth)));
      Expr lane = Variable(nest_.Open("lane", IntConstant(0), IntConstant(kLanes), LoopKind::kVectorized));
      Expr k = DimValue(whole_) + lane, exists = Less(k, DimValue(product_.depth));
      auto masked = [&](uint32_t buffer, const Expr& at) {
        return Select(exists, Load(buffer, dtype_, at + k), Constant(dtype_, 0));
      };
      add_products(masked, [&](int64_t i) { return IntConstant(i * kLanes) + lane; });
      nest_.Close();
      nest_.Close();
    }
    for (int64_t i = 0; i < product_.dots.columns_at_once; ++i)
      nest_.Add(Store(tile_, j + IntConstant(i), Unary(ExprOp::kReduceAdd, Load(sums, dtype_, SumIndex(i)))));
  }

  Status StorePanel(const Expr& row, const Expr& column) {
    bool has_tail = !FloorMod(product_.columns, kPanelColumns).IsConstant(0);
    Expr j = Variable(nest_.Open("j", IntConstant(0), IntConstant(kPanelColumns), LoopKind::kVectorized));
    if (has_tail) nest_.OpenIf(Less(column + j, DimValue(product_.columns)));
    TVMVM_CHECK_OK(product_.store(nest_, row, column + j, Load(tile_, dtype_, j)));
    if (has_tail) nest_.Close();
    nest_.Close();
    return {};
  }

  const MatrixProduct& product_;
  Nest& nest_;
  DType dtype_;
  ir::Dim whole_;
  Expr base_, left_;
  uint32_t left_buffer_ = 0, tile_ = 0;
};

}  // namespace

Status BuildDotProducts(const MatrixProduct& product, LoopKernel* kernel) {
  Nest nest(kernel);
  DotBuilder builder(product, nest);
  Expr block = Variable(nest.Grid(0, "column_block", builder.blocks()));
  nest.Grid(1, "unused", 1);
  Expr batch = Variable(nest.Grid(2, "batch", product.batch));
  if (product.begin) product.begin(nest, batch);
  TVMVM_CHECK_OK(builder.Block(block));
  kernel->flops = product.batch * product.rows * product.columns * product.depth * 2;
  kernel->body = nest.Finish();
  return {};
}

Status AddDotProducts(const MatrixProduct& product, Nest& nest) {
  DotBuilder builder(product, nest);
  Expr block = Variable(nest.Open("column_block", IntConstant(0), DimValue(builder.blocks())));
  TVMVM_CHECK_OK(builder.Block(block));
  nest.Close();
  return {};
}

}  // namespace tvmvm::tensor
