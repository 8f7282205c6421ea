// Attention as one kernel: a grid point computes the scores of a block of queries, does the arithmetic on
// their rows where they lie, and multiplies with the values. Scores exist for one block at a time, in scratch
// that the second level of cache holds, so that memory grows with the length and not with its square. Keys
// are packed once for all blocks; a few queries read them where they are.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "compiler/graph/attention_group.h"
#include "compiler/loops/lower_reductions.h"
#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/cpu/tiles/gather_operands.h"
#include "compiler/schedules/cpu/tiles/micro_kernel.h"
#include "compiler/schedules/group.h"
#include "compiler/schedules/product_group.h"
#include "compiler/schedules/schedule_overrides.h"

namespace tvmvm::tensor {
namespace {

using ir::AttentionGroup;
using ir::Dim;
using ir::Dims;
using ir::ValueId;

constexpr DType kType = DType::kF32;
constexpr int64_t kFewestQueries = 12;  // of a block; a multiple of the tiles' heights
constexpr int64_t kSomeRows = 24;  // up to which packing keys takes longer than reading them where they lie
constexpr int64_t kRowOperations = 40;  // an estimate, for each score
constexpr int kLanes = static_cast<int>(kPanelColumns);

std::optional<AttentionGroup> FindIn(const GroupView& group) {
  if (group.nodes().size() < 2 || group.outputs().size() != 1) return std::nullopt;
  std::map<ir::NodeId, int> positions;
  for (ir::NodeId id : group.nodes()) positions.emplace(id, static_cast<int>(positions.size()));
  ir::NodeId last = group.function().value(group.outputs()[0]).producer;
  if (!positions.contains(last) || group.function().node(last).op == nullptr) return std::nullopt;
  return ir::FindAttention(group.function(), last, positions);
}

struct Operand : ContractionOperand {
  std::vector<Expr> batch;  // coordinates of the grid point
};

enum class Form : uint8_t {
  kMany,         // keys packed before
  kSomeInPlace,  // keys read along themselves where they lie
  kFewInPlace,   // the same for so few queries that tiles have just their rows
  kFewDots,      // keys read along the depth where they lie
};

class AttentionKernel {
 public:
  AttentionKernel(const GroupView& group, const TargetInfo& target, AttentionGroup attention)
      : group_(group), function_(group.function()), target_(target), attention_(std::move(attention)) {
    const ir::Node &scores = function_.node(attention_.scores), &result = function_.node(attention_.result);
    queries_ = {MakeOperand(group, scores.inputs[0], scores.Ints("lhs_batch"), scores.Ints("lhs_contract")),
                {}};
    keys_ = {MakeOperand(group, scores.inputs[1], scores.Ints("rhs_batch"), scores.Ints("rhs_contract")), {}};
    values_ = {MakeOperand(group, result.inputs[1], result.Ints("rhs_batch"), result.Ints("rhs_contract")),
               {}};
    batch_sizes_ = SizesOf(queries_, queries_.axes.batch);
    row_sizes_ = SizesOf(queries_, queries_.axes.free);
    depth_sizes_ = SizesOf(queries_, queries_.axes.depth);
    value_sizes_ = SizesOf(values_, values_.axes.free);
    batch_ = Product(batch_sizes_), rows_ = Product(row_sizes_), depth_ = Product(depth_sizes_);
    columns_ = group.type(keys_.value).dims[static_cast<size_t>(keys_.axes.free[0])];
    width_ = Product(value_sizes_);
    std::string problem = fmt::format("batch={} rows={} columns={} depth={} width={}", WordOf(batch_),
                                      WordOf(rows_), WordOf(columns_), WordOf(depth_), WordOf(width_));
    AttentionSchedule schedule;
    made_ = Decide(group, target, std::move(problem), &schedule);
    Dim fitting =
        FloorDiv(Dim(schedule.cached_scores), Max(columns_, Dim(1)) * kFewestQueries) * kFewestQueries;
    const Dim shares = CeilDiv(Dim(schedule.grid_points), Max(batch_, Dim(1)));
    const Dim share = CeilDiv(CeilDiv(rows_, shares), kFewestQueries) * kFewestQueries;
    block_rows_ = Min(Max(Min(fitting, share), Dim(kFewestQueries)), Dim(schedule.most_queries));
  }

