// Writes at computed positions into a copy of x. Updates are applied in order, so that duplicates are well
// defined.
//
//   scatter_elements(x, indices, updates) {axis, reduction}; scatter_nd(x, indices, updates) {reduction}
//   in_place: x and the result share their memory (passes/update_in_place.cc)
//   reduction: "none" (the last one stays), "add", "mul", "min", "max"
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/procedural/loop_access.h"
#include "compiler/graph/requirements.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Lanes;
using tensor::Variable;

Expected<Type> CheckScatter(const InferContext& context) {
  TVMVM_TRY(Type data, RankedTensor(context, 0));
  TVMVM_TRY(Type indices, RankedTensor(context, 1));
  TVMVM_TRY(Type updates, RankedTensor(context, 2));
  if (!IsInteger(indices.dtype))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("indices are {}, wanted integers", indices.ToString()));
  if (updates.dtype != data.dtype)
    return MakeError(Code::kInvalidArgument, fmt::format("updates are {}, wanted elements like {}",
                                                         updates.ToString(), data.ToString()));
  const std::string& reduction = context.node.String("reduction");
  for (std::string_view known : {"none", "add", "mul", "min", "max"})
    if (reduction == known) return data;
  return MakeError(Code::kUnsupported, fmt::format("scatter reduction '{}' is unknown", reduction));
}

Expected<std::vector<Type>> InferScatterElements(const InferContext& context) {
  TVMVM_TRY(Type data, CheckScatter(context));
  int64_t axis = context.node.Int("axis");
  if (axis < 0 || axis >= data.rank()) return BadAxis(axis, data.rank());
  if (context.inputs[1].rank() != data.rank() || context.inputs[2].rank() != data.rank())
    return MakeError(Code::kInvalidArgument, fmt::format("indices {} and updates {} for {}: ranks differ",
                                                         context.inputs[1].ToString(),
                                                         context.inputs[2].ToString(), data.ToString()));
  return One(data.dtype, data.dims);
}

Expected<std::vector<Type>> InferScatterNd(const InferContext& context) {
  TVMVM_TRY(Type data, CheckScatter(context));
  const Type& indices = context.inputs[1];
  std::optional<int64_t> depth = indices.dims.empty() ? std::nullopt : indices.dims.back().constant();
  if (!depth || *depth < 0 || *depth > data.rank() ||
      context.inputs[2].rank() != indices.rank() - 1 + data.rank() - *depth)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("indices {} and updates {} do not address {}", indices.ToString(),
                                 context.inputs[2].ToString(), data.ToString()));
  return One(data.dtype, data.dims);
}

Expr Reduced(const std::string& reduction, const Expr& old, const Expr& update) {
  bool is_bool = update.dtype() == DType::kBool;
  if (reduction == "add") return Binary(is_bool ? ExprOp::kOr : ExprOp::kAdd, old, update);
  if (reduction == "mul") return Binary(is_bool ? ExprOp::kAnd : ExprOp::kMul, old, update);
  if (reduction == "min") return Binary(is_bool ? ExprOp::kAnd : ExprOp::kMin, old, update);
  return Binary(is_bool ? ExprOp::kOr : ExprOp::kMax, old, update);
}

// How the work is divided. Threads own parts of the result, so that updates of an element keep their order:
// lines along the axis, or columns of the slices. Each looks at all indices that may belong to it.
struct ScatterPlan {
  ScatterPlan(const Node& node, const Type& data, const Type& updates, bool is_gpu) {
    constexpr int64_t kSmall = 16 << 10, kSmallOnGpu = 64;  // elements
    is_in_place = node.decided.in_place;
    // Elements that share a byte have one writer.
    is_divided = !IsSubByte(data.dtype);
    const Dim all = Product(data.dims) + Product(updates.dims);
    is_small = is_in_place || !is_divided ? Dim(0) : LessEqual(all, Dim(is_gpu ? kSmallOnGpu : kSmall));
  }
  bool is_in_place, is_divided;
  Dim is_small;  // one kernel copies and updates
};

