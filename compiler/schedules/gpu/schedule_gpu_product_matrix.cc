// A tile of a product of f16 factors by one work-group of a device with matrices.
//
// As schedule_gpu_product_tile.cc has it, slices of both factors go through shared memory, two of each, the
// next one on its way in registers while one is multiplied. Here they stay f16, eight elements at a time, in
// the order that memory has them: matrices are loaded by rows or by columns. Each 32 work-items of the group
// sum a part of the tile in matrices, which at the end go through shared memory to whoever writes the
// elements.
#include <algorithm>
#include <functional>

#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"
#include "compiler/schedules/gpu/schedule_gpu_product.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using Bindings = ProductBuilder::Bindings;

constexpr int kFour = 4, kEight = 8;  // elements that move at once: 8 and 16 bytes
constexpr int kDepth = 32;            // of a slice
constexpr int kPadding = 8;           // elements behind each row of a slice: spreads the banks
constexpr int kMatrixElements = kMatrixSide * kMatrixSide;

// How the tile is divided among those who hold matrices together.
struct Division {
  int rows, columns;  // of the tile
  int down, across;   // parts
};
constexpr Division kDivisions[] = {{128, 128, 2, 4}, {64, 64, 2, 2}, {32, 32, 1, 2}};

const Division* DivisionOf(const ProductTile& tile) {
  auto found = std::find_if(std::begin(kDivisions), std::end(kDivisions), [&](const Division& d) {
    return d.rows == tile.rows && d.columns == tile.columns;
  });
  return found == std::end(kDivisions) ? nullptr : found;
}

// A factor's element as the f16 number that it is; invalid where it is none.
Expr AsHalf(const Expr& element) {
  if (element.dtype() == DType::kF16) return element;
  if (element.op() == ExprOp::kCast && element->operands[0].dtype() == DType::kF16)
    return element->operands[0];
  if (element.op() == ExprOp::kConstant && element->number == 0) return Constant(DType::kF16, 0);
  if (element.op() != ExprOp::kSelect) return {};
  Expr a = AsHalf(element->operands[1]), b = AsHalf(element->operands[2]);
  return a.valid() && b.valid() ? Select(element->operands[0], a, b) : Expr();
}

// One factor's slice, and the share of it that each work-item brings: `parts` times eight elements.
struct Slice {
  Expr element;
  const ProductRole* role = nullptr;
  int extent = 0;            // rows or columns of the tile
  bool along_depth = false;  // neighbours in memory are neighbours along the depth
  int vector = 1;            // elements that are read at once
  int parts = 0;
  uint32_t shared = 0, registers = 0;
  Expr fast;                  // the first of the work-item's elements along the axis of neighbours
  std::vector<Expr> slow;     // by part: along the other axis
  std::vector<Bindings> at;   // by part and element: the role's coordinates, kept within the edge
  std::vector<Expr> targets;  // by part: where the first element goes in a half of the shared memory

  int Stride() const { return (along_depth ? kDepth : extent) + kPadding; }
  int Half() const { return (along_depth ? extent : kDepth) * Stride(); }
  // Position along the depth, within the slice.
  Expr Along(int part, int i) const {
    return along_depth ? fast + IntConstant(i) : slow[static_cast<size_t>(part)];
  }
  const Bindings& At(int part, int i) const { return at[static_cast<size_t>(part * kEight + i)]; }
};

class MatrixProduct {
 public:
  MatrixProduct(ProductBuilder& builder, const Division& division, bool has_vectors,
                const DepthShares* shares)
      : builder_(builder),
        product_(builder.product()),
        nest_(builder.nest()),
        division_(division),
        has_vectors_(has_vectors),
        shares_(shares),
        rows_(division.rows / division.down / kMatrixSide),
        columns_(division.columns / division.across / kMatrixSide),
        items_(division.down * division.across * kMatrixItems),
        depth_(Product(product_.depth())) {}

  Status Build() {
    BindTile();
    left_ = MakeSlice("left", builder_.parts().left, product_.rows(), division_.rows, row_begin_);
    right_ = MakeSlice("right", builder_.parts().right, product_.columns(), division_.columns, column_begin_);
    sums_ = nest_.Local("sums", DType::kF32, Memory::kMatrixSum, rows_ * columns_ * kMatrixElements);
    a_ = nest_.Local("a", DType::kF16, Memory::kMatrixLeft, rows_ * kMatrixElements);
    b_ = nest_.Local("b", DType::kF16, Memory::kMatrixRight, columns_ * kMatrixElements);
    Unrolled(rows_ * columns_, [&](const Expr& i) { nest_.Add(MatrixZero(sums_, i)); });
    nest_.OpenIf(Less(range_.begin, range_.end));
    Read(range_.begin);
    Write(IntConstant(0));
    nest_.Close();
    nest_.Add(Barrier());
    Expr last = LastSlice();
    Expr k = Variable(nest_.Open("k", range_.begin, range_.end, LoopKind::kSerial, kDepth));
    // Behind the last slice it is read again.
    Expr next = nest_.Let("next", Min(k + IntConstant(kDepth), last));
    Expr number = FloorDiv(k - range_.begin, IntConstant(kDepth));
    Expr half = nest_.Let("half", FloorMod(number, IntConstant(2)));
    Read(next);
    Multiply(half);
    Write(IntConstant(1) - half);
    nest_.Add(Barrier());
    nest_.Close();
    return StoreTile();
  }

