// A tile of a product's result by one work-group.
//
// Along the depth the group brings slices of both factors into shared memory, from where every work-item sums
// a small tile in registers. There is room for two slices: while one is multiplied, the next is on its way
// from memory into registers, and then goes to the other half, so one barrier a step is enough. A turn of the
// loop takes both halves: then addresses in shared memory are numbers.
//
// Several parties of work-items may share a tile: each takes its turn at the slices, and in the end one adds
// up what all have summed. That keeps a device busy where there are few tiles.
//
// Rows and columns past the edge read the last ones instead, and their sums are not written; what is past the
// end of the depth is 0, which only the last slice has to ask. Addresses are computed once: in the loop they
// move by a multiple of the depth.
#include <algorithm>
#include <bit>
#include <functional>

#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"
#include "compiler/schedules/gpu/schedule_gpu_product.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using Bindings = ProductBuilder::Bindings;

constexpr int kVector = 4;  // elements that move at once
constexpr int kPadding =
    4;                      // of rows in shared memory that are written down their columns: spreads the banks
constexpr int kLanes = 32;  // neighbouring work-items that run together

// One factor's slice, and the share of it that each work-item brings: `parts` times `vector` elements.
struct Slice {
  Expr element;
  const ProductRole* role = nullptr;
  int extent = 0;            // rows or columns of the tile
  int depth = 0;             //
  int stride = 0;            // in shared memory, [2][depth][stride]
  bool along_depth = false;  // neighbours in memory are neighbours along the depth
  int vector = 1;            // elements that are read at once
  int parts = 0;
  uint32_t shared = 0, registers = 0;
  Expr fast;                  // the first of the work-item's elements along the axis of neighbours
  std::vector<Expr> slow;     // by part: along the other axis
  std::vector<Bindings> at;   // by part and element: the role's coordinates, kept within the edge
  std::vector<Expr> targets;  // by part: where the first element goes in a half of the shared memory

  int Half() const { return depth * stride; }
  // Position along the depth, within the slice.
  Expr Along(int part, int element_of_part) const {
    if (!along_depth) return slow[static_cast<size_t>(part)];
    return fast + IntConstant(element_of_part);
  }
  const Bindings& At(int part, int element_of_part) const {
    return at[static_cast<size_t>(part * vector + element_of_part)];
  }
};

}  // namespace

bool IsPossible(const ProductTile& tile) {
  for (int size : {tile.rows, tile.columns, tile.depth, tile.lanes_across, tile.parties})
    if (size < 1 || !std::has_single_bit(static_cast<unsigned>(size))) return false;
  for (int size : {tile.item_rows, tile.item_columns})
    if (size < kVector || !std::has_single_bit(static_cast<unsigned>(size))) return false;
  int items = tile.items(), lanes = std::min(kLanes, items), down = lanes / tile.lanes_across;
  bool has_lanes = down > 0 && tile.lanes_across <= tile.items_across() && down <= tile.items_down();
  bool has_parts = std::max({tile.rows, tile.columns, tile.depth}) <= items &&
                   std::min(tile.rows, tile.columns) * tile.depth >= items;
  return has_lanes && has_parts;
}

bool IsPossibleEverywhere(const ProductTile& tile) {
  constexpr int64_t kBytes = 4, kSharedBytes = 32 << 10, kMostItems = 256;
  const int64_t slices = 2 * tile.depth * (tile.rows + tile.columns + 2 * kPadding) * tile.parties;
  const int64_t partials = (tile.parties - 1) * tile.rows * tile.columns;
  return IsPossible(tile) && tile.items() * tile.parties <= kMostItems &&
         (slices + partials) * kBytes <= kSharedBytes;
}

namespace {

class TileProduct {
 public:
  TileProduct(ProductBuilder& builder, const ProductTile& tile, bool has_vectors, const DepthShares* shares)
      : builder_(builder),
        product_(builder.product()),
        nest_(builder.nest()),
        tile_(tile),
        has_vectors_(has_vectors),
        shares_(shares),
        accumulator_(product_.accumulator()),
        depth_(Product(product_.depth())) {}

