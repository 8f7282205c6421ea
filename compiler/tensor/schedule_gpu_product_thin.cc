// Products of a few rows are bound by reading the right factor: the work-items of a group share the depth of
// a few columns, which makes many groups of short loops.
#include "compiler/tensor/schedule_gpu_product.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;

constexpr int kItems = 256;  // of a group
constexpr int kColumns = 8;  // of a group: what one sector of memory holds

class ThinProduct {
 public:
  ThinProduct(ProductBuilder& builder, int rows)
      : builder_(builder),
        product_(builder.product()),
        nest_(builder.nest()),
        rows_(rows),
        accumulator_(product_.accumulator()) {
    along_depth_ = product_.MovesAlongDepth(builder.parts(), builder.parts().right, product_.columns());
  }

  Status Build() {
    nest_.Grid(0, "columns", CeilDiv(product_.columns().size(), Dim(columns_)));
    Expr block = Variable(nest_.Grid(1, "rows", CeilDiv(product_.rows().size(), Dim(rows_))));
    item_ = builder_.Group(kItems);
    bound_ = builder_.Batch();
    // Neighbouring work-items read neighbours in memory.
    int fast = along_depth_ ? slices_ : columns_;
    Expr fast_at = nest_.Let("fast", FloorMod(item_, IntConstant(fast)));
    Expr slow_at = nest_.Let("slow", FloorDiv(item_, IntConstant(fast)));
    slice_ = along_depth_ ? fast_at : slow_at;
    mine_ = along_depth_ ? slow_at : fast_at;
    first_ = nest_.Let("first", Variable(nest_.kernel()->grid[0]) * IntConstant(columns_));
    row_begin_ = rows_ == 1 ? IntConstant(0) : nest_.Let("row_begin", block * IntConstant(rows_));
    uint32_t sums = nest_.Local("sums", accumulator_, Memory::kRegisters, rows_);
    ForRows([&](const Expr& row) { nest_.Add(Store(sums, row, Constant(accumulator_, 0))); });
    Sum(sums);
    partials_ = nest_.Local("partials", accumulator_, Memory::kShared, rows_ * kItems);
    ForRows([&](const Expr& row) {
      Expr at = (row * IntConstant(slices_) + slice_) * IntConstant(columns_) + mine_;
      nest_.Add(Store(partials_, at, Load(sums, accumulator_, row)));
    });
    nest_.Add(Barrier());
    return StoreResults();
  }

 private:
  void ForRows(const std::function<void(const Expr&)>& build) {
    build(Variable(nest_.Open("row", IntConstant(0), IntConstant(rows_), LoopKind::kUnrolled)));
    nest_.Close();
  }

  // The work-item's share of the depth of its column, for every row.
  void Sum(uint32_t sums) {
    nest_.OpenIf(Less(first_ + mine_, DimValue(product_.columns().size())));
    ProductBuilder::Bindings bound = bound_;
    builder_.Bind(product_.columns(), first_ + mine_, &bound);
    Expr k =
        Variable(nest_.Open("k", slice_, DimValue(Product(product_.depth())), LoopKind::kSerial, slices_));
    size_t steps = bound.size();
    builder_.Step(k, &bound);
    for (; steps < bound.size(); ++steps) bound[steps].second = nest_.Let("step", bound[steps].second);
    Expr right = nest_.Let("right", nest_.Place(Substitute(builder_.parts().right, bound)));
    ForRows([&](const Expr& row) {
      if (rows_ > 1) nest_.OpenIf(Less(row_begin_ + row, DimValue(product_.rows().size())));
      ProductBuilder::Bindings here = bound;
      std::vector<Expr> coordinates = Unflatten(row_begin_ + row, product_.rows().sizes);
      for (size_t i = 0; i < product_.rows().axes.size(); ++i)
        here.emplace_back(builder_.parts().index[product_.rows().axes[i]],
                          rows_ == 1 ? IntConstant(0) : coordinates[i]);
      Expr sum = Fma(Substitute(builder_.parts().left, here), right, Load(sums, accumulator_, row));
      nest_.Add(Store(sums, row, nest_.Place(sum)));
      if (rows_ > 1) nest_.Close();
    });
    nest_.Close();
    nest_.Close();
  }

  // The first work-items sum the slices of an element each.
  Status StoreResults() {
    Expr row = rows_ == 1 ? IntConstant(0) : nest_.Let("row", FloorDiv(item_, IntConstant(columns_)));
    Expr mine = rows_ == 1 ? item_ : nest_.Let("mine", FloorMod(item_, IntConstant(columns_)));
    Expr column = nest_.Let("column", first_ + mine);
    Expr exists =
        And(Less(item_, IntConstant(rows_ * columns_)), Less(column, DimValue(product_.columns().size())));
    Expr whole_row = nest_.Let("row", row_begin_ + row);
    nest_.OpenIf(rows_ == 1 ? exists : And(exists, Less(whole_row, DimValue(product_.rows().size()))));
    uint32_t total = nest_.Local("total", accumulator_, Memory::kRegisters, 1);
    Expr zero = IntConstant(0);
    nest_.Add(Store(total, zero, Constant(accumulator_, 0)));
    Expr slice = Variable(nest_.Open("slice", zero, IntConstant(slices_)));
    Expr at = (row * IntConstant(slices_) + slice) * IntConstant(columns_) + mine;
    nest_.Add(Store(total, zero, Load(total, accumulator_, zero) + Load(partials_, accumulator_, at)));
    nest_.Close();
    ProductBuilder::Bindings bound = bound_;
    if (rows_ > 1) builder_.Bind(product_.rows(), whole_row, &bound);
    builder_.Bind(product_.columns(), column, &bound);
    TVMVM_CHECK_OK(builder_.StoreElement(bound, Load(total, accumulator_, zero)));
    nest_.Close();
    return {};
  }

  ProductBuilder& builder_;
  const GpuProduct& product_;
  Nest& nest_;
  int rows_;
  DType accumulator_;
  bool along_depth_ = false;
  static constexpr int columns_ = kColumns, slices_ = kItems / kColumns;
  Expr item_, slice_, mine_, first_, row_begin_;
  uint32_t partials_ = 0;
  ProductBuilder::Bindings bound_;  // the batch's coordinates
};

}  // namespace

Status BuildThinProduct(ProductBuilder& builder, int rows) { return ThinProduct(builder, rows).Build(); }

}  // namespace tvmvm::tensor