  Expected<GroupProgram> Schedule() {
    GroupProgram program;
    if (!ReadsValuesInPlace()) TVMVM_CHECK_OK(AddPacking(values_, {columns_}, width_, 1, &program));
    const Dim in_place = CanReadKeysInPlace();
    const Dim is_few = And(in_place, LessEqual(rows_, kFewRows));
    const Dim is_some =
        KeysLieAlongDepth() ? Dim(0) : And(in_place, And(Not(is_few), LessEqual(rows_, kSomeRows)));
    const Dim is_many = Not(Or(is_few, is_some));
    TVMVM_CHECK_OK(AddCall(KeysLieAlongDepth() ? Form::kFewDots : Form::kFewInPlace, is_few, &program));
    TVMVM_CHECK_OK(AddCall(Form::kSomeInPlace, is_some, &program));
    if (!is_many.IsConstant(0)) {
      TVMVM_CHECK_OK(AddPacking(keys_, depth_sizes_, columns_, is_many, &program));
      TVMVM_CHECK_OK(AddCall(Form::kMany, is_many, &program));
    }
    if (!is_few.IsConstant(1)) program.calls.back().schedules.push_back(made_);
    return program;
  }

 private:
  Dims SizesOf(const Operand& operand, const std::vector<int64_t>& axes) const {
    return operand.Sizes(group_, axes);
  }

  // --- which form ---
  bool KeysLieAlongDepth() const { return LiesAlong(keys_, keys_.axes.depth); }

  // Positions along `axes` are neighbours in memory.
  bool LiesAlong(const Operand& operand, const std::vector<int64_t>& axes) const {
    int64_t next = group_.type(operand.value).rank();
    for (size_t i = axes.size(); i-- > 0;)
      if (axes[i] != --next) return false;
    return !axes.empty();
  }

  // Values whose rows are neighbours, one row for each key, in whole panels or at least as many as can
  // overlap.
  bool ReadsValuesInPlace() const {
    return LiesAlong(values_, values_.axes.free) && (FloorMod(width_, kPanelColumns).IsConstant(0) ||
                                                     LessEqual(kMinColumnsInPlace, width_).IsConstant(1));
  }

  Dim CanReadKeysInPlace() const {
    if (KeysLieAlongDepth()) return 1;
    if (!LiesAlong(keys_, keys_.axes.free) || keys_.axes.depth.size() != 1) return 0;
    return LessEqual(kMinColumnsInPlace, columns_);
  }

  // --- packing ---
  // A call that packs an operand into panels in a workspace of its own.
  Status AddPacking(const Operand& operand, const Dims& depth_sizes, const Dim& columns, const Dim& when,
                    GroupProgram* program) {
    const Dim panels = PackedPanels(columns), depth = Product(depth_sizes);
    const auto workspace = static_cast<uint32_t>(program->workspaces.size());
    program->workspaces.push_back({kType, batch_ * panels * depth * kPanelColumns});
    KernelCall call;
    call.when = when;
    call.kernel.name = "pack";
    InputReader reader(group_, {InputOf(group_, operand.value)}, &call.kernel);
    call.arguments = reader.arguments();
    const uint32_t target = call.kernel.AddArgument("panels", kType, Access::kWrite);
    call.arguments.push_back({ArgumentKind::kWorkspace, workspace});
    Nest nest(&call.kernel);
    Expr panel = Variable(nest.Grid(0, "panel", panels));
    nest.Grid(1, "unused", 1);
    Expr number = Variable(nest.Grid(2, "batch", batch_));
    const std::vector<Expr> batch = BatchOf(operand, number, nest);
    PanelGather gather{.depth = depth,
                       .columns = columns,
                       .first = panel * IntConstant(kPanelColumns),
                       .panels = 1,
                       .target = target};
    gather.base = nest.Let("to", (number * DimValue(panels) + panel) * DimValue(depth * kPanelColumns));
    gather.depth_is_contiguous = LiesAlong(operand, operand.axes.depth);
    gather.element = [&](const Expr& k, const Expr& column) {
      return Element(operand, batch, FreeOf(operand, column), Unflatten(k, depth_sizes), reader);
    };
    GatherPanels(nest, gather, target_);
    call.kernel.flops = batch_ * columns * depth;
    call.kernel.body = nest.Finish();
    program->calls.push_back(std::move(call));
    return {};
  }

  std::vector<Expr> FreeOf(const Operand& operand, const Expr& position) const {
    return Unflatten(position, SizesOf(operand, operand.axes.free));
  }

  std::vector<Expr> BatchOf(const Operand& operand, const Expr& number, Nest& nest) const {
    return Bound(nest, "batch", Unflatten(number, SizesOf(operand, operand.axes.batch)));
  }

  static std::vector<Expr> Bound(Nest& nest, const char* name, std::vector<Expr> list) {
    for (Expr& value : list) value = nest.Let(name, std::move(value));
    return list;
  }