  Status Build() {
    BindTile();
    left_ = MakeSlice("left", builder_.parts().left, product_.rows(), tile_.rows, row_begin_);
    right_ = MakeSlice("right", builder_.parts().right, product_.columns(), tile_.columns, column_begin_);
    sums_ = nest_.Local("sums", accumulator_, Memory::kRegisters, tile_.item_rows * tile_.item_columns);
    a_ = nest_.Local("a", accumulator_, Memory::kRegisters, tile_.item_rows);
    b_ = nest_.Local("b", accumulator_, Memory::kRegisters, tile_.item_columns);
    ForVectors(tile_.item_rows * tile_.item_columns,
               [&](const Expr& at) { nest_.Add(Store(sums_, at, Constant(accumulator_, 0))); });
    nest_.OpenIf(Less(range_.begin, range_.end));
    Read(range_.begin + turn_);
    Write(0);
    nest_.Close();
    nest_.Add(Barrier());
    Expr k = Variable(nest_.Open("k", range_.begin, range_.end, LoopKind::kSerial, 2 * Step()));
    for (int half : {0, 1}) {
      Read(nest_.Let("next", Next(k + IntConstant(half * Step()))));
      Multiply(half);
      Write(1 - half);
      nest_.Add(Barrier());
    }
    nest_.Close();
    if (tile_.parties == 1) return StoreTile();
    AddParties();
    nest_.OpenIf(Equal(party_, IntConstant(0)));
    TVMVM_CHECK_OK(StoreTile());
    nest_.Close();
    return {};
  }

 private:
  // By how much a party's next slice lies behind its last one.
  int Step() const { return tile_.depth * tile_.parties; }

  // Whether the loop over slices ends where the depth does.
  bool HasWholeSlices() const {
    auto constant = depth_.constant();
    return constant && *constant % (2 * Step()) == 0;
  }

  // The slice that the party reads while it works on its slice from `k` on. Behind the last slice that is
  // read again: it is quicker than to ask, for a condition is a place where reads are waited for.
  Expr Next(const Expr& k) const {
    Expr next = k + IntConstant(Step()) + turn_;
    return HasWholeSlices() ? Min(next, range_.end - IntConstant(tile_.depth)) : next;
  }

  // The group's place in the result and the work-item's in the group.
  void BindTile() {
    Expr gx = Variable(nest_.Grid(0, "tile_x", CeilDiv(product_.columns().size(), Dim(tile_.columns))));
    Expr gy = Variable(nest_.Grid(1, "tile_y", CeilDiv(product_.rows().size(), Dim(tile_.rows))));
    item_ = builder_.Group(tile_.items() * tile_.parties);
    party_ = turn_ = IntConstant(0);
    if (tile_.parties > 1) {
      party_ = nest_.Let("party", FloorDiv(item_, IntConstant(tile_.items())));
      turn_ = nest_.Let("turn", party_ * IntConstant(tile_.depth));
      item_ = nest_.Let("item", FloorMod(item_, IntConstant(tile_.items())));
    }
    range_ = builder_.Depth(shares_);
    int lanes = std::min(kLanes, tile_.items()), across = tile_.lanes_across, down = lanes / across;
    int bands = tile_.items_across() / across;  // of lanes, side by side
    auto quotient = [&](int by) { return FloorDiv(item_, IntConstant(by)); };
    across_ = nest_.Let("across", FloorMod(item_, IntConstant(across)) +
                                      FloorMod(quotient(lanes), IntConstant(bands)) * IntConstant(across));
    down_ = nest_.Let(
        "down", FloorMod(quotient(across), IntConstant(down)) + quotient(lanes * bands) * IntConstant(down));
    row_begin_ = nest_.Let("row", gy * IntConstant(tile_.rows));
    column_begin_ = nest_.Let("column", gx * IntConstant(tile_.columns));
  }

