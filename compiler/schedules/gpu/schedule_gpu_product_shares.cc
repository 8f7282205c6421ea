// Partial sums of a product, added up.
#include "compiler/schedules/gpu/schedule_gpu_product.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;

constexpr int kItems = 128;  // of a group
constexpr int kAtOnce = 4;   // reads that are on their way before the first is added

// Adds element `at` of every layer from `first` on, `stride` apart.
Expr SumOf(Nest& nest, uint32_t partials, DType dtype, const Expr& first, const Dim& count,
           const Dim& stride) {
  uint32_t total = nest.Local("total", dtype, Memory::kRegisters, 1);
  uint32_t parts = nest.Local("parts", dtype, Memory::kRegisters, kAtOnce);
  Expr zero = IntConstant(0);
  nest.Add(Store(total, zero, Constant(dtype, 0)));
  Expr share = Variable(nest.Open("share", zero, DimValue(count), LoopKind::kSerial, kAtOnce));
  for (int i = 0; i < kAtOnce; ++i) {
    Expr at = share + IntConstant(i), exists = Less(at, DimValue(count));
    Expr part = Load(partials, dtype, first + at * DimValue(stride), exists);
    nest.Add(Store(parts, IntConstant(i), Select(exists, part, Constant(dtype, 0))));
  }
  for (int i = 0; i < kAtOnce; ++i)
    nest.Add(Store(total, zero, Load(total, dtype, zero) + Load(parts, dtype, IntConstant(i))));
  nest.Close();
  return Load(total, dtype, zero);
}

}  // namespace

Status BuildSumOfShares(ProductBuilder& builder, const Dim& count) {
  Nest& nest = builder.nest();
  const GpuProduct& product = builder.product();
  Dim rows = product.rows().size(), columns = product.columns().size(), layer = rows * columns;
  Dim size = layer * product.batch().size();
  Expr block = Variable(nest.Grid(0, "block", CeilDiv(size, Dim(kItems))));
  Expr item = builder.Group(kItems);
  Expr at = nest.Let("at", block * IntConstant(kItems) + item);
  nest.OpenIf(Less(at, DimValue(size)));
  Expr batch = nest.Let("batch", FloorDiv(at, DimValue(layer)));
  Expr within = nest.Let("within", FloorMod(at, DimValue(layer)));
  ProductBuilder::Bindings bound;
  builder.Bind(product.batch(), batch, &bound);
  builder.Bind(product.rows(), FloorDiv(within, DimValue(columns)), &bound);
  builder.Bind(product.columns(), FloorMod(within, DimValue(columns)), &bound);
  Expr first = nest.Let("first", batch * DimValue(count * layer) + within);
  Expr sum = SumOf(nest, builder.partials(), product.accumulator(), first, count, layer);
  TVMVM_CHECK_OK(builder.StoreElement(bound, sum));
  nest.Close();
  return {};
}

}  // namespace tvmvm::tensor
