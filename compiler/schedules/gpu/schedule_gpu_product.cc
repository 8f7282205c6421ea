// Which kernels a product gets, and when each runs.
#include "compiler/schedules/gpu/schedule_gpu_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"
#include "compiler/schedules/gpu/gpu_schedules.h"
#include "compiler/schedules/gpu/schedule_gpu.h"
#include "compiler/schedules/schedule_overrides.h"
#include "compiler/schedules/small_sizes.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;

constexpr int kFewRows = 8;  // that all work-items of a group sum

constexpr ProductTile kTiles[] = {
    {128, 128, 8, 8, 8, 8},
    {64, 64, 8, 8, 4, 8},
    {32, 32, 8, 4, 4, 8, 4},
};
constexpr size_t kLarge = 0, kMiddle = 1, kSmall = 2;
constexpr const char* kTileNames[] = {"large", "middle", "small"};
// What groups share the depth of, where factors are f16.
constexpr const ProductTile& kSharedTile = kTiles[kMiddle];
// For sums of 64 bits, and for indices of so many.
constexpr ProductTile kModestTile = {32, 32, 8, 4, 4, 8};
// For factors of f16, which matrices multiply: a tile is done much sooner, and less is gained by sharing it
// where there are some.
constexpr ProductTile kHalfTiles[] = {
    {128, 128, 8, 8, 8, 8},
    {64, 64, 8, 8, 4, 8},
    kModestTile,
};

ir::NodeId AnchorOf(const GroupView& group) {
  for (ir::OpKind kind :
       {ir::OpKind::kContraction, ir::OpKind::kConvolution, ir::OpKind::kTransposedConvolution})
    if (ir::NodeId anchor = FindAnchor(group, kind); anchor.valid()) return anchor;
  return {};
}

// How many tiles hold the result.
Dim TilesOf(const GpuProduct& product, const ProductTile& tile) {
  return CeilDiv(product.rows().size(), Dim(tile.rows)) *
         CeilDiv(product.columns().size(), Dim(tile.columns)) * product.batch().size();
}

using BuildBody = std::function<Status(ProductBuilder&)>;

// When a kernel runs, and what is known then.
struct Case {
  Dim when;
  bool small_sizes = false;
  Partials partials = Partials::kNone;
};

// Builds a kernel twice: the first time to see which inputs it reads.
Status AddCall(const GpuProduct& product, const Case& its, const BuildBody& build, GroupProgram* program) {
  if (its.when.IsConstant(0)) return {};
  std::set<int> wanted;
  for (bool is_draft : {true, false}) {
    KernelCall call;
    call.when = its.when;
    call.kernel.small_sizes = its.small_sizes;
    call.kernel.name = product.group().function().node(product.anchor()).op->name;
    call.kernel.flops =
        Product(product.group().type(product.result()).dims) * Product(product.depth()) * Dim(2);
    ProductBuilder builder(product, wanted, its.partials, &call.kernel);
    TVMVM_CHECK_OK(build(builder));
    call.kernel.body = builder.nest().Finish();
    call.arguments = builder.arguments();
    wanted = builder.touched();
    if (!is_draft) program->calls.push_back(std::move(call));
  }
  return {};
}

using BuildEither = std::function<Status(ProductBuilder&, bool has_vectors)>;

// One kernel that reads by fours, for sizes that allow it, and one for all others.
Status AddEither(const GpuProduct& product, const Case& its, const BuildEither& build,
                 GroupProgram* program) {
  for (bool has_vectors : {true, false}) {
    Dim fits = has_vectors ? product.vectors_fit() : Not(product.vectors_fit());
    TVMVM_CHECK_OK(AddCall(
        product, {And(its.when, fits), its.small_sizes, its.partials},
        [&](ProductBuilder& builder) { return build(builder, has_vectors); }, program));
  }
  return {};
}

// How a tile's kernels are built.
using BuildTile =
    std::function<Status(ProductBuilder&, const ProductTile&, bool has_vectors, const DepthShares*)>;

Status AddTile(const GpuProduct& product, const ProductTile& tile, const Case& its, GroupProgram* program,
               const BuildTile& build_tile = BuildProductTile) {
  return AddEither(
      product, its,
      [&](ProductBuilder& builder, bool has_vectors) {
        return build_tile(builder, tile, has_vectors, nullptr);
      },
      program);
}

bool IsHalfTile(const ProductTile& tile) {
  return std::ranges::any_of(kHalfTiles, [&](const ProductTile& half) {
    return half.rows == tile.rows && half.columns == tile.columns;
  });
}