  std::vector<Expr> IndexOf(const Operand& operand, const std::vector<Expr>& batch,
                            const std::vector<Expr>& free, const std::vector<Expr>& depth) const {
    std::vector<Expr> index(static_cast<size_t>(group_.type(operand.value).rank()));
    for (const auto& [axes, list] :
         {std::pair(&operand.axes.batch, &batch), std::pair(&operand.axes.free, &free),
          std::pair(&operand.axes.depth, &depth)})
      for (size_t i = 0; i < axes->size(); ++i) index[static_cast<size_t>((*axes)[i])] = (*list)[i];
    return index;
  }

  Expr Element(const Operand& operand, const std::vector<Expr>& batch, const std::vector<Expr>& free,
               const std::vector<Expr>& depth, InputReader& reader) const {
    return reader(operand.value, IndexOf(operand, batch, free, depth));
  }

  // --- the kernel ---
  Status AddCall(Form form, const Dim& when, GroupProgram* program) {
    if (when.IsConstant(0)) return {};
    return tensor::AddCall(when, std::bind_front(&AttentionKernel::BuildKernel, this, form), program);
  }

  Expected<std::set<int>> BuildKernel(Form form, const std::set<int>& wanted, LoopKernel* kernel,
                                      std::vector<KernelArgument>* arguments) {
    kernel->name = "attention";
    InputReader reader(group_, wanted, kernel);
    reader_ = &reader;
    std::vector<KernelArgument> list = reader.arguments();
    auto add_packed = [&](uint32_t workspace) {
      list.push_back({ArgumentKind::kWorkspace, workspace});
      return kernel->AddArgument("panels", kType, Access::kRead);
    };
    uint32_t workspace = 0;
    if (!ReadsValuesInPlace()) packed_values_ = add_packed(workspace++);
    if (form == Form::kMany) packed_keys_ = add_packed(workspace);
    const std::vector<uint32_t> outputs = AddOutputs(group_, kernel, &list);
    if (arguments) *arguments = std::move(list);

    Nest nest(kernel);
    const bool is_few = form == Form::kFewDots || form == Form::kFewInPlace;
    const Dim block = is_few ? Dim(kFewRows) : block_rows_;
    Expr row_block = Variable(nest.Grid(0, "row_block", CeilDiv(rows_, block)));
    nest.Grid(1, "unused", 1);
    batch_number_ = Variable(nest.Grid(2, "batch", batch_));
    for (Operand* operand : {&queries_, &keys_, &values_})
      operand->batch = BatchOf(*operand, batch_number_, nest);
    first_row_ = nest.Let("first_row", row_block * DimValue(block));
    ProductBlock rows{.first_row = first_row_,
                      .rows = nest.Let("rows", Min(DimValue(block), DimValue(rows_) - first_row_)),
                      .most_rows = block,
                      .is_padded = !is_few};
    // A vector more than there are keys, so that rows do not all begin in the same lines of the cache.
    pitch_ = RoundUp(columns_, kPanelColumns) + kPanelColumns;
    scores_ = nest.Scratch("scores", kType, PaddedRows(block) * pitch_);
    TVMVM_CHECK_OK(Scores(form, rows, nest));
    TVMVM_CHECK_OK(RowArithmetic(rows, nest));
    TVMVM_CHECK_OK(Results(rows, outputs[0], nest));
    kernel->flops = batch_ * rows_ * columns_ * ((depth_ + width_) * 2 + kRowOperations);
    kernel->body = nest.Finish();
    return reader.touched();
  }

  Expr ScoreAt(const Expr& row, const Expr& column) const {
    return (row - first_row_) * DimValue(pitch_) + column;
  }

  // The coordinates that an element of a row of scores has in `value`.
  std::vector<Expr> ScoreIndex(ValueId value, const Expr& row, const Expr& column) const {
    Dims leading = group_.type(value).dims;
    leading.pop_back();
    Dims own = batch_sizes_;
    own.insert(own.end(), row_sizes_.begin(), row_sizes_.end());
    std::vector<Expr> index;
    if (leading == own) {
      index = queries_.batch;
      for (const Expr& at : Unflatten(row, row_sizes_)) index.push_back(at);
    } else {
      index = Unflatten(batch_number_ * DimValue(rows_) + row, leading);
    }
    index.push_back(column);
    return index;
  }