  Slice MakeSlice(const char* name, const Expr& element, const ProductRole& role, int extent,
                  const Expr& begin) {
    Slice slice;
    slice.element = element;
    slice.role = &role;
    slice.extent = extent;
    slice.depth = tile_.depth;
    slice.along_depth = product_.MovesAlongDepth(builder_.parts(), element, role);
    bool can_vector = !product_.HasVectors(builder_.parts(), element, role).IsConstant(0);
    int each = extent * tile_.depth / tile_.items();  // elements
    slice.vector = has_vectors_ && can_vector && each % kVector == 0 ? kVector : 1;
    slice.parts = each / slice.vector;
    slice.stride = extent + (slice.along_depth ? kPadding : 0);
    slice.shared = nest_.Local(name, accumulator_, Memory::kShared, 2 * slice.Half() * tile_.parties);
    slice.registers = nest_.Local(std::string("next_") + name, accumulator_, Memory::kRegisters,
                                  slice.parts * slice.vector);
    PlaceParts(&slice, begin);
    return slice;
  }

  // What a work-item brings of a slice, and from where.
  void PlaceParts(Slice* slice, const Expr& begin) {
    int units = (slice->along_depth ? tile_.depth : slice->extent) / slice->vector;
    slice->fast = nest_.Let("fast", FloorMod(item_, IntConstant(units)) * IntConstant(slice->vector));
    Expr slow = nest_.Let("slow", FloorDiv(item_, IntConstant(units)));
    for (int part = 0; part < slice->parts; ++part) {
      Expr slow_here = slow + IntConstant(part * (tile_.items() / units));
      slice->slow.push_back(slow_here);
      PlaceElements(slice, begin, slice->along_depth ? slow_here : slice->fast);
      Expr at = slice->along_depth ? slow_here : slice->fast;
      slice->targets.push_back(nest_.Let("target", slice->Along(part, 0) * IntConstant(slice->stride) + at));
    }
  }

  // Coordinates of a part's elements, of which the first stands `at` places behind the tile's begin; those of
  // the last ones where that is past the edge.
  void PlaceElements(Slice* slice, const Expr& begin, const Expr& at) {
    int count = slice->along_depth ? 1 : slice->vector;  // elements of different coordinates
    Dim size = slice->role->size();
    auto constant = size.constant();
    bool is_whole = constant && *constant % slice->extent == 0;
    Expr first = begin + at;
    if (!is_whole) first = Min(first, DimValue(size) - IntConstant(count));
    first = nest_.Let("position", first);
    for (int i = 0; i < slice->vector; ++i) {
      if (i >= count) {
        slice->at.push_back(slice->at.back());
        continue;
      }
      slice->at.push_back(range_.batch);
      builder_.Bind(*slice->role, nest_.Let("position", first + IntConstant(i)), &slice->at.back());
    }
  }

  // Reads the work-item's share of the slices from `k` on into registers.
  void Read(const Expr& k) {
    bool is_whole = HasWholeSlices();
    Expr fits = LessEqual(k + IntConstant(tile_.depth), range_.end);
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
      Expr first = IntConstant(part * slice.vector);
      if (slice.vector == 1) {
        nest_.Add(Store(slice.registers, first, nest_.Place(ElementAt(slice, part, 0, k))));
        continue;
      }
      Expr load = PlainLoad(ElementAt(slice, part, 0, k));  // HasVectors: it is one
      nest_.kernel()->buffers[load->id].access = Access::kReadAligned;
      Expr from = nest_.Place(load->operands[0]);
      Expr lane = Variable(nest_.Open("lane", IntConstant(0), IntConstant(kVector), LoopKind::kVectorized));
      nest_.Add(Store(slice.registers, first + lane,
                      Cast(accumulator_, Load(load->id, load.dtype(), from + lane))));
      nest_.Close();
    }
  }

  void ReadRest(Slice& slice, const Expr& k) {
    for (int part = 0; part < slice.parts; ++part) {
      for (int i = 0; i < slice.vector; ++i) {
        Expr inside = Less(k + slice.Along(part, i), range_.end);
        Expr element = ElementOrZero(ElementAt(slice, part, i, k), inside);
        nest_.Add(Store(slice.registers, IntConstant(part * slice.vector + i), nest_.Place(element)));
      }
    }
  }

  // The factor's element of a part in the slice from `k` on.
  Expr ElementAt(Slice& slice, int part, int i, const Expr& k) {
    return builder_.ElementAt(slice.element, slice.At(part, i), slice.Along(part, i), k);
  }