// By matrices where the target has them, for products that HasHalves.
BuildTile HalfTilesFor(const TargetInfo& target) {
  return target.has_matrices ? BuildTile(BuildProductMatrix) : BuildTile(BuildProductTile);
}

// The product by tiles of which several groups share the depth of each.
Status AddShares(const GpuProduct& product, const GpuProductSchedule& schedule, const ProductTile& tile,
                 const Dim& when, GroupProgram* program, const BuildTile& build_tile = BuildProductTile) {
  if (when.IsConstant(0)) return {};
  Dim depth = Product(product.depth()), step = std::max(LoopStep(tile), MatrixLoopStep());
  Dim size = product.rows().size() * product.columns().size() * product.batch().size();
  Dim tiles = TilesOf(product, tile);
  Dim wanted = Min(Min(CeilDiv(Dim(schedule.busy_groups), Max(tiles, Dim(1))),
                       FloorDiv(depth, Dim(schedule.shortest_share))),
                   Dim(schedule.most_shares));
  DepthShares shares;
  shares.size = Max(CeilDiv(CeilDiv(depth, Max(wanted, Dim(1))), step), Dim(1)) * step;
  shares.count = CeilDiv(depth, shares.size);
  TVMVM_CHECK_OK(AddEither(
      product, {when, true, Partials::kWritten},
      [&](ProductBuilder& builder, bool has_vectors) {
        return build_tile(builder, tile, has_vectors, &shares);
      },
      program));
  TVMVM_CHECK_OK(AddCall(
      product, {when, true, Partials::kAddedUp},
      [&](ProductBuilder& builder) { return BuildSumOfShares(builder, shares.count); }, program));
  program->workspaces.push_back({product.accumulator(), when * shares.count * size});
  return {};
}

Status AddHalfTiles(const GpuProduct& product, const GpuProductSchedule& schedule, Dim rest,
                    const TargetInfo& target, GroupProgram* program) {
  const BuildTile build = HalfTilesFor(target);
  const ProductTile& small = kHalfTiles[std::size(kHalfTiles) - 1];
  for (const ProductTile& tile : kHalfTiles) {
    Dim here = LessEqual(Dim(schedule.busy_halves), TilesOf(product, tile));
    if (&tile == &small) {
      Dim is_shared = LessEqual(Dim(schedule.long_depth), Product(product.depth()));
      TVMVM_CHECK_OK(AddShares(product, schedule, kSharedTile, And(rest, is_shared), program, build));
      rest = And(rest, Not(is_shared));
      here = 1;
    }
    TVMVM_CHECK_OK(AddTile(product, tile, {And(rest, here), true}, program, build));
    rest = And(rest, Not(here));
  }
  return {};
}

std::string ProblemWords(const GpuProduct& product) {
  return fmt::format("{} batch={} rows={} columns={} depth={}", DTypeName(product.accumulator()),
                     WordOf(product.batch().size()), WordOf(product.rows().size()),
                     WordOf(product.columns().size()), WordOf(Product(product.depth())));
}

// `size`: which of the tiles.
KernelSchedule DecideTile(const GpuProduct& product, const TargetInfo& target, std::string_view size,
                          ProductTile* tile) {
  return Decide(product.group(), target, fmt::format("{} {}", size, ProblemWords(product)), tile,
                [chosen = *tile](ProductTile* made) {
                  if (!IsPossibleEverywhere(*made)) *made = chosen;
                });
}

// 1 where everything that the group's kernels index is within kSmallSize.
Dim HasSmallSizes(const GpuProduct& product) {
  auto size_of = [&](ir::ValueId value) { return Product(product.group().type(value).dims); };
  std::vector<Dim> sizes = {Product(product.depth()), size_of(product.result())};
  for (ir::ValueId input : product.group().inputs()) sizes.push_back(size_of(input));
  for (ir::ValueId output : product.group().outputs()) sizes.push_back(size_of(output));
  return AreSmall(sizes);
}

}  // namespace

std::span<const ProductTile> ProductTiles() { return kTiles; }
std::span<const ProductTile> HalfProductTiles() { return kHalfTiles; }

bool TakesProductForGpu(const GroupView& group) {
  for (ir::ValueId output : group.outputs())  // neighbours in a byte belong to one work-item
    if (IsSubByte(group.type(output).dtype)) return false;
  return GpuProduct::Find(group).has_value();
}

