// Schedules for pulls: every output element is an expression over its coordinates.
//
// The coordinates of an output become a grid of blocks of about kBlockElements elements, in each block loops over rows, and
// innermost a loop of vectors with a scalar tail. Outputs of equal dims share a kernel.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/tensor/collapse_axes.h"
#include "compiler/tensor/group.h"
#include "compiler/tensor/lower_reductions.h"
#include "compiler/tensor/nest.h"
#include "compiler/tensor/rewrite.h"
#include "compiler/tensor/stride.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;

constexpr int64_t kBlockElements = 8192;     // of a grid point, where an element costs a few operations
constexpr int64_t kLeastInnerBlock = 64;     // the least part of a row that a grid point takes: full vectors at every level

std::string KernelName(const GroupView& group) {
  std::string name;
  int count = 0;
  for (ir::NodeId id : group.nodes()) {
    const ir::Node& node = group.function().node(id);
    if (node.op == nullptr || node.op->kind == ir::OpKind::kConstant || node.op->kind == ir::OpKind::kView) continue;
    if (++count > 4) break;
    if (!name.empty()) name += '_';
    name += node.op->name;
  }
  return name.empty() ? "copy" : name;
}

// Coordinates of a row-major position.
std::vector<Expr> Unflatten(const Dims& dims, Expr position) {
  std::vector<Expr> index(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    Expr extent = DimValue(Max(dims[axis], Dim(1)));
    index[axis] = axis == 0 ? position : FloorMod(position, extent);
    position = FloorDiv(position, extent);
  }
  return index;
}

// A kernel in the making, for outputs that all have the dims `dims`.
class PullKernel {
 public:
  PullKernel(const GroupView& group, const TargetInfo& target, std::vector<uint32_t> outputs)
      : group_(group), target_(target), outputs_(std::move(outputs)), dims_(group.type(group.outputs()[outputs_[0]]).dims) {}

  Expected<KernelCall> Build() {
    TVMVM_CHECK_OK(ExpandOutputs());
    ChooseLanes();
    Nest nest(&call_.kernel);
    nest_ = &nest;
    BuildLoops();
    call_.kernel.body = nest.Finish();
    Estimate();
    return std::move(call_);
  }

 private:
  // --- what to compute ---
  Status ExpandOutputs() {
    LoopKernel& kernel = call_.kernel;
    kernel.name = KernelName(group_);
    const Dims shape = dims_;
    // Elements that share a byte must belong to one grid point: such outputs are walked in memory order.
    if (IsSubByte(group_.type(group_.outputs()[outputs_[0]]).dtype)) dims_ = {Product(shape)};
    for (size_t axis = 0; axis < dims_.size(); ++axis) {
      bool is_single = dims_[axis].IsConstant(1);
      variables_.push_back(kernel.NewVariable(fmt::format("i{}", axis)));
      coordinates_.push_back(is_single ? IntConstant(0) : Variable(variables_.back()));
      if (!is_single) axes_.push_back(static_cast<int>(axis));
    }
    std::vector<Expr> index = dims_ == shape ? coordinates_ : Unflatten(shape, coordinates_[0]);
    input_arguments_.assign(group_.inputs().size(), -1);
    Expander expander(group_, [this](ir::ValueId value, std::span<const Expr> index) { return LoadInput(value, index); },
                      &kernel);
    for (uint32_t output : outputs_) roots_.push_back(expander.Expand(group_.outputs()[output], index));
    if (expander.missing().valid()) {
      const ir::NodeId producer = group_.function().value(expander.missing()).producer;
      return MakeError(Code::kUnsupported,
                       fmt::format("no schedule for '{}' as part of a group",
                                   producer.valid() ? group_.function().node(producer).op->name : "an input"));
    }
    for (uint32_t output : outputs_) {
      DType dtype = group_.type(group_.outputs()[output]).dtype;
      stores_.push_back(kernel.AddArgument(fmt::format("out{}", output), dtype, Access::kWrite));
      call_.arguments.push_back({ArgumentKind::kOutput, output});
    }
    return {};
  }

