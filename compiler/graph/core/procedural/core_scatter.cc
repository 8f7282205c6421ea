// Writes at computed positions into a copy of x. Updates are applied in order, so that duplicates are well
// defined.
//
//   scatter_elements(x, indices, updates) {axis, reduction}; scatter_nd(x, indices, updates) {reduction}
//   in_place: x and the result share their memory (passes/update_in_place.cc)
//   reduction: "none" (the last one stays), "add", "mul", "min", "max"
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/procedural/loop_access.h"

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
constexpr int64_t kMostColumnBlocks = 8;
// The least columns of a block: parts of rows are read one after another, and the shorter they are, the
// slower.
constexpr int64_t kLeastOfSlice = 128, kLeastOfLastAxis = 256;

// Blocks of columns as wide as it takes to look at the indices only a few times.
Dim ColumnsOfBlock(const Dim& columns, int64_t least, const ScatterPlan& plan, bool is_gpu) {
  if (!plan.is_divided) return Max(columns, 1);
  if (is_gpu) return 1;
  return CeilDiv(Max(columns, 1), Dim(least * kMostColumnBlocks)) * Dim(least);
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

  LoopContext& context_;
  const bool takes_tuples_;
  const Node& node_;
  const Type &data_, &indices_, &updates_;
  bool is_gpu_;
  const ScatterPlan plan_;
  int lanes_;
};

// Lines along the axis have targets of their own: a grid point takes one, or several side by side.
void ScatterLoops::UpdateElements(tensor::Nest& nest, bool has_grid) {
  const Dims& dims = indices_.dims;
  const size_t axis = static_cast<size_t>(node_.Int("axis")), last = dims.size() - 1;
  std::vector<Expr> index(dims.size());
  auto open = [&](size_t at, const Expr& begin, const Expr& end) {
    index[at] = Variable(nest.Open("i", begin, end));
  };
  if (has_grid) {
    Dim lines = 1;
    for (size_t i = 0; i < last; ++i)
      if (i != axis) lines = lines * dims[i];
    Expr line = Variable(nest.Grid(1, "line", lines));
    for (size_t i = last; i-- > 0;) {
      if (i == axis) continue;
      index[i] = nest.Let("i", FloorMod(line, DimValue(Max(dims[i], 1))));
      line = FloorDiv(line, DimValue(Max(dims[i], 1)));
    }
    Expr begin = IntConstant(0), end = DimValue(dims[last]);
    if (axis != last) {
      const Dim columns = ColumnsOfBlock(dims[last], kLeastOfLastAxis, plan_, is_gpu_);
      Expr block = Variable(nest.Grid(0, "columns", CeilDiv(dims[last], columns)));
      begin = nest.Let("begin", block * DimValue(columns));
      end = nest.Let("end", Min(begin + DimValue(columns), end));
      open(axis, IntConstant(0), DimValue(dims[axis]));
    }
    open(last, begin, end);
  } else {
    for (size_t i = 0; i <= last; ++i) open(i, IntConstant(0), DimValue(dims[i]));
  }
  std::vector<Expr> target = index;
  Expr position = tensor::Cast(DType::kI64, context_.Load(1, index));
  target[axis] = nest.Let("position", WrapIndex(position, data_.dims[axis]));
  Apply(nest, target, context_.Load(2, index));
}

// A tuple of indices addresses a slice of x that lies contiguous in memory.
void ScatterLoops::UpdateSlices(tensor::Nest& nest, bool has_grid) {
  const auto depth = static_cast<size_t>(indices_.dims.back().value());
  const Dim count = Product(Dims(indices_.dims.begin(), indices_.dims.end() - 1));
  const Dim slice = Product(Dims(data_.dims.begin() + static_cast<std::ptrdiff_t>(depth), data_.dims.end()));
  Expr first = IntConstant(0), end = DimValue(slice);
  if (has_grid) {
    const Dim columns = ColumnsOfBlock(slice, kLeastOfSlice, plan_, is_gpu_);
    first = nest.Let("first", Variable(nest.Grid(0, "columns", CeilDiv(slice, columns))) * DimValue(columns));
    end = nest.Let("end", Min(first + DimValue(columns), end));
  }
  Expr tuple = Variable(nest.Open("tuple", IntConstant(0), DimValue(count)));
  Expr place = IntConstant(0);
  for (size_t k = 0; k < depth; ++k) {
    Expr at = tuple * IntConstant(static_cast<int64_t>(depth)) + IntConstant(static_cast<int64_t>(k));
    Expr position = tensor::Cast(DType::kI64, context_.Load(1, FlatPosition(indices_, at)));
    place = place * DimValue(data_.dims[k]) + WrapIndex(position, data_.dims[k]);
  }
  Expr begin = nest.Let("begin", place * DimValue(slice));
  tensor::ForVectors(nest, "j", first, end, lanes_, 1, [&](const Expr& j, const Lanes& lanes) {
    ForLanes(nest, lanes, [&] {
      Expr update = context_.Load(2, FlatPosition(updates_, tuple * DimValue(slice) + j));
      Apply(nest, FlatPosition(data_, begin + j), update);
    });
  });
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
     .traits = {.updates = true}},
    {.name = "scatter_nd",
     .kind = OpKind::kProcedural,
     .min_inputs = 3,
     .max_inputs = 3,
     .infer = InferScatterNd,
     .loops = ScatterNdLoops,
     .work = ScatterWork,
     .meaning = "x with slices, addressed by tuples along the last axis of the indices, updated",
     .attributes = "reduction",
     .traits = {.updates = true}},
};

}  // namespace

std::span<const CoreOp> ScatterFamily() { return kRows; }

}  // namespace tvmvm::ir