  // Where a half of the party's shared memory begins.
  Expr HalfOf(const Slice& slice, int half) const {
    return (party_ * IntConstant(2) + IntConstant(half)) * IntConstant(slice.Half());
  }

  // Puts the work-item's share into a half of the shared memory.
  void Write(int half) {
    for (Slice* slice : {&left_, &right_}) {
      Expr begin = nest_.Let("begin", HalfOf(*slice, half));
      for (int part = 0; part < slice->parts; ++part) {
        Expr to = begin + slice->targets[static_cast<size_t>(part)];
        auto value = [&](const Expr& at) {
          return Load(slice->registers, accumulator_, IntConstant(part * slice->vector) + at);
        };
        if (slice->vector > 1 && !slice->along_depth) {
          Expr lane =
              Variable(nest_.Open("lane", IntConstant(0), IntConstant(kVector), LoopKind::kVectorized));
          nest_.Add(Store(slice->shared, to + lane, value(lane)));
          nest_.Close();
          continue;
        }
        int step = slice->along_depth ? slice->stride : 1;
        for (int i = 0; i < slice->vector; ++i)
          nest_.Add(Store(slice->shared, to + IntConstant(i * step), value(IntConstant(i))));
      }
    }
  }

  // Work in vectors over [0, count).
  void ForVectors(int count, const std::function<void(const Expr&)>& build) {
    Expr part =
        Variable(nest_.Open("part", IntConstant(0), IntConstant(count / kVector), LoopKind::kUnrolled));
    Expr lane = Variable(nest_.Open("lane", IntConstant(0), IntConstant(kVector), LoopKind::kVectorized));
    build(part * IntConstant(kVector) + lane);
    nest_.Close();
    nest_.Close();
  }

  // Vectors of neighbouring work-items are neighbours in the tile.
  static Expr Spread(const Expr& position, int items) {
    Expr part = FloorDiv(position, IntConstant(kVector)), lane = FloorMod(position, IntConstant(kVector));
    return part * IntConstant(items * kVector) + lane;
  }

  void Multiply(int half) {
    auto begin = [&](const Slice& slice, const Expr& item) {
      return HalfOf(slice, half) + item * IntConstant(kVector);
    };
    Expr left_begin = begin(left_, down_), right_begin = begin(right_, across_);
    Expr step = Variable(nest_.Open("step", IntConstant(0), IntConstant(tile_.depth), LoopKind::kUnrolled));
    auto take = [&](uint32_t own, const Slice& slice, const Expr& from, int count, int items) {
      Expr part =
          Variable(nest_.Open("part", IntConstant(0), IntConstant(count / kVector), LoopKind::kUnrolled));
      Expr lane = Variable(nest_.Open("lane", IntConstant(0), IntConstant(kVector), LoopKind::kVectorized));
      Expr within = step * IntConstant(slice.stride) + part * IntConstant(items * kVector);
      nest_.Add(Store(own, part * IntConstant(kVector) + lane,
                      Load(slice.shared, accumulator_, (from + within) + lane)));
      nest_.Close();
      nest_.Close();
    };
    take(a_, left_, left_begin, tile_.item_rows, tile_.items_down());
    take(b_, right_, right_begin, tile_.item_columns, tile_.items_across());
    Expr row = Variable(nest_.Open("i", IntConstant(0), IntConstant(tile_.item_rows), LoopKind::kUnrolled));
    ForVectors(tile_.item_columns, [&](const Expr& column) {
      Expr sum = row * IntConstant(tile_.item_columns) + column;
      nest_.Add(Store(
          sums_, sum,
          Fma(Load(a_, accumulator_, row), Load(b_, accumulator_, column), Load(sums_, accumulator_, sum))));
    });
    nest_.Close();
    nest_.Close();
  }