  Expr LoadInput(ir::ValueId value, std::span<const Expr> index) {
    int input = group_.InputNumber(value);
    if (input < 0) return {};
    const ir::Type& type = group_.type(value);
    if (input_arguments_[input] < 0) {
      input_arguments_[input] =
          static_cast<int>(call_.kernel.AddArgument(fmt::format("in{}", input), type.dtype, Access::kRead));
      call_.arguments.push_back({ArgumentKind::kInput, static_cast<uint32_t>(input)});
    }
    return Load(static_cast<uint32_t>(input_arguments_[input]), type.dtype, FlatIndex(type.dims, index));
  }

  // --- how ---
  // Lanes: as many of the widest type in the expressions as a register holds.
  void ChooseLanes() {
    int widest = 8;
    bool is_packed = false;
    auto see = [&](DType dtype) {
      widest = std::max(widest, DTypeBits(dtype));
      is_packed |= IsSubByte(dtype);
    };
    for (const Expr& root : roots_) {
      see(root.dtype());
      VisitOnce(root, [&](const Expr& e) {
        if (IsFloat(e.dtype())) widest = std::max(widest, 32);
        if (e.op() == ExprOp::kLoad) see(e.dtype());
        if (e.op() == ExprOp::kCast && e.dtype() != DType::kI64) see(e.dtype());
      });
    }
    is_packed_ = is_packed;
    width_ = is_packed ? 1 : target_.vector_bits / std::min(widest, 32);
    // Along the reduced axis, or along the innermost axis of the result: where fewer loads gather.
    inner_is_vector_ = width_ > 1 && !axes_.empty();
    if (!inner_is_vector_) return;
    VariableId inner = variables_[axes_.back()];
    int across = 0, along = 0;
    for (const Expr& root : roots_) {
      VisitOnce(root, [&](const Expr& e) {
        if (e.op() != ExprOp::kReduce || e->reduction->axes.empty() || !DependsOn(e, inner)) return;
        has_inner_reduction_ = true;
        across += GatheredLoads(e->operands[0], inner);
        along += GatheredLoads(e->operands[0], e->reduction->axes[InnermostAxis(e)]);
      });
    }
    if (along < across) inner_is_vector_ = false;
  }

  // Elements of work behind one output element, as a dim.
  Dim WorkPerElement() const {
    Dim work = 1;
    for (const Expr& root : roots_) {
      VisitOnce(root, [&](const Expr& e) {
        if (e.op() != ExprOp::kReduce) return;
        Dim count = 1;
        for (const Expr& extent : e->reduction->extents) {
          if (auto dim = AsDim(extent)) count = count * *dim;
        }
        work = work.IsConstant(1) ? count : Max(work, count);
      });
    }
    return Max(work, Dim(1));
  }

  // --- loops ---
  struct Range {
    Expr begin, end;
  };

  // Part of an axis that a grid point takes: blocks of `block` along grid axis `axis`.
  Range BlockOf(int axis, const std::string& name, const Dim& extent, const Dim& block) {
    Dim count = CeilDiv(extent, block);
    VariableId g = nest_->Grid(axis, "g" + name, count);
    if (count.IsConstant(1)) return {IntConstant(0), DimValue(extent)};
    Expr begin = nest_->Let(name + "_begin", Variable(g) * DimValue(block));
    if (block.IsConstant(1)) return {begin, begin + IntConstant(1)};
    return {begin, nest_->Let(name + "_end", Min(begin + DimValue(block), DimValue(extent)))};
  }

