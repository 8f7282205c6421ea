// Products of a few rows are bound by reading the right factor: the work-items of a group share the depth of
// a few columns, which makes many groups of short loops.
//
// A work-item takes kChunk neighbours of the depth at a time: what it reads of both factors is on its way
// before the first product is summed. Where a right factor of f16 has its columns side by side, it takes four
// columns at once, and a group takes twice as many. Rows and columns past the edge read the last ones
// instead, and their sums are not written.
#include <algorithm>

#include "compiler/schedules/gpu/schedule_gpu_product.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using Bindings = ProductBuilder::Bindings;

constexpr int kItems = 256;             // of a group
constexpr int kSector = 32;             // bytes that memory gives at once: a group's columns
constexpr int kChunk = 4, kChunks = 2;  // neighbours of the depth, and how many of such at a time
constexpr int kVector = 4;              // neighbours that are read at once
constexpr int kSummedRows = 4;          // at a time, of columns by vectors: what shared memory holds

class ThinProduct {
 public:
  ThinProduct(ProductBuilder& builder, int rows, bool has_vectors)
      : builder_(builder),
        product_(builder.product()),
        nest_(builder.nest()),
        rows_(rows),
        accumulator_(product_.accumulator()),
        depth_(Product(product_.depth())) {
    const ProductParts& parts = builder.parts();
    along_depth_ = product_.MovesAlongDepth(parts, parts.right, product_.columns());
    auto is_vector = [&](const Expr& element, const ProductRole& role) {
      return has_vectors && product_.MovesAlongDepth(parts, element, role) &&
             !product_.HasVectors(parts, element, role).IsConstant(0);
    };
    left_is_vector_ = is_vector(parts.left, product_.rows());
    right_is_vector_ = is_vector(parts.right, product_.columns());
    Expr right = PlainLoad(parts.right);
    bool is_wide = has_vectors && !along_depth_ && right.valid() && right.dtype() == DType::kF16 &&
                   !product_.HasVectors(parts, parts.right, product_.columns()).IsConstant(0);
    if (is_wide) own_ = kVector;
    columns_ = kSector / (is_wide ? 2 : 4);
    slices_ = kItems / (columns_ / own_);
  }

  Status Build() {
    Place();
    sums_ = nest_.Local("sums", accumulator_, Memory::kRegisters, rows_ * own_);
    left_ = nest_.Local("left", accumulator_, Memory::kRegisters, rows_ * kChunk * kChunks);
    right_ = nest_.Local("right", accumulator_, Memory::kRegisters, kChunk * kChunks * own_);
    ForRows(rows_, [&](const Expr& row) {
      ForOwn([&](const Expr& lane) { nest_.Add(Store(sums_, Own(row) + lane, Constant(accumulator_, 0))); });
    });
    Dim chunk = slices_ * kChunk, all = chunk * Dim(kChunks);
    Dim most = FloorDiv(depth_, all) * all, whole = FloorDiv(depth_, chunk) * chunk;
    Sum(0, most, kChunks, kChunk);
    Sum(most, whole, 1, kChunk);
    Sum(whole, depth_, 1, 1);
    return StoreResults();
  }

 private:
  // Where the work-item stands. Neighbouring ones read neighbours in memory.
  void Place() {
    nest_.Grid(0, "columns", CeilDiv(product_.columns().size(), Dim(columns_)));
    Expr block = Variable(nest_.Grid(1, "rows", CeilDiv(product_.rows().size(), Dim(rows_))));
    item_ = builder_.Group(kItems);
    bound_ = builder_.Batch();
    int fast = along_depth_ ? slices_ : columns_ / own_;
    Expr fast_at = nest_.Let("fast", FloorMod(item_, IntConstant(fast)));
    Expr slow_at = nest_.Let("slow", FloorDiv(item_, IntConstant(fast)));
    slice_ = along_depth_ ? fast_at : slow_at;
    mine_ = nest_.Let("mine", Own(along_depth_ ? slow_at : fast_at));
    first_ = nest_.Let("first", Variable(nest_.kernel()->grid[0]) * IntConstant(columns_));
    row_begin_ = rows_ == 1 ? IntConstant(0) : nest_.Let("row_begin", block * IntConstant(rows_));
    columns_bound_ = bound_;
    Dim last = product_.columns().size() - Dim(own_);
    builder_.Bind(product_.columns(), nest_.Let("column", Min(first_ + mine_, DimValue(last))),
                  &columns_bound_);
    for (int row = 0; row < rows_; ++row) {
      rows_bound_.push_back(bound_);
      if (rows_ == 1) {
        for (size_t axis : product_.rows().axes)
          rows_bound_.back().emplace_back(builder_.parts().index[axis], IntConstant(0));
        continue;
      }
      Dim last_row = product_.rows().size() - Dim(1);
      Expr at = nest_.Let("row", Min(row_begin_ + IntConstant(row), DimValue(last_row)));
      builder_.Bind(product_.rows(), at, &rows_bound_.back());
    }
  }