constexpr int64_t kCopyBlock = 16 << 10;  // elements
// The least part of a row: at each of its beginnings memory is waited for.
const Dim kColumns = 512;

// Axes of x, indices and updates, where neighbouring ones that lie alike in all of them are one; the axis
// that is scattered along stays by itself.
struct MergedAxes {
  MergedAxes(const Dims& x, const Dims& of_indices, const Dims& of_updates, size_t scattered) {
    for (size_t i = 0; i < x.size(); ++i) {
      const bool is_alone = i == 0 || i == scattered || i == scattered + 1;
      if (i == scattered) axis = data.size();
      if (is_alone || !(x[i] == of_indices[i]) || !(x[i] == of_updates[i])) {
        data.push_back(x[i]);
        indices.push_back(of_indices[i]);
        updates.push_back(of_updates[i]);
      } else {
        for (Dims* dims : {&data, &indices, &updates}) dims->back() = dims->back() * x[i];
      }
    }
  }
  Dims data, indices, updates;
  size_t axis = 0;
};

// The row-major position of coordinates.
Expr RowMajor(const Dims& dims, std::span<const Expr> index) {
  Expr position = IntConstant(0);
  for (size_t i = 0; i < dims.size(); ++i) position = position * DimValue(dims[i]) + index[i];
  return position;
}

// `count` where there are elements for updates to go to: a position of nothing is none.
Dim UnlessEmpty(const Dim& count, std::span<const Dim> sizes) {
  Dim there = 1;
  for (const Dim& size : sizes) there = And(there, NotEqual(size, 0));
  return Select(there, count, 0);
}

class ScatterLoops {
 public:
  ScatterLoops(LoopContext& context, bool takes_tuples)
      : context_(context),
        takes_tuples_(takes_tuples),
        node_(context.node()),
        data_(context.input_type(0)),
        indices_(context.input_type(1)),
        updates_(context.input_type(2)),
        is_gpu_(IsGpu(context.target())),
        plan_(node_, data_, updates_, is_gpu_),
        lanes_(LanesOf(context.target(), data_.dtype)) {}

  tensor::StmtPtr Build() {
    if (!plan_.is_in_place) {
      context_.LaunchWhere(plan_.is_small);
      tensor::Nest all(&context_.kernel());
      Copy(all, IntConstant(0), DimValue(Product(data_.dims)));
      Update(all, false);
      context_.EndKernel(all.Finish());

      context_.LaunchWhere(Not(plan_.is_small));
      tensor::Nest copy(&context_.kernel());
      Dim elements = Product(data_.dims), block = is_gpu_ && plan_.is_divided ? 1 : kCopyBlock;
      Expr number = Variable(copy.Grid(0, "block", CeilDiv(elements, block)));
      Expr first = copy.Let("first", number * DimValue(block));
      Copy(copy, first, copy.Let("end", Min(first + DimValue(block), DimValue(elements))));
      context_.EndKernel(copy.Finish());
      context_.LaunchWhere(Not(plan_.is_small));
    }
    tensor::Nest nest(&context_.kernel());
    Update(nest, plan_.is_divided);
    return nest.Finish();
  }

 private:
  void Copy(tensor::Nest& nest, const Expr& begin, const Expr& end) {
    tensor::ForVectors(nest, "i", begin, end, lanes_, 1, [&](const Expr& i, const Lanes& lanes) {
      ForLanes(nest, lanes, [&] {
        nest.Add(context_.Store(0, FlatPosition(data_, i), context_.Load(0, FlatPosition(data_, i))));
      });
    });
  }

  // With a grid, what one of its points owns; else everything.
  void Update(tensor::Nest& nest, bool has_grid) {
    const int depth = nest.depth();
    takes_tuples_ ? UpdateSlices(nest, has_grid) : UpdateElements(nest, has_grid);
    while (nest.depth() > depth) nest.Close();
  }