  // The first party's sums become those of all.
  void AddParties() {
    int count = tile_.item_rows * tile_.item_columns, pitch = tile_.items() * kVector;
    uint32_t partials =
        nest_.Local("partials", accumulator_, Memory::kShared, (tile_.parties - 1) * count * tile_.items());
    // Neighbouring work-items put vectors side by side.
    auto place = [&](const Expr& party, const Expr& at) {
      Expr part = FloorDiv(at, IntConstant(kVector)), lane = FloorMod(at, IntConstant(kVector));
      return (party * IntConstant(count / kVector) + part) * IntConstant(pitch) +
             item_ * IntConstant(kVector) + lane;
    };
    nest_.OpenIf(Less(IntConstant(0), party_));
    ForVectors(count, [&](const Expr& at) {
      nest_.Add(Store(partials, place(party_ - IntConstant(1), at), Load(sums_, accumulator_, at)));
    });
    nest_.Close();
    nest_.Add(Barrier());
    for (int party = 1; party < tile_.parties; ++party) {
      ForVectors(count, [&](const Expr& at) {
        Expr other = Load(partials, accumulator_, place(IntConstant(party - 1), at));
        nest_.Add(Store(sums_, at, Load(sums_, accumulator_, at) + other));
      });
    }
  }

  Status StoreTile() {
    const ProductRole &rows = product_.rows(), &columns = product_.columns();
    // Vectors of columns end before the edge.
    auto count = columns.sizes.empty() ? std::optional<int64_t>() : columns.sizes.back().constant();
    bool has_vectors = (count && *count % kVector == 0) || (right_.vector > 1 && !right_.along_depth);
    int width = has_vectors ? kVector : 1;
    Expr i = Variable(nest_.Open("i", IntConstant(0), IntConstant(tile_.item_rows), LoopKind::kUnrolled));
    Expr row = nest_.Let("row", row_begin_ + (down_ * IntConstant(kVector) + Spread(i, tile_.items_down())));
    Expr is_inside = IsInside(row, rows.size(), tile_.rows);
    Bindings bound = range_.batch;
    builder_.Bind(rows, row, &bound);
    Expr j = Variable(
        nest_.Open("j", IntConstant(0), IntConstant(tile_.item_columns / width), LoopKind::kUnrolled));
    Expr place =
        has_vectors ? j * IntConstant(tile_.items_across() * kVector) : Spread(j, tile_.items_across());
    Expr column = nest_.Let("column", column_begin_ + (across_ * IntConstant(kVector) + place));
    is_inside = And(is_inside, IsInside(column, columns.size(), tile_.columns));
    bool is_edge = !IsConstant(is_inside);
    if (is_edge) nest_.OpenIf(is_inside);
    int open = 2 + (is_edge ? 1 : 0);
    Expr lane = IntConstant(0);
    if (has_vectors) {
      lane = Variable(nest_.Open("lane", IntConstant(0), IntConstant(kVector), LoopKind::kVectorized));
      ++open;
    }
    builder_.Bind(columns, column + lane, &bound);
    Expr sum =
        Load(sums_, accumulator_, (i * IntConstant(tile_.item_columns) + j * IntConstant(width)) + lane);
    if (shares_ != nullptr) builder_.StorePartial(range_.layer, row, column + lane, sum);
    if (shares_ == nullptr) TVMVM_CHECK_OK(builder_.StoreElement(bound, sum));
    for (; open > 0; --open) nest_.Close();
    return {};
  }

  ProductBuilder& builder_;
  const GpuProduct& product_;
  Nest& nest_;
  const ProductTile& tile_;
  bool has_vectors_;
  const DepthShares* shares_;
  DType accumulator_;
  Dim depth_;
  Expr party_, turn_;  // the work-item's party, and where its first slice begins
  Expr item_;          // in its party
  Expr across_, down_, row_begin_, column_begin_;
  ProductBuilder::Range range_;
  Slice left_, right_;
  uint32_t sums_ = 0, a_ = 0, b_ = 0;
};

}  // namespace

int LoopStep(const ProductTile& tile) { return 2 * tile.depth * tile.parties; }

Status BuildProductTile(ProductBuilder& builder, const ProductTile& tile, bool has_vectors,
                        const DepthShares* shares) {
  if (!IsPossible(tile)) return MakeError(Code::kInternal, "a tile that work-items cannot share");
  return TileProduct(builder, tile, has_vectors, shares).Build();
}

}  // namespace tvmvm::tensor
