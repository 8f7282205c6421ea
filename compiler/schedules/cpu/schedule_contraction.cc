// Contractions: any axes, any number of batch axes, constants packed at compile time, elementwise work fused
// on both sides.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"
#include "compiler/schedules/coded_panels.h"
#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/cpu/tiles/gather_operands.h"
#include "compiler/schedules/group.h"
#include "compiler/schedules/product_group.h"
#include "compiler/schedules/schedule_overrides.h"

namespace tvmvm::tensor {
namespace {

// Where an operand's elements lie when they are plain loads at linear offsets.
struct LinearAccess {
  uint32_t buffer = 0;
  DType dtype = DType::kInvalid;
  Expr base;                                     // with free and depth coordinates 0
  std::vector<ir::Dim> free_steps;               // by free axis
  std::optional<ir::Dim> free_step, depth_step;  // of flattened positions
};

class ContractionKernel {
 public:
  // `turned`: the result's columns are computed as rows, its rows as columns.
  ContractionKernel(const GroupView& group, const TargetInfo& target, ir::NodeId anchor, bool turned = false)
      : group_(group),
        target_(target),
        anchor_(anchor),
        node_(group.function().node(anchor)),
        swapped_(turned) {
    lhs_ = MakeOperand(group, node_.inputs[0], node_.Ints("lhs_batch"), node_.Ints("lhs_contract"));
    rhs_ = MakeOperand(group, node_.inputs[1], node_.Ints("rhs_batch"), node_.Ints("rhs_contract"));
    swapped_ = swapped_ || ir::Product(rhs_.Sizes(group, rhs_.axes.free)).IsConstant(1);
    if (swapped_) std::swap(lhs_, rhs_);
    batch_sizes_ = lhs_.Sizes(group, lhs_.axes.batch);
    depth_sizes_ = lhs_.Sizes(group, lhs_.axes.depth);
    row_sizes_ = lhs_.Sizes(group, lhs_.axes.free);
    column_sizes_ = rhs_.Sizes(group, rhs_.axes.free);
    accumulator_ = ProductAccumulator(group.type(lhs_.value).dtype, group.type(rhs_.value).dtype,
                                      group.type(node_.outputs[0]).dtype);
  }

  Expected<GroupProgram> Schedule() {
    GroupProgram program;
    TVMVM_CHECK_OK(PackRight(&program));
    if (coded_ && coded_->layout().by_bytes && coded_->layout().digits == 1) {
      TVMVM_CHECK_OK(AddRowsOfBytes(1, &program));
      TVMVM_CHECK_OK(AddCall(RightForm::kBytes, 1, &program));
      return program;
    }
    ContractionSchedule schedule;
    KernelSchedule made = Decide(group_, target_, ProblemWords(), &schedule);
    if (packed_) {
      TVMVM_CHECK_OK(AddPanels(schedule, &program));
      if (program.calls.size() > 1) program.calls[0].schedules.push_back(std::move(made));
      return program;
    }
    const auto [form, is_few] = FormOfFew(schedule);
    const bool has_digits = form == RightForm::kBytes;
    if (has_digits) TVMVM_CHECK_OK(AddRowsOfBytes(target_.has_vnni ? 1 : is_few, &program));
    const ir::Dim is_turned = HasFewColumns(schedule), is_plain = Not(is_turned);
    TVMVM_CHECK_OK(AddCall(form, And(is_plain, is_few), &program));
    const RightForm otherwise = has_digits ? RightForm::kDigits : RightForm::kGathered;
    TVMVM_CHECK_OK(AddCall(otherwise, And(is_plain, Not(is_few)), &program));
    if (!is_turned.IsConstant(0)) {
      ContractionKernel turned(group_, target_, anchor_, true);
      TVMVM_CHECK_OK(turned.AddTurned(is_turned, schedule, &program));
    }
    program.calls[0].schedules.push_back(std::move(made));
    return program;
  }

 private:
  std::string ProblemWords() const {
    return fmt::format("{} batch={} rows={} columns={} depth={}", DTypeName(accumulator_),
                       WordOf(ir::Product(batch_sizes_)), WordOf(ir::Product(row_sizes_)),
                       WordOf(ir::Product(column_sizes_)), WordOf(ir::Product(depth_sizes_)));
  }