  void ForRows(int count, const std::function<void(const Expr&)>& build) {
    build(Variable(nest_.Open("row", IntConstant(0), IntConstant(count), LoopKind::kUnrolled)));
    nest_.Close();
  }

  // Over the work-item's columns, at once.
  void ForOwn(const std::function<void(const Expr&)>& build) {
    if (own_ == 1) return build(IntConstant(0));
    build(Variable(nest_.Open("lane", IntConstant(0), IntConstant(own_), LoopKind::kVectorized)));
    nest_.Close();
  }

  // The first of so many times its columns.
  Expr Own(const Expr& count) const { return own_ == 1 ? count : count * IntConstant(own_); }

  // Adds the work-item's share of the depth from `begin` to `end`, a multiple of what all take in a step:
  // each `chunks` times `width` neighbours.
  void Sum(const Dim& begin, const Dim& end, int chunks, int width) {
    if (begin == end) return;
    int step = slices_ * width * chunks;
    Expr first = DimValue(begin) + slice_ * IntConstant(width);
    Expr k = Variable(nest_.Open("k", nest_.Let("first", first), DimValue(end), LoopKind::kSerial, step));
    for (int chunk = 0; chunk < chunks; ++chunk) {
      Expr at = nest_.Let("at", k + IntConstant(chunk * slices_ * width));
      ReadRight(chunk * width, at, width);
      for (int row = 0; row < rows_; ++row)
        Read(left_, (chunk * rows_ + row) * width, builder_.parts().left,
             rows_bound_[static_cast<size_t>(row)], at, width, left_is_vector_);
    }
    for (int chunk = 0; chunk < chunks; ++chunk) {
      for (int i = 0; i < width; ++i) {
        ForRows(rows_, [&](const Expr& row) {
          Expr left = (row + IntConstant(chunk * rows_)) * IntConstant(width) + IntConstant(i);
          ForOwn([&](const Expr& lane) {
            Expr right = IntConstant((chunk * width + i) * own_) + lane, sum = Own(row) + lane;
            nest_.Add(Store(sums_, sum,
                            Fma(Load(left_, accumulator_, left), Load(right_, accumulator_, right),
                                Load(sums_, accumulator_, sum))));
          });
        });
      }
    }
    nest_.Close();
  }

  // The right factor's elements of `width` places of the depth and the work-item's columns.
  void ReadRight(int to, const Expr& k, int width) {
    const Expr& right = builder_.parts().right;
    if (own_ == 1) return Read(right_, to, right, columns_bound_, k, width, right_is_vector_);
    for (int i = 0; i < width; ++i) {
      Bindings bound = columns_bound_;
      builder_.Step(k + IntConstant(i), &bound);
      ReadVector(right_, (to + i) * own_, PlainLoad(Substitute(right, bound)), own_);
    }
  }

  // Neighbours in memory.
  void ReadVector(uint32_t registers, int to, const Expr& load, int width) {
    nest_.kernel()->buffers[load->id].access = Access::kReadAligned;
    Expr from = nest_.Place(load->operands[0]);
    Expr lane = Variable(nest_.Open("lane", IntConstant(0), IntConstant(width), LoopKind::kVectorized));
    nest_.Add(Store(registers, IntConstant(to) + lane,
                    Cast(accumulator_, Load(load->id, load.dtype(), from + lane))));
    nest_.Close();
  }

