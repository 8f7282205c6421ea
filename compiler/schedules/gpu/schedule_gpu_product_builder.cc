// What the kernels of products have in common: arguments, coordinates, results, and what factors read.
#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"
#include "compiler/schedules/gpu/schedule_gpu_product.h"

namespace tvmvm::tensor {

using ir::Dim;
using ir::Dims;

ProductBuilder::ProductBuilder(const GpuProduct& product, const std::set<int>& wanted, Partials partials,
                               LoopKernel* kernel)
    : product_(product), reader_(product.group(), wanted, kernel), nest_(kernel) {
  arguments_ = reader_.arguments();
  if (partials != Partials::kNone) {
    Access access = partials == Partials::kWritten ? Access::kWrite : Access::kRead;
    partials_ = kernel->AddArgument("partials", product.accumulator(), access);
    arguments_.push_back({ArgumentKind::kWorkspace, 0});
  }
  if (partials != Partials::kWritten) outputs_ = AddOutputs(product.group(), kernel, &arguments_);
  parts_ = product.Expand(kernel, reader_);
}

Expr ProductBuilder::Group(int items) {
  LoopKernel* kernel = nest_.kernel();
  kernel->group_size[0] = items;
  for (VariableId& axis : kernel->thread) axis = kernel->NewVariable("thread");
  return Variable(kernel->thread[0]);
}

ProductBuilder::Bindings ProductBuilder::Batch() {
  Bindings bound;
  Expr number = Variable(nest_.Grid(2, "batch", product_.batch().size()));
  Bind(product_.batch(), number, &bound);
  return bound;
}

void ProductBuilder::Bind(const ProductRole& role, const Expr& position, Bindings* bound) {
  std::vector<Expr> coordinates = Unflatten(position, role.sizes);
  for (size_t i = 0; i < role.axes.size(); ++i)
    bound->emplace_back(parts_.index[role.axes[i]], nest_.Let("at", coordinates[i]));
}

void ProductBuilder::Step(const Expr& position, Bindings* bound) const {
  std::vector<Expr> steps = Unflatten(position, product_.depth());
  for (size_t i = 0; i < steps.size(); ++i) bound->emplace_back(parts_.reduce->reduction->axes[i], steps[i]);
}

ProductBuilder::Range ProductBuilder::Depth(const DepthShares* shares) {
  Range range{{}, IntConstant(0), DimValue(Product(product_.depth())), {}};
  if (shares == nullptr) {
    range.batch = Batch();
    return range;
  }
  range.layer = Variable(nest_.Grid(2, "layer", product_.batch().size() * shares->count));
  Expr count = DimValue(shares->count), size = DimValue(shares->size);
  Bind(product_.batch(), nest_.Let("batch", FloorDiv(range.layer, count)), &range.batch);
  range.begin = nest_.Let("begin", FloorMod(range.layer, count) * size);
  range.end = nest_.Let("end", Min(range.begin + size, range.end));
  return range;
}

void ProductBuilder::StorePartial(const Expr& layer, const Expr& row, const Expr& column, const Expr& sum) {
  Expr first = layer * DimValue(product_.rows().size()) + row;
  nest_.Add(Store(partials_, first * DimValue(product_.columns().size()) + column, sum));
}

Status ProductBuilder::StoreElement(const Bindings& bound, const Expr& sum) {
  auto results = ProductResults::Find(product_.group(), product_.anchor());
  const Dims& dims = product_.group().type(product_.result()).dims;
  ProductResults::Position position;
  position.coordinates.assign(dims.size(), IntConstant(0));
  for (size_t axis = 0; axis < dims.size(); ++axis)
    for (const auto& [variable, value] : bound)
      if (variable == parts_.index[axis]) position.coordinates[axis] = value;
  position.flat = FlatIndex(dims, position.coordinates);
  return results->Store(nest_, position, Cast(parts_.reduce.dtype(), sum), reader_, outputs_);
}

Expr PlainLoad(const Expr& element) {
  bool is_half = element.op() == ExprOp::kCast && element.dtype() == DType::kF32 &&
                 element->operands[0].dtype() == DType::kF16;
  const Expr& load = is_half ? element->operands[0] : element;
  bool is_plain =
      load.op() == ExprOp::kLoad && load->operands.size() == 1 && (is_half || load.dtype() == DType::kF32);
  return is_plain ? load : Expr();
}

namespace {

bool HasLoads(const Expr& a) {
  bool found = false;
  VisitOnce(a, [&](const Expr& e) { found |= e.op() == ExprOp::kLoad; });
  return found;
}

}  // namespace

Expr ProductBuilder::ElementAt(const Expr& element, const Bindings& at, const Expr& along, const Expr& k) {
  Bindings bound = at;
  Step(k + along, &bound);
  return Substitute(WithFixedAddresses(element, at, along, k), bound);
}

Expr ProductBuilder::WithFixedAddresses(const Expr& element, Bindings at, const Expr& along, const Expr& k) {
  const std::vector<VariableId>& axes = parts_.reduce->reduction->axes;
  if (axes.size() != 1) return element;
  at.emplace_back(axes[0], along);
  Rewriter rewrite([&](const Expr& e) {
    if (e.op() != ExprOp::kLoad || HasLoads(e->operands[0])) return e;
    auto stride = Coefficient(e->operands[0], axes[0]);
    if (!stride) return e;
    Expr begin = ComputedOutside(Substitute(e->operands[0], at));
    Expr mask = e->operands.size() > 1 ? e->operands[1] : Expr();
    return Load(e->id, e.dtype(), begin + k * DimValue(*stride), mask);
  });
  return rewrite(element);
}

// A variable in the kernel's outermost scope.
Expr ProductBuilder::ComputedOutside(const Expr& a) {
  Expr name;
  nest_.At(0, [&] {
    name = nest_.Remembered(a);
    if (name.valid()) return;
    name = nest_.Let("begin", a);
    nest_.Remember(a, name);
  });
  return name;
}

void ProductBuilder::Read(const Expr& k, const Expr& fits, bool is_whole, const ReadSlice& whole,
                          const ReadSlice& rest) {
  if (is_whole) return whole(k);
  nest_.OpenIf(fits);
  whole(k);
  nest_.Close();
  nest_.OpenIf(Unary(ExprOp::kNot, fits));
  rest(nest_.LetVariable("rest", k));  // its loads stay in here
  nest_.Close();
}

Expr ElementOrZero(const Expr& element, const Expr& inside) {
  Rewriter rewrite([&](const Expr& e) {
    if (e.op() != ExprOp::kLoad) return e;
    Expr mask = e->operands.size() > 1 ? And(e->operands[1], inside) : inside;
    return Load(e->id, e.dtype(), e->operands[0], mask);
  });
  return Select(inside, rewrite(element), Constant(element.dtype(), 0));
}

Expr IsInside(const Expr& position, const Dim& size, int extent) {
  auto constant = size.constant();
  return constant && *constant % extent == 0 ? BoolConstant(true) : Less(position, DimValue(size));
}

}  // namespace tvmvm::tensor