  Status Scores(Form form, const ProductBlock& rows, Nest& nest) {
    MatrixProduct product;
    product.rows = rows_;
    product.columns = columns_;
    product.depth = depth_;
    product.accumulator = kType;
    product.store = [&](Nest& inner, const Expr& row, const Expr& column, const Expr& sum) -> Status {
      const ValueId made = function_.node(attention_.scores).outputs[0];
      auto leaf = [&](ValueId value, std::span<const Expr> at) {
        return value == made ? sum : (*reader_)(value, at);
      };
      return StoreScore(inner, attention_.first, row, column, leaf);
    };
    auto gather = [&](Nest& inner, const Expr& row, uint32_t target, const Expr& base) {
      GatherQuery(inner, row, target, base);
    };
    if (form == Form::kFewDots) {
      const uint32_t queries = nest.Scratch("queries", kType, depth_ * Dim(kFewRows));
      Expr row = Variable(nest.Open("row", IntConstant(0), rows.rows));
      gather(nest, rows.first_row + row, queries, nest.Let("to", row * DimValue(depth_)));
      nest.Close();
      product.left.buffer = queries;
      product.left.dtype = kType;
      product.left.offset = [&](Nest&, const Expr& at) { return at * DimValue(depth_); };
      SetKeysInPlace(RightForm::kColumns, &product);
      return AddDotProducts(product, nest);
    }
    product.left.gather = gather;
    product.left.keeps_apart = true;  // a head has few elements
    if (form != Form::kMany) {
      SetKeysInPlace(RightForm::kInPlace, &product);
    } else {
      SetPacked(packed_keys_, &product);
    }
    product.schedule = ChooseProduct(product, target_);
    return AddMatrixProduct(product, rows, target_, nest);
  }

  void GatherQuery(Nest& nest, const Expr& row, uint32_t target, const Expr& base) {
    std::vector<Expr> free = Bound(nest, "at", FreeOf(queries_, row));
    InChunks(nest, depth_, [&](const Expr& k) {
      Expr value = Element(queries_, queries_.batch, free, Unflatten(k, depth_sizes_), *reader_);
      std::vector<Expr> placed = nest.Place(std::vector<Expr>{base + k, value});
      nest.Add(Store(target, placed[0], placed[1]));
    });
  }

  void SetPacked(uint32_t buffer, MatrixProduct* product) const {
    product->right.form = RightForm::kPanels;
    product->right.buffer = buffer;
    product->right.dtype = kType;
    product->right.base = [this, elements = product->packed_elements()](Nest&) {
      return batch_number_ * DimValue(elements);
    };
  }

  // Distance of neighbours along an axis of an operand.
  Dim StepOf(const Operand& operand, int64_t axis) const {
    const Dims& dims = group_.type(operand.value).dims;
    return Product(Dims(dims.begin() + axis + 1, dims.end()));
  }

  void SetInPlace(const Operand& operand, RightForm form, int64_t axis, MatrixProduct* product) {
    product->right.form = form;
    product->right.buffer = reader_->Buffer(reader_->InputOf(operand.value));
    product->right.dtype = kType;
    product->right.step = DimValue(StepOf(operand, axis));
    product->right.base = [this, &operand](Nest&) {
      const std::vector<Expr> none(operand.axes.free.size() + operand.axes.depth.size(), IntConstant(0));
      return FlatIndex(group_.type(operand.value).dims, IndexOf(operand, operand.batch, none, none));
    };
  }

  void SetKeysInPlace(RightForm form, MatrixProduct* product) {
    SetInPlace(keys_, form, form == RightForm::kColumns ? keys_.axes.free[0] : keys_.axes.depth[0], product);
  }

  // --- rows ---
  // What lies in scratch while the arithmetic goes on: `held_` of the row at hand.
  Status RowArithmetic(const ProductBlock& rows, Nest& nest) {
    held_ = attention_.first;
    known_.clear();
    Expr r = Variable(nest.Open("row", IntConstant(0), rows.rows));
    Expr row = nest.Let("row", first_row_ + r);
    for (ir::NodeId id : attention_.row_nodes) {
      const ir::Node& node = function_.node(id);
      if (node.op->kind == ir::OpKind::kReduce) TVMVM_CHECK_OK(Hold(nest, node.inputs[0], row));
      const ValueId value = node.outputs[0];
      std::vector<Expr> index = ScoreIndex(value, row, IntConstant(0));
      Expr element = group_.Expand(value, index, RowLeaf(row, value), nest.kernel());
      if (!element.valid()) return Missing();
      const int width = VectorLanes(target_, kType);
      known_[value] =
          nest.LetVariable("statistic", nest.Place(ReductionLowering(&nest, width).Lower(element, Lanes{})));
    }
    TVMVM_CHECK_OK(Hold(nest, attention_.weights, row));
    nest.Close();
    return {};
  }