 private:
  // Where the last slice begins: shares begin where slices do.
  Expr LastSlice() const {
    Dim last = FloorDiv(depth_ - Dim(1), Dim(kDepth)) * Dim(kDepth);
    if (shares_ == nullptr) return DimValue(last);
    return nest_.Let("last", Min(range_.begin + DimValue(shares_->size - Dim(kDepth)), DimValue(last)));
  }

  void Unrolled(int count, const std::function<void(const Expr&)>& build) {
    build(Variable(nest_.Open("part", IntConstant(0), IntConstant(count), LoopKind::kUnrolled)));
    nest_.Close();
  }

  void BindTile() {
    Expr gx = Variable(nest_.Grid(0, "tile_x", CeilDiv(product_.columns().size(), Dim(division_.columns))));
    Expr gy = Variable(nest_.Grid(1, "tile_y", CeilDiv(product_.rows().size(), Dim(division_.rows))));
    item_ = builder_.Group(items_);
    range_ = builder_.Depth(shares_);
    holder_ = nest_.Let("holder", FloorDiv(item_, IntConstant(kMatrixItems)));
    lane_ = nest_.Let("lane", FloorMod(item_, IntConstant(kMatrixItems)));
    Expr across = IntConstant(division_.across);
    down_ = nest_.Let("down", FloorDiv(holder_, across) * IntConstant(rows_ * kMatrixSide));
    across_ = nest_.Let("across", FloorMod(holder_, across) * IntConstant(columns_ * kMatrixSide));
    row_begin_ = nest_.Let("row", gy * IntConstant(division_.rows));
    column_begin_ = nest_.Let("column", gx * IntConstant(division_.columns));
  }

  Slice MakeSlice(const char* name, const Expr& element, const ProductRole& role, int extent,
                  const Expr& begin) {
    Slice slice;
    slice.element = AsHalf(element);
    slice.role = &role;
    slice.extent = extent;
    slice.along_depth = product_.MovesAlongDepth(builder_.parts(), element, role);
    slice.vector = VectorOf(element, role);
    slice.parts = extent * kDepth / (items_ * kEight);
    slice.shared = nest_.Local(name, DType::kF16, Memory::kShared, 2 * slice.Half());
    slice.registers =
        nest_.Local(std::string("next_") + name, DType::kF16, Memory::kRegisters, slice.parts * kEight);
    int units = (slice.along_depth ? kDepth : extent) / kEight;
    slice.fast = nest_.Let("fast", FloorMod(item_, IntConstant(units)) * IntConstant(kEight));
    Expr slow = nest_.Let("slow", FloorDiv(item_, IntConstant(units)));
    for (int part = 0; part < slice.parts; ++part) {
      Expr here = slow + IntConstant(part * (items_ / units));
      slice.slow.push_back(here);
      PlaceElements(&slice, begin, slice.along_depth ? here : slice.fast);
      slice.targets.push_back(nest_.Let("target", here * IntConstant(slice.Stride()) + slice.fast));
    }
    return slice;
  }

  // By eights where the sizes are known to allow it.
  int VectorOf(const Expr& element, const ProductRole& role) const {
    auto fits = [&](int count) { return product_.HasVectors(builder_.parts(), element, role, count); };
    if (!has_vectors_ || fits(kFour).IsConstant(0)) return 1;
    return fits(kEight).IsConstant(1) ? kEight : kFour;
  }

