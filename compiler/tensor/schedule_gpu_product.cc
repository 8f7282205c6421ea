// Sums of products as tiles: contractions, and convolutions whose data and weights do not share an axis of
// the result.
//
// The result's axes that the left factor alone depends on are rows, those of the right factor alone columns,
// those of both a batch. A work-group computes a tile of rows and columns: step by step along the depth it
// brings a slice of both factors into shared memory, from where every work-item sums a small tile in
// registers. What lies beyond an edge is read as 0 and not written. Products of a few rows are bound by
// reading the right factor: there the work-items of a group share the depth of a few columns.
#include <algorithm>
#include <optional>

#include "compiler/tensor/product_group.h"
#include "compiler/tensor/rewrite.h"
#include "compiler/tensor/schedule_gpu.h"
#include "compiler/tensor/stride.h"
#include "compiler/tensor/work_items.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;

constexpr int kVector = 4;          // elements that move between shared memory and registers at once
constexpr int kPadding = 4;         // of rows in shared memory, against conflicts between its banks
constexpr int64_t kManyTiles = 64;  // as many large tiles keep a device busy
constexpr int kFewRows = 8;         // up to which rows are summed by all work-items of a group
constexpr int kThinItems = 256;     // of such a group

struct TileShape {
  int rows = 0, columns = 0, depth = 0;  // of a work-group; thin ones have rows only
  int item_rows = 0, item_columns = 0;
  bool is_thin() const { return columns == 0; }
  int items_down() const { return rows / item_rows; }
  int items_across() const { return columns / item_columns; }
  int items() const { return items_down() * items_across(); }
};
constexpr TileShape kLarge{128, 128, 16, 8, 8};
constexpr TileShape kSmall{32, 32, 16, 4, 4};

// The axes of the result that play one part, as one.
struct Role {
  std::vector<size_t> axes;  // of the result
  Dims sizes;
  Dim size() const { return Product(sizes); }
};

class ProductKernel {
 public:
  ProductKernel(const GroupView& group, ir::NodeId anchor) : group_(group), anchor_(anchor) {
    result_ = group.function().node(anchor).outputs[0];
  }