  void BuildLoops() {
    Dim budget = Max(FloorDiv(Dim(kBlockElements), WorkPerElement()), Dim(1));
    size_t rank = axes_.size();
    Dim inner = rank > 0 ? dims_[axes_[rank - 1]] : Dim(1);
    Dim middle = rank > 1 ? dims_[axes_[rank - 2]] : Dim(1);
    Dim outer = 1;
    for (size_t i = 0; i + 2 < rank; ++i) outer = outer * dims_[axes_[i]];

    Dim least(has_inner_reduction_ && inner_is_vector_ ? kLeastInnerBlock : 1);
    Dim inner_block = Max(CeilDiv(budget, least) * least, least);
    Dim row = Max(inner, Dim(1));
    Dim middle_block = Max(FloorDiv(budget, row), Dim(1));
    Dim plane = Max(inner * middle, Dim(1));
    Dim outer_block = Max(FloorDiv(budget, plane), Dim(1));

    inner_range_ = BlockOf(0, "inner", inner, inner_block);
    Range middle_range = BlockOf(1, "middle", middle, middle_block);
    Range outer_range = BlockOf(2, "outer", outer, outer_block);
    std::vector<std::pair<VariableId, Expr>> bound;
    if (rank > 2) {
      Expr position = OpenRange("outer", outer_range);
      for (size_t i = rank - 2; i-- > 0;) {
        Expr extent = DimValue(Max(dims_[axes_[i]], Dim(1)));
        Expr coordinate = i == 0 ? position : FloorMod(position, extent);
        bound.emplace_back(variables_[axes_[i]], nest_->Let(fmt::format("i{}", axes_[i]), coordinate));
        if (i > 0) position = nest_->Let("rest", FloorDiv(position, extent));
      }
    }
    if (rank > 1) bound.emplace_back(variables_[axes_[rank - 2]], OpenRange(fmt::format("i{}", axes_[rank - 2]), middle_range));
    BuildRow(bound);
  }

  Expr OpenRange(const std::string& name, const Range& range) {
    return Variable(nest_->Open(name, range.begin, range.end));
  }

  // The innermost loops: groups of vectors, vectors, single elements.
  void BuildRow(const std::vector<std::pair<VariableId, Expr>>& bound) {
    ReductionLowering reductions(nest_, width_);
    std::vector<Expr> roots, places;
    for (size_t i = 0; i < roots_.size(); ++i) {
      roots.push_back(Substitute(roots_[i], bound));
      places.push_back(Substitute(FlatIndex(dims_, coordinates_), bound));
    }
    if (axes_.empty()) return StoreElements(reductions, roots, places, Lanes{});
    VariableId inner = variables_[axes_.back()];
    Expr from = inner_range_.begin, end = inner_range_.end;
    auto loop = [&](const Expr& to, int width, int unroll) {
      if (Same(from, to)) return;
      Lanes lanes = Lanes::Make(nest_->kernel(), width, unroll);
      VariableId i = nest_->Open(fmt::format("i{}", axes_.back()), from, to, LoopKind::kSerial, lanes.count());
      std::pair<VariableId, Expr> here(inner, Variable(i) + lanes.Number());
      std::vector<Expr> elements, targets;
      for (size_t r = 0; r < roots.size(); ++r) {
        elements.push_back(Substitute(roots[r], std::span(&here, 1)));
        targets.push_back(Substitute(places[r], std::span(&here, 1)));
      }
      StoreElements(reductions, elements, targets, lanes);
      nest_->Close();
      from = to;
    };
    auto whole = [&](int step, const char* name) {
      return nest_->Let(name, from + FloorDiv(end - from, IntConstant(step)) * IntConstant(step));
    };
    int width = std::min<int64_t>(width_, WidestUseful());
    if (inner_is_vector_ && width > 1) {
      if (has_inner_reduction_) loop(whole(4 * width, "whole_groups"), width, 4);
      loop(whole(width, "whole_vectors"), width, 1);
    }
    loop(end, 1, 1);
  }