  // Coordinates of a part's elements, of which the first stands `at` places behind the tile's begin; those of
  // the last ones where that is past the edge.
  void PlaceElements(Slice* slice, const Expr& begin, const Expr& at) {
    Dim size = slice->role->size();
    auto constant = size.constant();
    bool is_whole = constant && *constant % slice->extent == 0;
    auto within = [&](const Expr& position, int count) {
      return is_whole ? position : Min(position, DimValue(size) - IntConstant(count));
    };
    Expr first = nest_.Let("position", slice->along_depth ? within(begin + at, 1) : begin + at), vector;
    for (int i = 0; i < kEight; ++i) {
      if (slice->along_depth && i > 0) {
        slice->at.push_back(slice->at.back());
        continue;
      }
      int lane = i % slice->vector;
      if (lane == 0)
        vector =
            slice->along_depth ? first : nest_.Let("vector", within(first + IntConstant(i), slice->vector));
      slice->at.push_back(range_.batch);
      builder_.Bind(*slice->role, nest_.Let("position", vector + IntConstant(lane)), &slice->at.back());
    }
  }

  // Reads the work-item's share of the slices from `k` on into registers.
  void Read(const Expr& k) {
    auto constant = depth_.constant();
    bool is_whole = constant && *constant % kDepth == 0;
    Expr fits = LessEqual(k + IntConstant(kDepth), range_.end);
    auto whole = [&](const Expr& at) {
      for (Slice* slice : {&left_, &right_}) ReadWhole(*slice, at);
    };
    auto rest = [&](const Expr& at) {
      for (Slice* slice : {&left_, &right_}) ReadRest(*slice, at);
    };
    builder_.Read(k, fits, is_whole, whole, rest);
  }

  void ReadWhole(Slice& slice, const Expr& k) {
    for (int part = 0; part < slice.parts; ++part) {
      for (int i = 0; i < kEight; i += slice.vector) {
        Expr to = IntConstant(part * kEight + i), element = ElementAt(slice, part, i, k);
        if (slice.vector == 1) {
          nest_.Add(Store(slice.registers, to, nest_.Place(element)));
          continue;
        }
        nest_.kernel()->buffers[element->id].access = Access::kReadAligned;  // HasVectors: a load
        Expr from = nest_.Place(element->operands[0]);
        Expr lane =
            Variable(nest_.Open("lane", IntConstant(0), IntConstant(slice.vector), LoopKind::kVectorized));
        nest_.Add(Store(slice.registers, to + lane, Load(element->id, DType::kF16, from + lane)));
        nest_.Close();
      }
    }
  }

  void ReadRest(Slice& slice, const Expr& k) {
    for (int part = 0; part < slice.parts; ++part) {
      for (int i = 0; i < kEight; ++i) {
        Expr inside = Less(k + slice.Along(part, i), range_.end);
        Expr element = ElementOrZero(ElementAt(slice, part, i, k), inside);
        nest_.Add(Store(slice.registers, IntConstant(part * kEight + i), nest_.Place(element)));
      }
    }
  }

  Expr ElementAt(Slice& slice, int part, int i, const Expr& k) {
    return builder_.ElementAt(slice.element, slice.At(part, i), slice.Along(part, i), k);
  }

  // Puts the work-item's share into a half of the shared memory.
  void Write(const Expr& half) {
    for (Slice* slice : {&left_, &right_}) {
      Expr begin = nest_.Let("begin", half * IntConstant(slice->Half()));
      for (int part = 0; part < slice->parts; ++part) {
        Expr to = begin + slice->targets[static_cast<size_t>(part)];
        Expr lane = Variable(nest_.Open("lane", IntConstant(0), IntConstant(kEight), LoopKind::kVectorized));
        nest_.Add(Store(slice->shared, to + lane,
                        Load(slice->registers, DType::kF16, IntConstant(part * kEight) + lane)));
        nest_.Close();
      }
    }
  }

  void Multiply(const Expr& half) {
    Expr left = nest_.Let("left", half * IntConstant(left_.Half()));
    Expr right = nest_.Let("right", half * IntConstant(right_.Half()));
    for (int step = 0; step < kDepth; step += kMatrixSide) {
      // Where a matrix begins that is `at` places along the role.
      auto place = [&](const Slice& slice, const Expr& begin, const Expr& at) {
        int by_role = slice.along_depth ? slice.Stride() : 1,
            by_depth = slice.along_depth ? 1 : slice.Stride();
        return begin + at * IntConstant(by_role) + IntConstant(step * by_depth);
      };
      auto at = [](const Expr& begin, const Expr& i) { return begin + i * IntConstant(kMatrixSide); };
      Unrolled(rows_, [&](const Expr& i) {
        nest_.Add(MatrixLoad(a_, i, left_.shared, place(left_, left, at(down_, i)), left_.Stride(),
                             !left_.along_depth));
      });
      Unrolled(columns_, [&](const Expr& j) {
        nest_.Add(MatrixLoad(b_, j, right_.shared, place(right_, right, at(across_, j)), right_.Stride(),
                             right_.along_depth));
      });
      Unrolled(rows_, [&](const Expr& i) {
        Unrolled(columns_, [&](const Expr& j) {
          nest_.Add(MatrixMultiply(sums_, i * IntConstant(columns_) + j, a_, i, b_, j));
        });
      });
    }
  }