  // Finds the factors and roles; false where the group is none of this form.
  bool Analyse() {
    LoopKernel draft;
    InputReader reader(group_, {}, &draft);
    Parts parts = Expand(&draft, reader);
    if (!parts.left.valid()) return false;
    const Dims& dims = group_.type(result_).dims;
    std::optional<bool> innermost_is_left;
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (dims[axis].IsConstant(1)) continue;
      bool in_left = DependsOn(parts.left, parts.index[axis]),
           in_right = DependsOn(parts.right, parts.index[axis]);
      if (!innermost_is_left && in_left != in_right) innermost_is_left = in_left;
    }
    // Neighbouring columns are neighbours in memory.
    swapped_ = innermost_is_left.value_or(false);
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis].IsConstant(1)) continue;
      bool in_left = DependsOn(parts.left, parts.index[axis]),
           in_right = DependsOn(parts.right, parts.index[axis]);
      if (swapped_) std::swap(in_left, in_right);
      Role& role = in_left && in_right ? batch_ : in_right ? columns_ : rows_;
      role.axes.push_back(axis);
      role.sizes.push_back(dims[axis]);
    }
    for (const Expr& extent : parts.reduce->reduction->extents) {
      auto size = AsDim(extent);
      if (!size) return false;
      depth_.push_back(*size);
    }
    accumulator_ = parts.reduce->reduction->accumulator;
    bool suits = accumulator_ == DType::kF32 || accumulator_ == DType::kI32 || accumulator_ == DType::kF64;
    return suits && ProductResults::Find(group_, anchor_).has_value();
  }

  Expected<GroupProgram> Schedule() {
    GroupProgram program;
    Dim large_tiles = CeilDiv(rows_.size(), Dim(kLarge.rows)) *
                      CeilDiv(columns_.size(), Dim(kLarge.columns)) * batch_.size();
    Dim is_large = LessEqual(Dim(kManyTiles), large_tiles), is_thin = LessEqual(rows_.size(), Dim(kFewRows));
    Dim is_one = Equal(rows_.size(), Dim(1));
    if (accumulator_ == DType::kF64) is_large = Dim(0);
    auto add = [&](const TileShape& shape, const Dim& when) -> Status {
      return when.IsConstant(0) ? Status{} : AddCall(shape, when, &program);
    };
    TVMVM_CHECK_OK(add(TileShape{.rows = 1}, is_one));
    TVMVM_CHECK_OK(add(TileShape{.rows = kFewRows}, Select(is_one, 0, is_thin)));
    TVMVM_CHECK_OK(add(kLarge, Select(is_thin, 0, is_large)));
    TVMVM_CHECK_OK(add(kSmall, Select(is_thin, 0, Not(is_large))));
    return program;
  }

 private:
  // The result's element taken apart: the sum over the reduction's axes of left * right.
  struct Parts {
    Expr reduce, left, right;
    std::vector<VariableId> index;  // stand for the result's coordinates
  };

  Parts Expand(LoopKernel* kernel, InputReader& reader) const {
    Parts parts;
    std::vector<Expr> index;
    for (size_t axis = 0; axis < group_.type(result_).dims.size(); ++axis) {
      parts.index.push_back(kernel->NewVariable("at"));
      bool is_single = group_.type(result_).dims[axis].IsConstant(1);  // nothing binds those
      index.push_back(is_single ? IntConstant(0) : Variable(parts.index.back()));
    }
    parts.reduce = group_.Expand(
        result_, index, [&](ir::ValueId value, std::span<const Expr> at) { return reader(value, at); },
        kernel);
    if (!parts.reduce.valid() || parts.reduce.op() != ExprOp::kReduce) return {};
    Expr body = parts.reduce->operands[0], inside;
    if (body.op() == ExprOp::kSelect) {  // of data beyond the edges
      inside = body->operands[0];
      body = body->operands[1];
    }
    if (body.op() != ExprOp::kMul) return {};
    parts.left = body->operands[0];
    parts.right = body->operands[1];
    if (inside.valid()) parts.left = Select(inside, parts.left, Constant(parts.left.dtype(), 0));
    return parts;
  }

  Status AddCall(const TileShape& shape, const Dim& when, GroupProgram* program) {
    std::set<int> wanted;
    {
      LoopKernel draft;
      TVMVM_TRY(wanted, Build(shape, {}, &draft, nullptr));
    }
    KernelCall call;
    call.when = when;
    TVMVM_TRY(wanted, Build(shape, wanted, &call.kernel, &call.arguments));
    program->calls.push_back(std::move(call));
    return {};
  }

  // Builds the kernel with arguments for the inputs `wanted`; gives the inputs that it reads.
  Expected<std::set<int>> Build(const TileShape& shape, const std::set<int>& wanted, LoopKernel* kernel,
                                std::vector<KernelArgument>* arguments) {
    kernel->name = group_.function().node(anchor_).op->name;
    InputReader reader(group_, wanted, kernel);
    std::vector<KernelArgument> list = reader.arguments();
    std::vector<uint32_t> outputs = AddOutputs(group_, kernel, &list);
    if (arguments) *arguments = std::move(list);
    parts_ = Expand(kernel, reader);
    if (swapped_) std::swap(parts_.left, parts_.right);

    Nest nest(kernel);
    kernel->flops = Product(group_.type(result_).dims) * Product(depth_) * Dim(2);
    if (shape.is_thin()) {
      TVMVM_CHECK_OK(BuildThin(nest, shape.rows, reader, outputs));
    } else {
      TVMVM_CHECK_OK(BuildTile(nest, shape, reader, outputs));
    }
    kernel->body = nest.Finish();
    return reader.touched();
  }

  Status BuildTile(Nest& nest, const TileShape& shape, InputReader& reader,
                   const std::vector<uint32_t>& outputs) {
    BindTile(nest, shape);
    Tile left = MakeTile(nest, "left", shape.rows, shape.depth, parts_.left, rows_);
    Tile right = MakeTile(nest, "right", shape.columns, shape.depth, parts_.right, columns_);
    uint32_t sums =
        nest.Local("sums", accumulator_, Memory::kRegisters, shape.item_rows * shape.item_columns);
    ForVectors(nest, shape.item_rows * shape.item_columns,
               [&](const Expr& at) { nest.Add(Store(sums, at, Constant(accumulator_, 0))); });
    Expr depth = DimValue(Product(depth_));
    Expr k = Variable(nest.Open("k", IntConstant(0), depth, LoopKind::kSerial, shape.depth));
    Fill(nest, left, shape, k, depth, row_begin_, rows_);
    Fill(nest, right, shape, k, depth, column_begin_, columns_);
    nest.Add(Barrier());
    Multiply(nest, shape, left, right, sums);
    nest.Add(Barrier());
    nest.Close();
    return StoreTile(nest, shape, sums, reader, outputs);
  }

  void BindTile(Nest& nest, const TileShape& shape) {
    LoopKernel* kernel = nest.kernel();
    Expr gx = Variable(nest.Grid(0, "tile_x", CeilDiv(columns_.size(), Dim(shape.columns))));
    Expr gy = Variable(nest.Grid(1, "tile_y", CeilDiv(rows_.size(), Dim(shape.rows))));
    batch_number_ = Variable(nest.Grid(2, "batch", batch_.size()));
    kernel->group_size[0] = shape.items();
    for (VariableId& axis : kernel->thread) axis = kernel->NewVariable("thread");
    item_ = Variable(kernel->thread[0]);
    across_ = nest.Let("across", FloorMod(item_, IntConstant(shape.items_across())));
    down_ = nest.Let("down", FloorDiv(item_, IntConstant(shape.items_across())));
    row_begin_ = nest.Let("row", gy * IntConstant(shape.rows));
    column_begin_ = nest.Let("column", gx * IntConstant(shape.columns));
    bound_.clear();
    Bind(nest, batch_, batch_number_, &bound_);
  }

  // Coordinates of a role's axes at a flat position.
  void Bind(Nest& nest, const Role& role, const Expr& position,
            std::vector<std::pair<VariableId, Expr>>* bound) const {
    std::vector<Expr> coordinates = Unflatten(position, role.sizes);
    for (size_t i = 0; i < role.axes.size(); ++i)
      bound->emplace_back(parts_.index[role.axes[i]], nest.Let("at", coordinates[i]));
  }

  // Whether neighbours in a factor's memory are neighbours along the depth, not along its role.
  bool MovesAlongDepth(const Expr& element, const Role& role) const {
    bool along_role = false, along_depth = false;
    size_t last = depth_.size() - 1;  // the innermost axis of the depth that there is
    while (last > 0 && depth_[last].IsConstant(1)) --last;
    VisitOnce(element, [&](const Expr& e) {
      if (e.op() != ExprOp::kLoad) return;
      auto is_unit = [&](VariableId variable) {
        auto stride = Coefficient(e->operands[0], variable);
        return stride && stride->IsConstant(1);
      };
      along_depth |= is_unit(parts_.reduce->reduction->axes[last]);
      if (!role.axes.empty()) along_role |= is_unit(parts_.index[role.axes.back()]);
    });
    return along_depth && !along_role;
  }

  // --- slices in shared memory: [depth][extent + padding] ---
  struct Tile {
    uint32_t buffer = 0;
    int extent = 0;  // rows or columns
    Expr element;
    bool along_depth = false;  // neighbours in memory are neighbours along the depth
  };

  Tile MakeTile(Nest& nest, const char* name, int extent, int depth, const Expr& element, const Role& role) {
    Tile tile;
    tile.extent = extent;
    tile.element = element;
    tile.buffer = nest.Local(name, accumulator_, Memory::kShared, depth * (extent + kPadding));
    tile.along_depth = MovesAlongDepth(element, role);
    return tile;
  }

  // Loads touch nothing where `inside` does not hold, wherever they are placed.
  static Expr OnlyInside(const Expr& element, const Expr& inside) {
    Rewriter rewrite([&](const Expr& e) {
      if (e.op() != ExprOp::kLoad) return e;
      Expr mask = e->operands.size() > 1 ? And(e->operands[1], inside) : inside;
      return Load(e->id, e.dtype(), e->operands[0], mask);
    });
    return rewrite(element);
  }

  // Every work-item brings its share; what is outside is 0.
  void Fill(Nest& nest, const Tile& tile, const TileShape& shape, const Expr& k, const Expr& depth,
            const Expr& begin, const Role& role) {
    int fast = tile.along_depth ? shape.depth : tile.extent, items = shape.items();
    int64_t parts = int64_t{1} * tile.extent * shape.depth / items;
    Expr part = Variable(nest.Open("part", IntConstant(0), IntConstant(parts), LoopKind::kUnrolled));
    Expr fast_at = FloorMod(item_, IntConstant(fast));
    Expr slow_at = FloorDiv(item_, IntConstant(fast)) + part * IntConstant(items / fast);
    Expr at = tile.along_depth ? slow_at : fast_at, along = tile.along_depth ? fast_at : slow_at;
    Expr position = begin + at, step = k + along;
    std::vector<std::pair<VariableId, Expr>> bound = bound_;
    std::vector<Expr> coordinates = Unflatten(position, role.sizes), steps = Unflatten(step, depth_);
    for (size_t i = 0; i < role.axes.size(); ++i)
      bound.emplace_back(parts_.index[role.axes[i]], coordinates[i]);
    for (size_t i = 0; i < steps.size(); ++i) bound.emplace_back(parts_.reduce->reduction->axes[i], steps[i]);
    Expr inside = And(Less(position, DimValue(role.size())), Less(step, depth));
    std::vector<Expr> placed = nest.Place(std::vector<Expr>{
        along * IntConstant(tile.extent + kPadding) + at,
        Select(inside, OnlyInside(Substitute(tile.element, bound), inside), Constant(accumulator_, 0))});
    nest.Add(Store(tile.buffer, placed[0], placed[1]));
    nest.Close();
  }

  // Work in vectors over [0, count).
  static void ForVectors(Nest& nest, int count, const std::function<void(const Expr&)>& build) {
    Expr part =
        Variable(nest.Open("part", IntConstant(0), IntConstant(count / kVector), LoopKind::kUnrolled));
    Expr lane = Variable(nest.Open("lane", IntConstant(0), IntConstant(kVector), LoopKind::kVectorized));
    build(part * IntConstant(kVector) + lane);
    nest.Close();
    nest.Close();
  }

  // Where a work-item's position within a tile lies: vectors of neighbouring items are neighbours.
  static Expr Spread(const Expr& item, const Expr& position, int items) {
    Expr part = FloorDiv(position, IntConstant(kVector)), lane = FloorMod(position, IntConstant(kVector));
    return part * IntConstant(items * kVector) + item * IntConstant(kVector) + lane;
  }

  void Multiply(Nest& nest, const TileShape& shape, const Tile& left, const Tile& right, uint32_t sums) {
    Expr step = Variable(nest.Open("step", IntConstant(0), IntConstant(shape.depth), LoopKind::kUnrolled));
    auto take = [&](const char* name, const Tile& tile, const Expr& item, int count, int items) {
      uint32_t own = nest.Local(name, accumulator_, Memory::kRegisters, count);
      Expr part =
          Variable(nest.Open("part", IntConstant(0), IntConstant(count / kVector), LoopKind::kUnrolled));
      Expr lane = Variable(nest.Open("lane", IntConstant(0), IntConstant(kVector), LoopKind::kVectorized));
      Expr from = step * IntConstant(tile.extent + kPadding) + part * IntConstant(items * kVector) +
                  item * IntConstant(kVector) + lane;
      nest.Add(Store(own, part * IntConstant(kVector) + lane, Load(tile.buffer, accumulator_, from)));
      nest.Close();
      nest.Close();
      return own;
    };
    uint32_t a = take("a", left, down_, shape.item_rows, shape.items_down());
    uint32_t b = take("b", right, across_, shape.item_columns, shape.items_across());
    Expr row = Variable(nest.Open("i", IntConstant(0), IntConstant(shape.item_rows), LoopKind::kUnrolled));
    ForVectors(nest, shape.item_columns, [&](const Expr& column) {
      Expr sum = row * IntConstant(shape.item_columns) + column;
      nest.Add(Store(
          sums, sum,
          Fma(Load(a, accumulator_, row), Load(b, accumulator_, column), Load(sums, accumulator_, sum))));
    });
    nest.Close();
    nest.Close();
  }

  Status StoreTile(Nest& nest, const TileShape& shape, uint32_t sums, InputReader& reader,
                   const std::vector<uint32_t>& outputs) {
    Expr i = Variable(nest.Open("i", IntConstant(0), IntConstant(shape.item_rows), LoopKind::kUnrolled));
    Expr row = nest.Let("row", row_begin_ + Spread(down_, i, shape.items_down()));
    nest.OpenIf(Less(row, DimValue(rows_.size())));
    std::vector<std::pair<VariableId, Expr>> bound = bound_;
    Bind(nest, rows_, row, &bound);
    Expr j = Variable(nest.Open("j", IntConstant(0), IntConstant(shape.item_columns), LoopKind::kUnrolled));
    Expr column = nest.Let("column", column_begin_ + Spread(across_, j, shape.items_across()));
    nest.OpenIf(Less(column, DimValue(columns_.size())));
    Bind(nest, columns_, column, &bound);
    Expr sum = Load(sums, accumulator_, i * IntConstant(shape.item_columns) + j);
    TVMVM_CHECK_OK(StoreElement(nest, bound, sum, reader, outputs));
    for (int open = 0; open < 4; ++open) nest.Close();
    return {};
  }

  // All outputs at one position of the result.
  Status StoreElement(Nest& nest, const std::vector<std::pair<VariableId, Expr>>& bound, const Expr& sum,
                      InputReader& reader, const std::vector<uint32_t>& outputs) {
    auto results = ProductResults::Find(group_, anchor_);
    const Dims& dims = group_.type(result_).dims;
    ProductResults::Position position;
    position.coordinates.assign(dims.size(), IntConstant(0));
    for (size_t axis = 0; axis < dims.size(); ++axis)
      for (const auto& [variable, value] : bound)
        if (variable == parts_.index[axis]) position.coordinates[axis] = value;
    position.flat = FlatIndex(dims, position.coordinates);
    return results->Store(nest, position, Cast(parts_.reduce.dtype(), sum), reader, outputs);
  }

  // --- a few rows: [columns][depth] work-items, each with a sum for every row ---
  Status BuildThin(Nest& nest, int rows, InputReader& reader, const std::vector<uint32_t>& outputs) {
    LoopKernel* kernel = nest.kernel();
    bool along_depth = MovesAlongDepth(parts_.right, columns_);
    int columns = along_depth ? 8 : 32, slices = kThinItems / columns;
    Expr gx = Variable(nest.Grid(0, "columns", CeilDiv(columns_.size(), Dim(columns))));
    nest.Grid(1, "g", 1);
    batch_number_ = Variable(nest.Grid(2, "batch", batch_.size()));
    kernel->group_size[0] = kThinItems;
    for (VariableId& axis : kernel->thread) axis = kernel->NewVariable("thread");
    item_ = Variable(kernel->thread[0]);
    bound_.clear();
    Bind(nest, batch_, batch_number_, &bound_);
    // Neighbouring work-items read neighbours in memory.
    int fast = along_depth ? slices : columns;
    Expr fast_at = nest.Let("fast", FloorMod(item_, IntConstant(fast)));
    Expr slow_at = nest.Let("slow", FloorDiv(item_, IntConstant(fast)));
    const Expr &slice = along_depth ? fast_at : slow_at, &mine = along_depth ? slow_at : fast_at;
    Expr first = nest.Let("first", gx * IntConstant(columns));
    uint32_t sums = nest.Local("sums", accumulator_, Memory::kRegisters, rows);
    auto for_rows = [&](const std::function<void(const Expr&)>& build) {
      build(Variable(nest.Open("row", IntConstant(0), IntConstant(rows), LoopKind::kUnrolled)));
      nest.Close();
    };
    for_rows([&](const Expr& row) { nest.Add(Store(sums, row, Constant(accumulator_, 0))); });
    nest.OpenIf(Less(first + mine, DimValue(columns_.size())));
    std::vector<std::pair<VariableId, Expr>> bound = bound_;
    Bind(nest, columns_, first + mine, &bound);
    Expr k = Variable(nest.Open("k", slice, DimValue(Product(depth_)), LoopKind::kSerial, slices));
    std::vector<Expr> steps = Unflatten(k, depth_);
    for (size_t i = 0; i < steps.size(); ++i)
      bound.emplace_back(parts_.reduce->reduction->axes[i], nest.Let("step", steps[i]));
    Expr right = nest.Let("right", nest.Place(Substitute(parts_.right, bound)));
    for_rows([&](const Expr& row) {
      if (rows > 1) nest.OpenIf(Less(row, DimValue(rows_.size())));
      std::vector<std::pair<VariableId, Expr>> here = bound;
      std::vector<Expr> coordinates = Unflatten(row, rows_.sizes);
      for (size_t i = 0; i < rows_.axes.size(); ++i)
        here.emplace_back(parts_.index[rows_.axes[i]], rows == 1 ? IntConstant(0) : coordinates[i]);
      Expr sum = Fma(Substitute(parts_.left, here), right, Load(sums, accumulator_, row));
      nest.Add(Store(sums, row, nest.Place(sum)));
      if (rows > 1) nest.Close();
    });
    nest.Close();
    nest.Close();
    uint32_t partials = nest.Local("partials", accumulator_, Memory::kShared, rows * kThinItems);
    for_rows([&](const Expr& row) {
      Expr at = (row * IntConstant(slices) + slice) * IntConstant(columns) + mine;
      nest.Add(Store(partials, at, Load(sums, accumulator_, row)));
    });
    nest.Add(Barrier());
    return StoreThin(nest, rows, columns, slices, first, partials, reader, outputs);
  }

  // The first work-items sum the slices of an element each.
  Status StoreThin(Nest& nest, int rows, int columns, int slices, const Expr& first, uint32_t partials,
                   InputReader& reader, const std::vector<uint32_t>& outputs) {
    Expr row = rows == 1 ? IntConstant(0) : nest.Let("row", FloorDiv(item_, IntConstant(columns)));
    Expr mine = rows == 1 ? item_ : nest.Let("mine", FloorMod(item_, IntConstant(columns)));
    Expr column = nest.Let("column", first + mine);
    Expr exists = And(Less(item_, IntConstant(rows * columns)), Less(column, DimValue(columns_.size())));
    nest.OpenIf(rows == 1 ? exists : And(exists, Less(row, DimValue(rows_.size()))));
    uint32_t total = nest.Local("total", accumulator_, Memory::kRegisters, 1);
    Expr zero = IntConstant(0);
    nest.Add(Store(total, zero, Constant(accumulator_, 0)));
    Expr slice = Variable(nest.Open("slice", zero, IntConstant(slices)));
    Expr at = (row * IntConstant(slices) + slice) * IntConstant(columns) + mine;
    nest.Add(Store(total, zero, Load(total, accumulator_, zero) + Load(partials, accumulator_, at)));
    nest.Close();
    std::vector<std::pair<VariableId, Expr>> bound = bound_;
    if (rows > 1) Bind(nest, rows_, row, &bound);
    Bind(nest, columns_, column, &bound);
    TVMVM_CHECK_OK(StoreElement(nest, bound, Load(total, accumulator_, zero), reader, outputs));
    nest.Close();
    return {};
  }

  const GroupView& group_;
  ir::NodeId anchor_;
  ir::ValueId result_;
  bool swapped_ = false;
  Role batch_, rows_, columns_;
  Dims depth_;
  DType accumulator_ = DType::kInvalid;
  // Of the kernel that is being built:
  Parts parts_;
  Expr batch_number_, item_, across_, down_, row_begin_, column_begin_;
  std::vector<std::pair<VariableId, Expr>> bound_;  // the batch's coordinates
};

ir::NodeId AnchorOf(const GroupView& group) {
  ir::NodeId anchor = FindAnchor(group, ir::OpKind::kContraction);
  return anchor.valid() ? anchor : FindAnchor(group, ir::OpKind::kConvolution);
}

}  // namespace

bool TakesProductForGpu(const GroupView& group) {
  ir::NodeId anchor = AnchorOf(group);
  if (!anchor.valid() || group.function().node(anchor).Int("groups", 1) != 1) return false;
  for (ir::ValueId output : group.outputs())  // neighbours in a byte belong to one work-item
    if (IsSubByte(group.type(output).dtype)) return false;
  return ProductKernel(group, anchor).Analyse();
}

Expected<GroupProgram> ScheduleProductForGpu(const GroupView& group, const TargetInfo&) {
  ProductKernel kernel(group, AnchorOf(group));
  if (!kernel.Analyse()) return MakeError(Code::kInternal, "not a group around a sum of products");
  return kernel.Schedule();
}

}  // namespace tvmvm::tensor