  void Apply(tensor::Nest& nest, std::span<const Expr> target, const Expr& update) {
    const std::string& reduction = node_.String("reduction");
    Expr value = reduction == "none" ? update : Reduced(reduction, context_.LoadOutput(0, target), update);
    nest.Add(context_.Store(0, target, value));
  }

  void UpdateElements(tensor::Nest& nest, bool has_grid);
  void UpdateSlices(tensor::Nest& nest, bool has_grid);
  void UpdateColumns(tensor::Nest& nest, const Dim& slice, const tensor::Range& columns);

  LoopContext& context_;
  const bool takes_tuples_;
  const Node& node_;
  const Type &data_, &indices_, &updates_;
  bool is_gpu_;
  const ScatterPlan plan_;
  int lanes_;
};

// Lines along the axis have targets of their own: a call takes neighbouring ones, in the order of memory.
void ScatterLoops::UpdateElements(tensor::Nest& nest, bool has_grid) {
  const MergedAxes axes(data_.dims, indices_.dims, updates_.dims, static_cast<size_t>(node_.Int("axis")));
  const size_t count = axes.indices.size(), axis = axes.axis;
  // The axis that is divided: the first one inside of `axis`, where there is one, else the last one outside.
  const size_t divided = axis + 1 < count ? axis + 1 : axis - 1;
  has_grid = has_grid && count > 1;
  tensor::Range part;
  std::vector<Expr> index(count);
  if (has_grid) {
    const bool is_last = divided + 1 == count;
    part = BlocksOf(nest, "part", axes.indices[divided], is_last && !is_gpu_ ? kColumns : Dim(1));
    const size_t outside = std::min(axis, divided);
    const Dims lines(axes.indices.begin(), axes.indices.begin() + static_cast<std::ptrdiff_t>(outside));
    Expr line = Variable(nest.Grid(1, "line", Product(lines)));
    std::vector<Expr> coordinates = BindCoordinates(nest, lines, line);
    std::copy(coordinates.begin(), coordinates.end(), index.begin());
  }
  for (size_t i = 0; i < count; ++i) {
    if (index[i].valid()) continue;
    const bool is_part = has_grid && i == divided;
    const Dim end = i == axis ? UnlessEmpty(axes.indices[i], {&axes.data[i], 1}) : axes.indices[i];
    index[i] =
        Variable(nest.Open("i", is_part ? part.begin : IntConstant(0), is_part ? part.end : DimValue(end)));
  }
  Expr update = context_.Load(2, FlatPosition(updates_, RowMajor(axes.updates, index)));
  Expr position =
      tensor::Cast(DType::kI64, context_.Load(1, FlatPosition(indices_, RowMajor(axes.indices, index))));
  index[axis] = nest.Let("position", WrapIndex(position, axes.data[axis]));
  Apply(nest, FlatPosition(data_, RowMajor(axes.data, index)), update);
}

// A tuple of indices addresses a slice of x that lies contiguous in memory.
void ScatterLoops::UpdateSlices(tensor::Nest& nest, bool has_grid) {
  const auto depth = static_cast<std::ptrdiff_t>(indices_.dims.back().value());
  const Dim slice = Product(Dims(data_.dims.begin() + depth, data_.dims.end()));
  if (!has_grid) return UpdateColumns(nest, slice, tensor::WholeAxis(slice));
  const tensor::Range part = BlocksOf(nest, "columns", slice, is_gpu_ ? Dim(1) : kColumns);
  if (is_gpu_) return UpdateColumns(nest, slice, part);
  WholeOrPart(nest, part, slice, [&](const tensor::Range& columns) { UpdateColumns(nest, slice, columns); });
}