  // The largest power of two within the innermost extent.
  int64_t WidestUseful() const {
    const Dim& inner = dims_[axes_.back()];
    if (!inner.is_constant()) return width_;
    int64_t width = 1;
    while (width * 2 <= std::min<int64_t>(inner.value(), width_)) width *= 2;
    return width;
  }

  void StoreElements(ReductionLowering& reductions, std::vector<Expr> elements, const std::vector<Expr>& targets,
                     const Lanes& lanes) {
    for (Expr& element : elements) element = reductions.Lower(element, lanes);
    ForLanes(*nest_, lanes, [&] {
      std::vector<Expr> all = elements;
      all.insert(all.end(), targets.begin(), targets.end());
      std::vector<Expr> placed = nest_->Place(all);
      // An output may lie where an input lay: all elements are read before the first is written.
      if (elements.size() > 1) {
        for (size_t i = 0; i < elements.size(); ++i) placed[i] = nest_->Let("value", placed[i]);
      }
      for (size_t i = 0; i < elements.size(); ++i) {
        nest_->Add(Store(stores_[i], placed[elements.size() + i], placed[i]));
      }
    });
  }

  void Estimate() {
    Dim count = Product(dims_);
    int64_t operations = 0;
    for (const Expr& root : roots_) {
      VisitOnce(root, [&](const Expr& e) { operations += IsFloat(e.dtype()) && !e->operands.empty() && e.op() != ExprOp::kLoad; });
    }
    call_.kernel.flops = count * Dim(operations) * WorkPerElement();
    Dim bytes = 0;
    for (const KernelArgument& argument : call_.arguments) {
      ir::ValueId value = argument.kind == ArgumentKind::kInput ? group_.inputs()[argument.index] : group_.outputs()[argument.index];
      const ir::Type& type = group_.type(value);
      bytes = bytes + CeilDiv(Product(type.dims) * Dim(DTypeBits(type.dtype)), Dim(8));
    }
    call_.kernel.bytes = bytes;
  }

  const GroupView& group_;
  const TargetInfo& target_;
  std::vector<uint32_t> outputs_;            // of the group
  Dims dims_;                                // of the outputs as the loops see them
  KernelCall call_;
  std::vector<VariableId> variables_;        // one for each axis of the outputs; replaced by loop variables
  std::vector<Expr> coordinates_;
  std::vector<int> axes_;                    // those that are not of size 1
  std::vector<int> input_arguments_;         // argument of the kernel, or -1
  std::vector<uint32_t> stores_;             // arguments that are written
  std::vector<Expr> roots_;                  // the outputs' elements
  Nest* nest_ = nullptr;
  Range inner_range_;
  int width_ = 1;
  bool is_packed_ = false;
  bool inner_is_vector_ = false;
  bool has_inner_reduction_ = false;         // one that differs along the innermost axis
};

}  // namespace

Expected<GroupProgram> ScheduleGeneric(const GroupView& original, const TargetInfo& target) {
  CollapsedGroup collapsed = CollapseAxes(original);
  GroupView group(collapsed.function, collapsed.node);
  std::vector<std::vector<uint32_t>> sets;   // outputs by dims
  for (uint32_t i = 0; i < group.outputs().size(); ++i) {
    const Dims& dims = group.type(group.outputs()[i]).dims;
    auto same = std::find_if(sets.begin(), sets.end(), [&](const std::vector<uint32_t>& set) {
      return group.type(group.outputs()[set[0]]).dims == dims;
    });
    if (same != sets.end()) {
      same->push_back(i);
    } else {
      sets.push_back({i});
    }
  }
  GroupProgram program;
  for (std::vector<uint32_t>& set : sets) {
    TVMVM_TRY(KernelCall call, PullKernel(group, target, std::move(set)).Build());
    for (KernelArgument& argument : call.arguments) {
      if (argument.kind == ArgumentKind::kInput) argument.index = collapsed.inputs[argument.index];
    }
    program.calls.push_back(std::move(call));
  }
  return program;
}

}  // namespace tvmvm::tensor