  // Brings `width` elements of a factor, neighbours along the depth from `k` on, into registers.
  void Read(uint32_t registers, int to, const Expr& element, const Bindings& at, const Expr& k, int width,
            bool is_vector) {
    auto element_at = [&](int i) {
      Bindings bound = at;
      builder_.Step(k + IntConstant(i), &bound);
      return Substitute(element, bound);
    };
    if (!is_vector || width == 1) {
      for (int i = 0; i < width; ++i)
        nest_.Add(Store(registers, IntConstant(to + i), nest_.Place(element_at(i))));
      return;
    }
    ReadVector(registers, to, PlainLoad(element_at(0)), width);  // HasVectors: it is one
  }

  Status StoreResults() {
    const int rows = own_ == 1 ? rows_ : std::min(rows_, kSummedRows), across = slices_ * columns_;
    pitch_ = across + columns_;  // spreads the banks
    partials_ = nest_.Local("partials", accumulator_, Memory::kShared, rows * pitch_);
    for (int begin = 0; begin < rows_; begin += rows) {
      if (begin > 0) nest_.Add(Barrier());
      ForRows(rows, [&](const Expr& row) {
        ForOwn([&](const Expr& lane) {
          Expr sum = Load(sums_, accumulator_, Own(row + IntConstant(begin)) + lane);
          nest_.Add(Store(partials_, PartialAt(row, slice_, mine_) + lane, sum));
        });
      });
      nest_.Add(Barrier());
      TVMVM_CHECK_OK(StoreRows(begin, rows));
    }
    return {};
  }

  // Where a partial sum stands in shared memory.
  Expr PartialAt(const Expr& row, const Expr& slice, const Expr& column) const {
    return (row * IntConstant(pitch_) + slice * IntConstant(columns_)) + column;
  }

  // The first work-items sum the slices of an element each.
  Status StoreRows(int begin, int rows) {
    Expr row = rows_ == 1 ? IntConstant(0) : nest_.Let("row", FloorDiv(item_, IntConstant(columns_)));
    Expr mine = rows_ == 1 ? item_ : nest_.Let("mine", FloorMod(item_, IntConstant(columns_)));
    Expr column = nest_.Let("column", first_ + mine);
    Expr exists =
        And(Less(item_, IntConstant(rows * columns_)), Less(column, DimValue(product_.columns().size())));
    Expr whole_row = nest_.Let("row", row_begin_ + row + IntConstant(begin));
    nest_.OpenIf(rows_ == 1 ? exists : And(exists, Less(whole_row, DimValue(product_.rows().size()))));
    uint32_t total = nest_.Local("total", accumulator_, Memory::kRegisters, 1);
    Expr zero = IntConstant(0);
    nest_.Add(Store(total, zero, Constant(accumulator_, 0)));
    Expr slice = Variable(nest_.Open("slice", zero, IntConstant(slices_), LoopKind::kUnrolled));
    nest_.Add(
        Store(total, zero,
              Load(total, accumulator_, zero) + Load(partials_, accumulator_, PartialAt(row, slice, mine))));
    nest_.Close();
    Bindings bound = bound_;
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
  Dim depth_;
  bool along_depth_ = false;  // neighbours of the right factor are neighbours along the depth
  bool left_is_vector_ = false, right_is_vector_ = false;  // along the depth
  int own_ = 1;                                            // columns of a work-item
  int columns_ = 0, slices_ = 0;                           // of a group: columns, and shares of the depth
  int pitch_ = 0;                                          // of rows of partial sums
  Expr item_, slice_, mine_, first_, row_begin_;
  uint32_t sums_ = 0, left_ = 0, right_ = 0, partials_ = 0;
  Bindings bound_, columns_bound_;  // coordinates of the batch, and those of the work-item's column
  std::vector<Bindings> rows_bound_;
};

}  // namespace

Status BuildThinProduct(ProductBuilder& builder, int rows, bool has_vectors) {
  return ThinProduct(builder, rows, has_vectors).Build();
}

}  // namespace tvmvm::tensor