void ScatterLoops::UpdateColumns(tensor::Nest& nest, const Dim& slice, const tensor::Range& columns) {
  const auto depth = static_cast<size_t>(indices_.dims.back().value());
  const Dim count = UnlessEmpty(Product(Dims(indices_.dims.begin(), indices_.dims.end() - 1)),
                                std::span(data_.dims).first(depth));
  Expr tuple = Variable(nest.Open("tuple", IntConstant(0), DimValue(count)));
  Expr place = IntConstant(0);
  for (size_t k = 0; k < depth; ++k) {
    Expr at = tuple * IntConstant(static_cast<int64_t>(depth)) + IntConstant(static_cast<int64_t>(k));
    Expr position = tensor::Cast(DType::kI64, context_.Load(1, FlatPosition(indices_, at)));
    place = place * DimValue(data_.dims[k]) + WrapIndex(position, data_.dims[k]);
  }
  Expr begin = nest.Let("begin", place * DimValue(slice));
  auto update = [&](const Expr& j, const Lanes& lanes) {
    ForLanes(nest, lanes, [&] {
      Expr value = context_.Load(2, FlatPosition(updates_, tuple * DimValue(slice) + j));
      Apply(nest, FlatPosition(data_, begin + j), value);
    });
  };
  tensor::ForVectors(nest, "j", columns.begin, columns.end, lanes_, 1, update);
}

Expected<tensor::StmtPtr> ScatterElementsLoops(LoopContext& context) {
  return ScatterLoops(context, false).Build();
}
Expected<tensor::StmtPtr> ScatterNdLoops(LoopContext& context) { return ScatterLoops(context, true).Build(); }

// Each index is a step, wherever it leads.
std::vector<Work> ScatterWork(const WorkContext& context) {
  const Type &data = context.inputs[0], &indices = context.inputs[1], &updates = context.inputs[2];
  const ScatterPlan plan(context.node, data, updates, false);
  const Work copy{0, BytesOf(data) * Dim(2)};
  const Work update{ElementsOf(indices) * Dim(kScalarStep) + ElementsOf(updates),
                    BytesOf(indices) + BytesOf(updates) * Dim(3)};
  if (plan.is_in_place) return {update};
  return {{copy.flops + update.flops, copy.bytes + update.bytes}, copy, update};
}

void RequireUpdates(const Dims& found, const Dims& wanted, Requirements* list) {
  for (size_t axis = 0; axis < found.size(); ++axis)
    RequireEqual(list, found[axis], wanted[axis], fmt::format("the updates' size along axis {}", axis));
}

// There is an update for each index, at its place.
void RequireElements(const Function& function, const Node& node, Requirements* list) {
  RequireSmallerIndices(function, node, list);
  RequireUpdates(function.type(node.inputs[2]).dims, function.type(node.inputs[1]).dims, list);
}

// There is a slice of x for each tuple of indices.
void RequireSlices(const Function& function, const Node& node, Requirements* list) {
  const Dims &data = function.type(node.inputs[0]).dims, &indices = function.type(node.inputs[1]).dims;
  Dims wanted(indices.begin(), indices.end() - 1);
  wanted.insert(wanted.end(), data.begin() + static_cast<std::ptrdiff_t>(indices.back().value()), data.end());
  RequireUpdates(function.type(node.inputs[2]).dims, wanted, list);
}

constexpr CoreOp kRows[] = {
    {.name = "scatter_elements",
     .kind = OpKind::kProcedural,
     .min_inputs = 3,
     .max_inputs = 3,
     .infer = InferScatterElements,
     .loops = ScatterElementsLoops,
     .work = ScatterWork,
     .meaning = "x with each update written along `axis` at the index of the same place",
     .attributes = "axis reduction",
     .traits = {.updates = true},
     .requirements = RequireElements},
    {.name = "scatter_nd",
     .kind = OpKind::kProcedural,
     .min_inputs = 3,
     .max_inputs = 3,
     .infer = InferScatterNd,
     .loops = ScatterNdLoops,
     .work = ScatterWork,
     .meaning = "x with slices, addressed by tuples along the last axis of the indices, updated",
     .attributes = "reduction",
     .traits = {.updates = true},
     .requirements = RequireSlices},
};

}  // namespace

std::span<const CoreOp> ScatterFamily() { return kRows; }

}  // namespace tvmvm::ir