  // Few columns leave most lanes of a vector along them empty; there are more rows than that.
  ir::Dim HasFewColumns(const ContractionSchedule& schedule) const {
    if (coded_ || swapped_ || schedule.few_columns == 0) return 0;
    const ir::Dim rows = ir::Product(row_sizes_), columns = ir::Product(column_sizes_);
    return And(LessEqual(columns, schedule.few_columns), LessEqual(columns * 3, rows));
  }

  Status AddTurned(const ir::Dim& when, const ContractionSchedule& schedule, GroupProgram* program) {
    most_rows_ = schedule.few_columns;
    constexpr int64_t kOfGathered = 18;  // steps that gathering a row for dots takes as long as, for each row
    const ir::Dim gathered = LiesAlongDepth(lhs_) ? ir::Dim(0) : ir::Product(row_sizes_) * kOfGathered;
    const bool are_dots = LiesAlongDepth(rhs_) && accumulator_ == DType::kF32;
    const ir::Dim least = Max(gathered, schedule.depth_of_dots);
    const ir::Dim is_deep = are_dots ? LessEqual(least, ir::Product(depth_sizes_)) : ir::Dim(0);
    TVMVM_CHECK_OK(AddCall(RightForm::kColumns, And(when, is_deep), program));
    return AddCall(RightForm::kGathered, And(when, Not(is_deep)), program);
  }

  // How the right operand is read where there are few rows, and where that is so; else it is gathered.
  std::pair<RightForm, ir::Dim> FormOfFew(const ContractionSchedule& schedule) {
    const ir::Dim rows = ir::Product(row_sizes_), columns = ir::Product(column_sizes_);
    if (coded_)
      return {coded_->layout().by_bytes ? RightForm::kBytes : RightForm::kCoded,
              LessEqual(rows, schedule.rows_of_codes)};
    if (!CanReadRightInPlace())
      return {RightForm::kColumns, CanUseDots() ? LessEqual(rows, schedule.rows_of_dots) : ir::Dim(0)};
    if (columns.constant().value_or(INT64_MAX) <= kMinColumnsInPlace && HasWholePanels())
      return {RightForm::kInPlace, 1};
    ir::Dim is_few = LessEqual(rows, schedule.rows_in_place);
    if (!HasWholePanels()) is_few = And(is_few, LessEqual(kMinColumnsInPlace, columns));
    return {RightForm::kInPlace, is_few};
  }

  Status PackRight(GroupProgram* program) {
    auto panels = PackedPanels(ir::Product(column_sizes_)).constant();
    if (panels && accumulator_ == DType::kF32)
      coded_ = CodedPanels::Find(group_, rhs_.value, rhs_.axes, *panels,
                                 BlockPanels(ir::Product(column_sizes_)), true);
    if (coded_) coded_->AddTo(program);
    const std::optional<ConstantInput> right = group_.ConstantOf(rhs_.value);
    if (!right || !panels || !CheckPackable(right->dtype, right->dims, rhs_.axes, *panels)) return {};
    packed_ = true;
    of_bytes_ = IsProductOfBytes(group_.type(lhs_.value).dtype, right->dtype, accumulator_);
    program->packed.push_back(PackInPanels({right->number, right->dims, rhs_.axes, *panels}, of_bytes_));
    return {};
  }

  // Narrow floats are widened once for many rows.
  Status AddPanels(const ContractionSchedule& schedule, GroupProgram* program) {
    const bool is_narrow = !of_bytes_ && group_.type(rhs_.value).dtype != accumulator_;
    const ir::Dim rows = ir::Product(row_sizes_),
                  is_few = is_narrow ? LessEqual(rows, schedule.rows_of_halves) : ir::Dim(1);
    TVMVM_CHECK_OK(AddCall(RightForm::kPanels, is_few, program));
    return AddCall(RightForm::kGathered, Not(is_few), program);
  }

  bool CanReadRightInPlace() {
    if (!HasWholePanels() && LessEqual(kMinColumnsInPlace, ir::Product(column_sizes_)).IsConstant(0))
      return false;
    LoopKernel draft;
    InputReader reader(group_, {}, &draft);
    auto access = Access(rhs_, AnyBatch(), draft, reader);
    return access && access->dtype == accumulator_ && access->free_step == ir::Dim(1) &&
           access->depth_step.has_value();
  }

  bool HasWholePanels() const { return FloorMod(ir::Product(column_sizes_), kPanelColumns).IsConstant(0); }

  bool CanUseDots() { return accumulator_ == DType::kF32 && LiesAlongDepth(lhs_) && LiesAlongDepth(rhs_); }