Expected<GroupProgram> ScheduleProductForGpu(const GroupView& group, const TargetInfo& target) {
  std::optional<GpuProduct> product = GpuProduct::Find(group);
  if (!product) return MakeError(Code::kInternal, "not a group around a sum of products");
  GroupProgram program;
  GpuProductSchedule schedule;
  const KernelSchedule decided = Decide(group, target, ProblemWords(*product), &schedule);
  const int64_t busy[] = {schedule.busy_large, schedule.busy_middle, 0};
  ProductTile tiles[] = {kTiles[kLarge], kTiles[kMiddle], kTiles[kSmall]};
  std::vector<KernelSchedule> made{decided};
  for (size_t i : {kLarge, kMiddle, kSmall})
    made.push_back(DecideTile(*product, target, kTileNames[i], &tiles[i]));
  Dim rows = product->rows().size();
  Dim has_few = And(LessEqual(rows, Dim(schedule.thin_rows)),
                    LessEqual(TilesOf(*product, tiles[kSmall]), Dim(schedule.few_tiles)));
  Dim is_one = Equal(rows, Dim(1)), is_thin = Or(LessEqual(rows, Dim(kFewRows)), has_few);
  Dim is_small = HasSmallSizes(*product);
  auto thin = [&](int count, const Dim& when) {
    return AddEither(
        *product, {And(is_small, when), true},
        [&](ProductBuilder& builder, bool has_vectors) {
          return BuildThinProduct(builder, count, has_vectors);
        },
        &program);
  };
  TVMVM_CHECK_OK(thin(1, is_one));
  TVMVM_CHECK_OK(thin(kFewRows, And(is_thin, Not(is_one))));
  Dim rest = And(is_small, Not(is_thin));
  if (DTypeBits(product->accumulator()) != 32) {
    TVMVM_CHECK_OK(AddTile(*product, kModestTile, {rest, true}, &program));
    rest = 0;
  }
  if (target.awaits_matrices && HasHalves(*product)) {
    TVMVM_CHECK_OK(AddHalfTiles(*product, schedule, rest, target, &program));
    rest = 0;
  }
  for (size_t i : {kLarge, kMiddle, kSmall}) {
    const ProductTile& tile = tiles[i];
    if (i == kMiddle) {
      Dim is_shared = And(LessEqual(Dim(schedule.long_depth), Product(product->depth())),
                          Less(TilesOf(*product, tile), Dim(schedule.many_tiles)));
      TVMVM_CHECK_OK(AddShares(*product, schedule, tile, And(rest, is_shared), &program));
      rest = And(rest, Not(is_shared));
    }
    Dim here = LessEqual(Dim(busy[i]), TilesOf(*product, tile));
    TVMVM_CHECK_OK(AddTile(*product, tile, {i == kSmall ? rest : And(rest, here), true}, &program));
    rest = And(rest, Not(here));
  }
  TVMVM_CHECK_OK(AddCall(
      *product, {Not(is_small), false},
      [&](ProductBuilder& builder) { return BuildProductTile(builder, kModestTile, false); }, &program));
  program.calls[0].schedules = std::move(made);
  return program;
}

Expected<GroupProgram> ScheduleProductByTile(const GroupView& group, const ProductTile& tile,
                                             const TargetInfo& target) {
  std::optional<GpuProduct> product = GpuProduct::Find(group);
  if (!product) return MakeError(Code::kInternal, "not a group around a sum of products");
  GroupProgram program;
  Case always{Dim(1), true};
  bool by_matrices = target.has_matrices && HasHalves(*product) && IsHalfTile(tile);
  TVMVM_CHECK_OK(AddTile(*product, tile, always, &program,
                         by_matrices ? BuildTile(BuildProductMatrix) : BuildTile(BuildProductTile)));
  return program;
}

GpuProduct::GpuProduct(const GroupView& group, ir::NodeId anchor) : group_(&group), anchor_(anchor) {
  result_ = group.function().node(anchor).outputs[0];
}

std::optional<GpuProduct> GpuProduct::Find(const GroupView& group) {
  ir::NodeId anchor = AnchorOf(group);
  if (!anchor.valid() || group.function().node(anchor).Int("groups", 1) != 1) return std::nullopt;
  GpuProduct product(group, anchor);
  if (!product.Analyse()) return std::nullopt;
  return product;
}

bool GpuProduct::Analyse() {
  LoopKernel draft;
  InputReader reader(*group_, {}, &draft);
  ProductParts parts = Expand(&draft, reader);
  if (!parts.left.valid()) return false;
  FindRoles(parts);
  for (const Expr& extent : parts.reduce->reduction->extents) {
    auto size = AsDim(extent);
    if (!size) return false;
    depth_.push_back(*size);
  }
  accumulator_ = parts.reduce->reduction->accumulator;
  FindVectors(parts);
  bool suits = accumulator_ == DType::kF32 || accumulator_ == DType::kI32 || accumulator_ == DType::kF64;
  return suits && ProductResults::Find(*group_, anchor_).has_value();
}