  Status StoreTile() {
    const ProductRole& columns = product_.columns();
    // Vectors of columns end before the edge.
    auto count = columns.sizes.empty() ? std::optional<int64_t>() : columns.sizes.back().constant();
    constexpr int kVector = 4;
    bool has_vectors = (count && *count % kVector == 0) || (right_.vector > 1 && !right_.along_depth);
    int width = has_vectors ? kVector : 1;
    uint32_t results =
        nest_.Local("results", DType::kF32, Memory::kShared, items_ / kMatrixItems * kMatrixElements);
    Expr mine = nest_.Let("mine", holder_ * IntConstant(kMatrixElements));
    Expr i = Variable(nest_.Open("i", IntConstant(0), IntConstant(rows_), LoopKind::kUnrolled));
    Expr j = Variable(nest_.Open("j", IntConstant(0), IntConstant(columns_), LoopKind::kUnrolled));
    nest_.Add(MatrixStore(results, mine, kMatrixSide, sums_, i * IntConstant(columns_) + j));
    nest_.Add(Barrier());
    Status status = StoreMatrix(results, mine, i, j, width);
    nest_.Add(Barrier());
    nest_.Close();
    nest_.Close();
    return status;
  }

  Status StoreMatrix(uint32_t results, const Expr& mine, const Expr& i, const Expr& j, int width) {
    auto variable = [&](const char* name, int count, LoopKind kind) {
      return Variable(nest_.Open(name, IntConstant(0), IntConstant(count), kind));
    };
    Expr part = variable("part", kMatrixElements / kMatrixItems / width, LoopKind::kUnrolled);
    Expr first = nest_.Let("first", (part * IntConstant(kMatrixItems) + lane_) * IntConstant(width));
    auto along = [&](const Expr& begin, const Expr& matrix, const Expr& within) {
      return begin + (matrix * IntConstant(kMatrixSide) + within);
    };
    Expr row = nest_.Let("row", along(row_begin_ + down_, i, FloorDiv(first, IntConstant(kMatrixSide))));
    Expr column =
        nest_.Let("column", along(column_begin_ + across_, j, FloorMod(first, IntConstant(kMatrixSide))));
    Expr is_inside = And(IsInside(row, product_.rows().size(), division_.rows),
                         IsInside(column, product_.columns().size(), division_.columns));
    bool is_edge = !IsConstant(is_inside);
    if (is_edge) nest_.OpenIf(is_inside);
    Expr lane = width > 1 ? variable("lane", width, LoopKind::kVectorized) : IntConstant(0);
    Bindings bound = range_.batch;
    builder_.Bind(product_.rows(), row, &bound);
    builder_.Bind(product_.columns(), column + lane, &bound);
    Expr sum = Load(results, DType::kF32, mine + first + lane);
    if (shares_ != nullptr) builder_.StorePartial(range_.layer, row, column + lane, sum);
    if (shares_ == nullptr) TVMVM_CHECK_OK(builder_.StoreElement(bound, sum));
    for (int open = 1 + (is_edge ? 1 : 0) + (width > 1 ? 1 : 0); open > 0; --open) nest_.Close();
    return {};
  }

  ProductBuilder& builder_;
  const GpuProduct& product_;
  Nest& nest_;
  const Division& division_;
  bool has_vectors_;
  const DepthShares* shares_;
  int rows_, columns_;  // matrices of sums that 32 work-items hold
  int items_;
  Dim depth_;
  Expr item_, holder_, lane_, down_, across_, row_begin_, column_begin_;
  ProductBuilder::Range range_;
  Slice left_, right_;
  uint32_t sums_ = 0, a_ = 0, b_ = 0;
};

}  // namespace

bool HasHalves(const GpuProduct& product) {
  if (product.accumulator() != DType::kF32 || product.depth().empty()) return false;
  LoopKernel draft;
  InputReader reader(product.group(), {}, &draft);
  ProductParts parts = product.Expand(&draft, reader);
  return AsHalf(parts.left).valid() && AsHalf(parts.right).valid();
}

int MatrixLoopStep() { return kDepth; }

Status BuildProductMatrix(ProductBuilder& builder, const ProductTile& tile, bool has_vectors,
                          const DepthShares* shares) {
  const Division* division = DivisionOf(tile);
  if (division == nullptr) return MakeError(Code::kInternal, "a tile that has no form by matrices");
  return MatrixProduct(builder, *division, has_vectors, shares).Build();
}

}  // namespace tvmvm::tensor