  bool LiesAlongDepth(const ContractionOperand& operand) {
    LoopKernel draft;
    InputReader reader(group_, {}, &draft);
    auto access = Access(operand, AnyBatch(), draft, reader);
    return access && access->dtype == accumulator_ && access->free_step && access->depth_step == ir::Dim(1);
  }

  // Batch coordinates for looking at how an operand is read.
  std::vector<Expr> AnyBatch() const { return std::vector<Expr>(batch_sizes_.size(), IntConstant(0)); }

  Status AddCall(RightForm form, const ir::Dim& when, GroupProgram* program) {
    if (when.IsConstant(0)) return {};
    TVMVM_CHECK_OK(
        tensor::AddCall(when, std::bind_front(&ContractionKernel::BuildKernel, this, form), program));
    program->calls.back().schedules.push_back(made_);
    return {};
  }

  // The call that rounds the left operand's rows to bytes; at this level where `when` is not 0, elsewhere
  // nothing reads them.
  Status AddRowsOfBytes(const ir::Dim& when, GroupProgram* program) {
    AddByteWorkspaces(coded_->layout(), ir::Product(batch_sizes_) * ir::Product(row_sizes_), program);
    return tensor::AddCall(1, std::bind_front(&ContractionKernel::BuildRowsOfBytes, this, when), program);
  }

  // Builds the kernel with arguments for the inputs `wanted`; gives the inputs that it reads.
  Expected<std::set<int>> BuildKernel(RightForm form, const std::set<int>& wanted, LoopKernel* kernel,
                                      std::vector<KernelArgument>* arguments) {
    kernel->name = "contract";
    InputReader reader(group_, wanted, kernel);
    std::vector<KernelArgument> list = reader.arguments();
    MatrixProduct product;
    product.batch = ir::Product(batch_sizes_);
    product.rows = ir::Product(row_sizes_);
    product.most_rows = most_rows_;
    product.columns = ir::Product(column_sizes_);
    product.depth = ir::Product(depth_sizes_);
    product.accumulator = accumulator_;
    uint32_t packed_buffer = 0;
    if (packed_) {
      product.of_bytes = of_bytes_;
      DType dtype = of_bytes_ ? DType::kU32 : group_.type(rhs_.value).dtype;
      packed_buffer = kernel->AddArgument("panels", dtype, Access::kRead);
      list.push_back({ArgumentKind::kPacked, 0});
    }
    CodedBuffers codes;
    if (coded_) codes = AddCodedArguments(coded_->layout(), kernel, &list);
    if (form == RightForm::kBytes || form == RightForm::kDigits)
      product.right.rows = AddByteArguments(coded_->layout(), Access::kRead, kernel, &list);
    std::vector<uint32_t> outputs = AddOutputs(group_, kernel, &list);
    if (arguments) *arguments = std::move(list);

    std::vector<Expr> batch;  // the grid point's batch coordinates
    Expr batch_number;
    product.begin = [&](Nest& nest, const Expr& number) {
      batch_number = number;
      for (const Expr& coordinate : Unflatten(number, batch_sizes_))
        batch.push_back(nest.Let("batch", coordinate));
    };
    if (form != RightForm::kBytes) SetLeft(form == RightForm::kColumns, *kernel, reader, batch, &product);
    if (coded_) {
      SetCodes(form, codes, batch_number, &product);
    } else {
      SetRight(form, packed_buffer, *kernel, reader, batch, batch_number, &product);
    }
    auto results = ProductResults::Find(group_, anchor_);
    if (!results) return MakeError(Code::kInternal, "a contraction whose results cannot be placed");
    product.store = [&](Nest& nest, const Expr& row, const Expr& column, const Expr& sum) -> Status {
      return results->Store(nest, PositionAt(batch, batch_number, row, column), sum, reader, outputs);
    };
    product.has_simple_store = results->KeepOrder() && group_.outputs().size() == 1 &&
                               group_.outputs()[0] == group_.function().node(anchor_).outputs[0];
    made_ = DecideProduct(group_, target_, kernel->name, &product);
    if (form == RightForm::kColumns) {
      TVMVM_CHECK_OK(BuildDotProducts(product, kernel));
    } else {
      // A draft reads what any level does.
      TargetInfo target = target_;
      if (form == RightForm::kDigits && arguments == nullptr) target.has_vnni = false;
      TVMVM_CHECK_OK(BuildMatrixProduct(product, target, kernel));
    }
    return reader.touched();
  }

