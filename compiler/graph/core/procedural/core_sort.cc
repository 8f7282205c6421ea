// topk: the first `k` elements along an axis in order of size.
//
//   topk(x) {axis, k (dim), largest}: values and i64 indices; equal elements keep their order. Always sorted.
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/procedural/loop_access.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Memory;
using tensor::Store;
using tensor::Variable;

constexpr int kMostPasses = 40;  // runs of 2^40 elements

Dim CountOf(const Node& node) {
  const Attribute* attribute = node.Find("k");
  const Dim* k = attribute ? std::get_if<Dim>(attribute) : nullptr;
  return k ? *k : Dim(node.Int("k"));
}

Expected<std::vector<Type>> InferTopK(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  int64_t axis = context.node.Int("axis");
  if (axis < 0 || axis >= type.rank()) return BadAxis(axis, type.rank());
  if (!IsFloat(type.dtype) && !IsInteger(type.dtype))
    return MakeError(Code::kUnsupported, fmt::format("topk is not defined for {}", DTypeName(type.dtype)));
  Dim k = CountOf(context.node);
  const Dim& size = type.dims[static_cast<size_t>(axis)];
  if (k.is_constant() && (k.value() < 0 || (size.is_constant() && k.value() > size.value())))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("k is {}, wanted 0 to {}", k.ToString(), size.ToString()));
  Dims dims = type.dims;
  dims[static_cast<size_t>(axis)] = k;
  return std::vector<Type>{Type::Tensor(type.dtype, dims), Type::Tensor(DType::kI64, dims)};
}

// A stable merge sort of positions, bottom up, one row at a grid point. Scratch: two rows of positions, which
// passes swap.
Expected<tensor::StmtPtr> TopKLoops(LoopContext& context) {
  const Node& node = context.node();
  const Type& type = context.input_type(0);
  AxisSplit split = SplitAt(type.dims, Dim(node.Int("axis")));
  bool wants_largest = node.Int("largest", 1) != 0;
  Expr size = DimValue(split.size), inner = DimValue(split.inner), k = DimValue(CountOf(node));
  tensor::LoopKernel& kernel = context.kernel();
  tensor::Nest nest(&kernel);
  Expr row = Variable(nest.Grid(0, "row", split.outer * split.inner));
  Expr outer = nest.Let("outer", FloorDiv(row, DimValue(Max(split.inner, 1))));
  Expr column = nest.Let("column", FloorMod(row, DimValue(Max(split.inner, 1))));
  auto element = [&](const Expr& position) {
    return context.Load(0, FlatPosition(type, (outer * size + position) * inner + column));
  };
  kernel.scratch_bytes = CeilDiv(split.size * 16, 64) * 64;
  uint32_t order = kernel.AddLocal("order", DType::kI64, Memory::kScratch, 0, IntConstant(0));
  nest.Add(tensor::Allocate(order));
  uint32_t heads = nest.Local("heads", DType::kI64, Memory::kLocal, 2);
  uint32_t source = nest.Local("source", DType::kI64, Memory::kLocal, 1);  // where the row in order begins
  auto position_at = [&](const Expr& i) { return tensor::Load(order, DType::kI64, i); };
  auto head = [&](int side) { return tensor::Load(heads, DType::kI64, IntConstant(side)); };
  Expr zero = IntConstant(0), one = IntConstant(1), two = IntConstant(2);

  Expr i = Variable(nest.Open("i", zero, size));
  nest.Add(Store(order, i, i));
  nest.Close();
  nest.Add(Store(source, zero, zero));
  Expr pass = Variable(nest.Open("pass", zero, IntConstant(kMostPasses)));
  Expr width = nest.Let("width", Binary(ExprOp::kShiftLeft, one, pass));
  nest.OpenIf(Less(width, size));
  Expr from = nest.Let("from", tensor::Load(source, DType::kI64, zero));
  Expr to = nest.Let("to", size - from);
  Expr runs = nest.Let("runs", FloorDiv(size + width * two - one, width * two));
  Expr run = Variable(nest.Open("run", zero, runs));
  Expr begin = nest.Let("begin", run * width * two);
  Expr middle = nest.Let("middle", Min(begin + width, size));
  Expr end = nest.Let("end", Min(begin + width * two, size));
  nest.Add(Store(heads, zero, begin));
  nest.Add(Store(heads, one, middle));
  Expr place = Variable(nest.Open("place", begin, end));
  Expr left = nest.Let("left", head(0)), right = nest.Let("right", head(1));
  Expr last = size - one;
  Expr left_position = nest.Let("left_position", position_at(from + Min(left, last)));
  Expr right_position = nest.Let("right_position", position_at(from + Min(right, last)));
  Expr left_value = nest.Let("left_value", element(left_position)),
       right_value = nest.Let("right_value", element(right_position));
  Expr right_first = wants_largest ? Less(left_value, right_value) : Less(right_value, left_value);
  Expr takes_right = Or(LessEqual(middle, left), And(Less(right, end), right_first));
  takes_right = nest.Let("takes_right", takes_right);
  nest.Add(Store(order, to + place, Select(takes_right, right_position, left_position)));
  nest.Add(Store(heads, zero, left + Select(takes_right, zero, one)));
  nest.Add(Store(heads, one, right + Select(takes_right, one, zero)));
  nest.Close();  // place
  nest.Close();  // run
  nest.Add(Store(source, zero, to));
  nest.Close();  // condition
  nest.Close();  // pass

  Expr sorted = nest.Let("sorted", tensor::Load(source, DType::kI64, zero));
  Expr n = Variable(nest.Open("n", zero, Min(k, size)));
  Expr found = nest.Let("found", position_at(sorted + n));
  Expr target = (outer * k + n) * inner + column;
  nest.Add(context.Store(0, FlatPosition(context.output_type(0), target), element(found)));
  nest.Add(context.Store(1, FlatPosition(context.output_type(1), target), found));
  nest.Close();
  return nest.Finish();
}

// Every pass looks at all elements, and waits for most of them.
std::vector<Work> TopKWork(const WorkContext& context) {
  const Dim& size = SplitAt(context.inputs[0].dims, Dim(context.node.Int("axis"))).size;
  const Dim passes = Select(Less(size, 1 << 6), 6, Select(Less(size, 1 << 12), 12, 20));
  return {{ElementsOf(context.inputs[0]) * passes * Dim(4 * kScalarStep), BytesOnce(context)}};
}

constexpr CoreOp kRows[] = {
    {.name = "topk",
     .kind = OpKind::kProcedural,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferTopK,
     .loops = TopKLoops,
     .work = TopKWork,
     .meaning =
         "the k largest or smallest elements along `axis` and their indices, in order; equal ones by index",
     .attributes = "axis k largest"},
};

}  // namespace

std::span<const CoreOp> SortFamily() { return kRows; }

}  // namespace tvmvm::ir