  static Status Missing() { return MakeError(Code::kInternal, "a value of a row of scores has no element"); }

  GroupView::Leaf RowLeaf(const Expr& row, ValueId wanted) {
    return [this, row, wanted](ValueId value, std::span<const Expr> at) -> Expr {
      if (value == held_) return Load(scores_, kType, ScoreAt(row, at.back()));
      if (auto found = known_.find(value); found != known_.end() && value != wanted) return found->second;
      return (*reader_)(value, at);
    };
  }

  // Puts the elements of `value` where those that they are made of lie.
  Status Hold(Nest& nest, ValueId value, const Expr& row) {
    if (value == held_) return {};
    const Expr lanes = IntConstant(kLanes), columns = DimValue(columns_);
    const GroupView::Leaf leaf = RowLeaf(row, value);
    auto store = [&](const Expr& begin, bool is_masked) -> Status {
      Expr lane = Variable(nest.Open("lane", IntConstant(0), lanes, LoopKind::kVectorized));
      if (is_masked) nest.OpenIf(Less(begin + lane, columns));
      TVMVM_CHECK_OK(StoreScore(nest, value, row, begin + lane, leaf));
      if (is_masked) nest.Close();
      nest.Close();
      return {};
    };
    const Dim whole = FloorDiv(columns_, kLanes) * kLanes;
    if (!whole.IsConstant(0)) {
      Expr chunk = Variable(nest.Open("chunk", IntConstant(0), DimValue(whole), LoopKind::kSerial, kLanes));
      TVMVM_CHECK_OK(store(chunk, false));
      nest.Close();
    }
    if (!(whole == columns_)) {
      nest.OpenIf(Less(DimValue(whole), columns));
      TVMVM_CHECK_OK(store(DimValue(whole), true));
      nest.Close();
    }
    held_ = value;
    return {};
  }

  Status StoreScore(Nest& nest, ValueId value, const Expr& row, const Expr& column,
                    const GroupView::Leaf& leaf) {
    Expr element = group_.Expand(value, ScoreIndex(value, row, column), leaf, nest.kernel());
    if (!element.valid()) return Missing();
    std::vector<Expr> placed = nest.Place(std::vector<Expr>{ScoreAt(row, column), element});
    nest.Add(Store(scores_, placed[0], placed[1]));
    return {};
  }

  Status Results(const ProductBlock& rows, uint32_t output, Nest& nest) {
    MatrixProduct product;
    product.rows = rows_;
    product.columns = width_;
    product.depth = columns_;
    product.accumulator = kType;
    product.left.buffer = scores_;
    product.left.dtype = kType;
    product.left.step = IntConstant(1);
    product.left.pitch = pitch_;
    product.left.keeps_apart = true;
    product.left.offset = [&](Nest&, const Expr& row) { return ScoreAt(row, IntConstant(0)); };
    if (ReadsValuesInPlace()) {
      SetInPlace(values_, RightForm::kInPlace, values_.axes.depth[0], &product);
    } else {
      SetPacked(packed_values_, &product);
    }
    product.store = [&](Nest& inner, const Expr& row, const Expr& column, const Expr& sum) -> Status {
      Expr flat = (batch_number_ * DimValue(rows_) + row) * DimValue(width_) + column;
      std::vector<Expr> placed = inner.Place(std::vector<Expr>{flat, sum});
      inner.Add(Store(output, placed[0], placed[1]));
      return {};
    };
    product.schedule = ChooseProduct(product, target_);
    return AddMatrixProduct(product, rows, target_, nest);
  }

  const GroupView& group_;
  const ir::Function& function_;
  const TargetInfo& target_;
  AttentionGroup attention_;
  Operand queries_, keys_, values_;
  Dims batch_sizes_, row_sizes_, depth_sizes_, value_sizes_;
  Dim batch_, rows_, depth_, columns_, width_;  // columns: keys; width: of a value
  KernelSchedule made_;
  Dim block_rows_, pitch_;
  InputReader* reader_ = nullptr;
  uint32_t packed_keys_ = 0, packed_values_ = 0, scores_ = 0;
  Expr batch_number_, first_row_;
  ValueId held_;
  std::map<ValueId, Expr> known_;
};

}  // namespace

bool TakesAttention(const GroupView& group) { return FindIn(group).has_value(); }

Expected<GroupProgram> ScheduleAttention(const GroupView& group, const TargetInfo& target) {
  std::optional<AttentionGroup> attention = FindIn(group);
  if (!attention) return MakeError(Code::kInternal, "not a group around attention");
  return AttentionKernel(group, target, std::move(*attention)).Schedule();
}

}  // namespace tvmvm::tensor