  // The kernel that rounds the left operand's rows to bytes.
  Expected<std::set<int>> BuildRowsOfBytes(const ir::Dim& when, const std::set<int>& wanted,
                                           LoopKernel* kernel, std::vector<KernelArgument>* arguments) {
    kernel->name = "round_rows";
    InputReader reader(group_, wanted, kernel);
    std::vector<KernelArgument> list = reader.arguments();
    const ByteRows to = AddByteArguments(coded_->layout(), Access::kWrite, kernel, &list);
    if (arguments) *arguments = std::move(list);
    const ir::Dim rows = ir::Product(row_sizes_);
    auto gather = [&](Nest& nest, const Expr& row, uint32_t buffer) {
      std::vector<Expr> batch;
      for (const Expr& coordinate : Unflatten(FloorDiv(row, DimValue(rows)), batch_sizes_))
        batch.push_back(nest.Let("batch", coordinate));
      Expr own = batch_sizes_.empty() ? row : nest.Let("own", FloorMod(row, DimValue(rows)));
      GatherRow(nest, own, buffer, IntConstant(0), reader, batch);
    };
    TVMVM_CHECK_OK(
        BuildByteRows(coded_->layout(), to, ir::Product(batch_sizes_) * rows, when, target_, gather, kernel));
    return reader.touched();
  }

  ProductResults::Position PositionAt(const std::vector<Expr>& batch, const Expr& batch_number,
                                      const Expr& row, const Expr& column) const {
    ProductResults::Position position;
    position.coordinates = batch;
    std::vector<Expr> rows = Unflatten(row, row_sizes_), columns = Unflatten(column, column_sizes_);
    if (swapped_) std::swap(rows, columns);
    position.coordinates.insert(position.coordinates.end(), rows.begin(), rows.end());
    position.coordinates.insert(position.coordinates.end(), columns.begin(), columns.end());
    const Expr all_rows = DimValue(ir::Product(row_sizes_)),
               all_columns = DimValue(ir::Product(column_sizes_));
    const Expr start = batch_sizes_.empty() ? IntConstant(0) : batch_number * all_rows * all_columns;
    position.flat = start + (swapped_ ? column * all_rows + row : row * all_columns + column);
    return position;
  }

  // The operand's element at coordinates by role.
  Expr ElementOf(const ContractionOperand& operand, const std::vector<Expr>& batch,
                 const std::vector<Expr>& free, const std::vector<Expr>& depth, LoopKernel* kernel,
                 InputReader& reader) {
    std::vector<Expr> index(static_cast<size_t>(group_.type(operand.value).rank()));
    auto place = [&](const std::vector<int64_t>& axes, const std::vector<Expr>& coordinates) {
      for (size_t i = 0; i < axes.size(); ++i) index[static_cast<size_t>(axes[i])] = coordinates[i];
    };
    place(operand.axes.batch, batch);
    place(operand.axes.free, free);
    place(operand.axes.depth, depth);
    return group_.Expand(
        operand.value, index, [&](ir::ValueId value, std::span<const Expr> at) { return reader(value, at); },
        kernel);
  }

  std::optional<LinearAccess> Access(const ContractionOperand& operand, const std::vector<Expr>& batch,
                                     LoopKernel& kernel, InputReader& reader) {
    std::vector<std::pair<VariableId, Expr>> zeros;
    auto variables = [&](size_t count) {
      std::vector<Expr> list;
      for (size_t i = 0; i < count; ++i) {
        VariableId variable = kernel.NewVariable("at");
        zeros.emplace_back(variable, IntConstant(0));
        list.push_back(Variable(variable));
      }
      return list;
    };
    std::vector<Expr> free = variables(operand.axes.free.size()),
                      depth = variables(operand.axes.depth.size());
    Expr element = ElementOf(operand, batch, free, depth, &kernel, reader);
    if (!element.valid() || element.op() != ExprOp::kLoad || element->operands.size() != 1)
      return std::nullopt;
    const Expr& index = element->operands[0];
    LinearAccess access{.buffer = element->id, .dtype = element.dtype()};
    std::vector<ir::Dim> depth_steps;
    for (const auto& [list, steps] :
         {std::pair(&free, &access.free_steps), std::pair(&depth, &depth_steps)}) {
      for (const Expr& variable : *list) {
        auto step = Coefficient(index, variable->id);
        if (!step) return std::nullopt;
        steps->push_back(*step);
      }
    }
    access.base = Substitute(index, zeros);
    access.free_step = FlattenedStep(operand.Sizes(group_, operand.axes.free), access.free_steps);
    access.depth_step = FlattenedStep(operand.Sizes(group_, operand.axes.depth), depth_steps);
    return access;
  }