void GpuProduct::FindVectors(const ProductParts& parts) {
  vectors_fit_ = 0;
  for (bool is_left : {true, false}) {
    Dim one = HasVectors(parts, is_left ? parts.left : parts.right, is_left ? rows_ : columns_);
    if (one.IsConstant(0)) continue;
    vectors_fit_ = vectors_fit_.IsConstant(0) ? one : And(vectors_fit_, one);
  }
}

void GpuProduct::FindRoles(const ProductParts& parts) {
  const Dims& dims = group_->type(result_).dims;
  std::optional<bool> innermost_is_left;
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (dims[axis].IsConstant(1)) continue;
    bool in_left = DependsOn(parts.left, parts.index[axis]),
         in_right = DependsOn(parts.right, parts.index[axis]);
    if (!innermost_is_left && in_left != in_right) innermost_is_left = in_left;
  }
  swapped_ = innermost_is_left.value_or(false);
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis].IsConstant(1)) continue;
    bool in_left = DependsOn(parts.left, parts.index[axis]),
         in_right = DependsOn(parts.right, parts.index[axis]);
    if (swapped_) std::swap(in_left, in_right);
    ProductRole& role = in_left && in_right ? batch_ : in_right ? columns_ : rows_;
    role.axes.push_back(axis);
    role.sizes.push_back(dims[axis]);
  }
}

ProductParts GpuProduct::Expand(LoopKernel* kernel, InputReader& reader) const {
  ProductParts parts;
  std::vector<Expr> index;
  for (const Dim& dim : group_->type(result_).dims) {
    parts.index.push_back(kernel->NewVariable("at"));
    // Nothing binds the coordinate of an axis of size 1.
    index.push_back(dim.IsConstant(1) ? IntConstant(0) : Variable(parts.index.back()));
  }
  parts.reduce = group_->Expand(
      result_, index, [&](ir::ValueId value, std::span<const Expr> at) { return reader(value, at); }, kernel);
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
  if (swapped_) std::swap(parts.left, parts.right);
  return parts;
}

namespace {

// The innermost axis of the depth that there is.
size_t InnermostOf(const Dims& dims) {
  size_t last = dims.size() - 1;
  while (last > 0 && dims[last].IsConstant(1)) --last;
  return last;
}

}  // namespace

bool GpuProduct::MovesAlongDepth(const ProductParts& parts, const Expr& element,
                                 const ProductRole& role) const {
  bool along_role = false, along_depth = false;
  VisitOnce(element, [&](const Expr& e) {
    if (e.op() != ExprOp::kLoad) return;
    auto is_unit = [&](VariableId variable) {
      auto stride = Coefficient(e->operands[0], variable);
      return stride && stride->IsConstant(1);
    };
    if (!depth_.empty()) along_depth |= is_unit(parts.reduce->reduction->axes[InnermostOf(depth_)]);
    if (!role.axes.empty()) along_role |= is_unit(parts.index[role.axes.back()]);
  });
  return along_depth && !along_role;
}

Dim GpuProduct::HasVectors(const ProductParts& parts, const Expr& element, const ProductRole& role,
                           int count) const {
  Expr load = PlainLoad(element);
  if (!load.valid() || depth_.empty() || accumulator_ != DType::kF32) return 0;
  bool along_depth = MovesAlongDepth(parts, element, role);
  if (!along_depth && role.axes.empty()) return 0;
  size_t inner = InnermostOf(depth_);
  VariableId fast = along_depth ? parts.reduce->reduction->axes[inner] : parts.index[role.axes.back()];
  const Dim& length = along_depth ? depth_[inner] : role.sizes.back();
  const Expr& index = load->operands[0];
  auto is_whole = [count](const Dim& size) { return Equal(FloorMod(size, Dim(count)), Dim(0)); };
  Dim fits = is_whole(length);
  std::vector<std::pair<VariableId, Expr>> zeros;
  auto see = [&](VariableId variable, const Dim& size) {
    zeros.emplace_back(variable, IntConstant(0));
    auto stride = Coefficient(index, variable);
    if (!stride || (variable == fast && !stride->IsConstant(1))) fits = 0;
    if (stride && variable != fast && !size.IsConstant(1)) fits = And(fits, is_whole(*stride));
  };
  const Dims& dims = group_->type(result_).dims;
  for (size_t i = 0; i < dims.size(); ++i) see(parts.index[i], dims[i]);
  for (size_t i = 0; i < depth_.size(); ++i) see(parts.reduce->reduction->axes[i], depth_[i]);
  auto begin = AsDim(Substitute(index, zeros));
  return begin ? And(fits, is_whole(*begin)) : Dim(0);
}

}  // namespace tvmvm::tensor