  void SetLeft(bool is_dots, LoopKernel& kernel, InputReader& reader, std::vector<Expr>& batch,
               MatrixProduct* product) {
    auto access = Access(lhs_, AnyBatch(), kernel, reader);
    const bool in_place = access && access->depth_step && access->dtype == accumulator_;
    // Dot products read rows along the depth.
    if (of_bytes_ || !in_place || (is_dots && !(*access->depth_step == ir::Dim(1)))) {
      product->left.gather = [this, &reader, &batch](Nest& nest, const Expr& row, uint32_t target,
                                                     const Expr& base) {
        GatherRow(nest, row, target, base, reader, batch);
      };
      return;
    }
    product->left.buffer = access->buffer;
    product->left.dtype = access->dtype;
    product->left.step = DimValue(*access->depth_step);
    product->left.is_linear = access->free_step.has_value();
    product->left.pitch = access->free_step.value_or(0);
    auto bound = std::make_shared<std::optional<LinearAccess>>();
    product->left.offset = [this, &reader, &batch, bound](Nest& nest, const Expr& row) {
      if (!*bound) *bound = Access(lhs_, batch, *nest.kernel(), reader);
      const LinearAccess& at = **bound;
      if (at.free_step) return at.base + row * DimValue(*at.free_step);
      Expr offset = at.base;
      std::vector<Expr> coordinates = Unflatten(row, row_sizes_);
      for (size_t i = 0; i < coordinates.size(); ++i)
        offset = offset + coordinates[i] * DimValue(at.free_steps[i]);
      return offset;
    };
  }

  void GatherRow(Nest& nest, const Expr& row, uint32_t target, const Expr& base, InputReader& reader,
                 const std::vector<Expr>& batch) {
    std::vector<Expr> free;
    for (const Expr& coordinate : Unflatten(row, row_sizes_)) free.push_back(nest.Let("at", coordinate));
    std::vector<Expr> depth;
    Expr flat = IntConstant(0);
    size_t count = depth_sizes_.size();
    for (size_t i = 0; i + 1 < count; ++i) {
      depth.push_back(Variable(nest.Open("k", IntConstant(0), DimValue(depth_sizes_[i]))));
      flat = (flat + depth.back()) * DimValue(depth_sizes_[i + 1]);
    }
    Expr from = nest.Let("from", base + flat);
    auto store = [&](const Expr& k) {
      std::vector<Expr> at = depth;
      if (count > 0) at.push_back(k);
      Expr value = ElementOf(lhs_, batch, free, at, nest.kernel(), reader);
      if (!of_bytes_) value = Cast(accumulator_, value);
      std::vector<Expr> placed = nest.Place(std::vector<Expr>{from + k, value});
      nest.Add(Store(target, placed[0], placed[1]));
    };
    InChunks(nest, count > 0 ? depth_sizes_.back() : ir::Dim(1), store);
    for (size_t i = 0; i + 1 < count; ++i) nest.Close();
  }

  void SetRight(RightForm form, uint32_t packed_buffer, LoopKernel& kernel, InputReader& reader,
                std::vector<Expr>& batch, const Expr& batch_number, MatrixProduct* product) {
    RightOperand& right = product->right;
    right.form = form;
    right.dtype = group_.type(rhs_.value).dtype;
    if (form == RightForm::kPanels) {
      right.buffer = packed_buffer;
      if (of_bytes_) right.dtype = DType::kU32;
      right.base = [&batch_number, elements = product->packed_elements()](Nest&) {
        return batch_number * DimValue(elements);
      };
      return;
    }
    if (form == RightForm::kInPlace || form == RightForm::kColumns) {
      auto access = Access(rhs_, AnyBatch(), kernel, reader);
      right.buffer = access->buffer;
      right.dtype = access->dtype;
      right.step = DimValue(form == RightForm::kInPlace ? *access->depth_step : *access->free_step);
      right.base = [this, &reader, &batch](Nest& nest) {
        return Access(rhs_, batch, *nest.kernel(), reader)->base;
      };
      return;
    }
    auto gather = [this, &reader, &batch, &batch_number, packed_buffer, all = PackedPanels(product->columns)](
                      Nest& nest, std::optional<Range> part, const Expr& first, int panels, uint32_t target) {
      if (!packed_) return GatherRight(nest, std::move(part), first, panels, target, reader, batch);
      const Expr panel = batch_number * DimValue(all) + FloorDiv(first, IntConstant(kPanelColumns));
      GatherPacked(nest, {packed_buffer, group_.type(rhs_.value).dtype, ir::Product(depth_sizes_), panel,
                          panels, target, std::move(part)});
    };
    right.gather = [gather](Nest& nest, const Expr& first, int panels, uint32_t target) {
      gather(nest, {}, first, panels, target);
    };
    if (!product->left.gather) right.gather_part = gather;
  }

  // The right operand is decoded where it is multiplied, or once for all rows of a block.
  void SetCodes(RightForm form, const CodedBuffers& buffers, const Expr& batch_number,
                MatrixProduct* product) {
    RightOperand& right = product->right;
    right.form = form;
    right.dtype = DType::kF32;
    const CodedLayout& layout = coded_->layout();
    if (form != RightForm::kGathered) {
      right.coded = layout;
      right.coded_buffers = buffers;
      right.base = [&batch_number, panels = layout.panels](Nest&) {
        return batch_number * IntConstant(panels);
      };
      right.first_row = [this, &batch_number] { return batch_number * DimValue(ir::Product(row_sizes_)); };
    }
    if (!IsGathered(form)) return;
    right.gather = [&layout, buffers, &batch_number, lanes = VectorLanes(target_, DType::kF32)](
                       Nest& nest, const Expr& first, int panels, uint32_t target) {
      DecodePanels(nest, layout, buffers, batch_number, FloorDiv(first, IntConstant(kPanelColumns)), panels,
                   lanes, target);
    };
  }

  // Packs columns [first, first + 16 * panels) of the right operand.
  void GatherRight(Nest& nest, std::optional<Range> part, const Expr& first, int panels, uint32_t target,
                   InputReader& reader, const std::vector<Expr>& batch) {
    auto access = Access(rhs_, batch, *nest.kernel(), reader);
    PanelGather gather{.depth = ir::Product(depth_sizes_),
                       .columns = ir::Product(column_sizes_),
                       .first = first,
                       .panels = panels,
                       .target = target,
                       .part = std::move(part)};
    gather.depth_is_contiguous =
        access && access->depth_step == ir::Dim(1) && !(access->free_step == ir::Dim(1));
    gather.element = [&](const Expr& k, const Expr& column) {
      return Cast(accumulator_, ElementOf(rhs_, batch, Unflatten(column, column_sizes_),
                                          Unflatten(k, depth_sizes_), nest.kernel(), reader));
    };
    GatherPanels(nest, gather, target_);
  }

  const GroupView& group_;
  const TargetInfo& target_;
  ir::NodeId anchor_;
  const ir::Node& node_;
  bool swapped_;                  // turned, or the right operand has a single column
  ContractionOperand lhs_, rhs_;  // in their places here
  bool packed_ = false, of_bytes_ = false;
  int64_t most_rows_ = INT64_MAX;     // turned: of all calls
  KernelSchedule made_;               // of the last kernel built
  std::optional<CodedPanels> coded_;  // the right operand, where it is one that is kept as codes
  ir::Dims batch_sizes_, depth_sizes_, row_sizes_, column_sizes_;
  DType accumulator_ = DType::kInvalid;
};

}  // namespace

bool TakesContraction(const GroupView& group) {
  ir::NodeId anchor = FindAnchor(group, ir::OpKind::kContraction);
  if (!anchor.valid()) return false;
  const ir::Node& node = group.function().node(anchor);
  DType accumulator = ProductAccumulator(group.type(node.inputs[0]).dtype, group.type(node.inputs[1]).dtype,
                                         group.type(node.outputs[0]).dtype);
  return accumulator != DType::kInvalid && ProductResults::Find(group, anchor).has_value();
}

Expected<GroupProgram> ScheduleContraction(const GroupView& group, const TargetInfo& target) {
  ir::NodeId anchor = FindAnchor(group, ir::OpKind::kContraction);
  if (!anchor.valid()) return MakeError(Code::kInternal, "not a group around a contraction");
  return ContractionKernel(group, target, anchor).Schedule();
}

}  // namespace tvmvm::tensor
