#include "compiler/memory/read_panels.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/op_builder.h"
#include "compiler/passes/group_builder.h"

namespace tvmvm::memory {
namespace {

using ir::Dims;
using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::RegionId;
using ir::TensorData;
using ir::ValueId;
using tensor::ArgumentKind;
using tensor::kPanelColumns;

constexpr size_t kFewestBytes = 64 << 10;  // what less than that costs twice does not matter

// A node that runs as a kernel, and a constant among its inputs.
struct Reader {
  Function* function;
  RegionId region;  // where the node stands
  NodeId node;
  size_t input;
};

// How one constant is used.
struct Uses {
  std::vector<Reader> gathers, kernels;
  bool others = false;
};

bool IsGather(const Node& node) { return node.op->traits.axes == ir::AxisMap::kGather; }

// Whether the node gathers few of the rows of `data`, as far as it is known.
bool GathersFew(const Function& function, const Node& node, ValueId data) {
  if (!IsGather(node) || node.inputs[0] != data || std::ranges::count(node.inputs, data) != 1) return false;
  const ir::Dim taken = ir::Product(function.type(node.outputs[0]).dims);
  const ir::Dim all = ir::Product(function.type(data).dims);
  return !taken.is_constant() || taken.value() < all.value() / kPanelColumns;
}

// The same of a group and its input.
bool GathersFewFrom(const Function& function, const Node& node, size_t input) {
  if (node.op->kind != OpKind::kFused) return GathersFew(function, node, node.inputs[input]);
  const ir::Region& group = function.region(node.regions[0]);
  const ValueId data = group.parameters[input];
  const auto fits = [&](NodeId id) {
    const Node& member = function.node(id);
    return std::ranges::count(member.inputs, data) == 0 || GathersFew(function, member, data);
  };
  return std::ranges::all_of(group.nodes, fits) && std::ranges::count(group.results, data) == 0;
}

class PanelReaders {
 public:
  PanelReaders(const TargetInfo& target, tensor::ScheduleCache* schedules, ir::Module* module)
      : target_(target), schedules_(*schedules), module_(*module) {}

  Status Run() {
    for (Function& function : module_.functions)
      for (RegionId region : ir::RunningRegions(function)) Look(&function, region);
    for (const Uses& uses : uses_) {
      if (uses.gathers.empty() || uses.others) continue;
      TVMVM_TRY(const auto panels, PanelsOf(uses.kernels));
      if (!panels) continue;
      for (const Reader& reader : uses.gathers) TVMVM_CHECK_OK(ReadPanelsIn(reader, *panels));
    }
    return {};
  }

 private:
  void Look(Function* function, RegionId region) {
    for (ValueId result : function->region(region).results)
      if (Uses* uses = UsesOf(*function, result)) uses->others = true;
    for (NodeId id : function->region(region).nodes) {
      const Node& node = function->node(id);
      const bool is_kernel = node.op->kind == OpKind::kFused || passes::IsLaunched(node);
      for (size_t input = 0; input < node.inputs.size(); ++input) {
        Uses* uses = UsesOf(*function, node.inputs[input]);
        if (uses == nullptr) continue;
        if (!is_kernel)
          uses->others = true;
        else
          (GathersFewFrom(*function, node, input) ? uses->gathers : uses->kernels)
              .push_back({function, region, id, input});
      }
    }
  }

  // Of the constant that is so large that it matters, in the order in which they are met.
  Uses* UsesOf(const Function& function, ValueId value) {
    const TensorData* data = value.valid() ? function.ConstantOf(value) : nullptr;
    if (data == nullptr || data->bytes.size() < kFewestBytes) return nullptr;
    const auto [found, is_new] = numbers_.try_emplace(data->bytes.data(), uses_.size());
    if (is_new) uses_.emplace_back();
    return &uses_[found->second];
  }

  // In which kernels read it; nothing where one reads it as it is, or none reads it so.
  Expected<std::optional<tensor::PanelsOfInput>> PanelsOf(const std::vector<Reader>& kernels) {
    std::optional<tensor::PanelsOfInput> panels;
    for (const Reader& reader : kernels) {
      TVMVM_TRY(const auto program, schedules_.Schedule(*reader.function, reader.node, target_));
      for (const tensor::KernelCall& call : program->calls)
        for (const tensor::KernelArgument& argument : call.arguments)
          if (argument.kind == ArgumentKind::kInput && argument.index == reader.input) return std::nullopt;
      for (const tensor::PackConstant& packed : program->packed)
        if (packed.panels && packed.panels->number == reader.input) panels = packed.panels;
    }
    return panels;
  }

  Status ReadPanelsIn(const Reader& reader, const tensor::PanelsOfInput& layout) {
    Function& function = *reader.function;
    const ValueId constant = function.node(reader.node).inputs[reader.input];
    const NodeId group = GroupOf(reader);
    const auto input = static_cast<size_t>(std::ranges::find(function.node(group).inputs, constant) -
                                           function.node(group).inputs.begin());
    TensorData data = *function.ConstantOf(constant);
    const std::vector<int64_t> dims = std::exchange(data.dims, layout.dims);
    ir::OpBuilder outside(&module_, &function, reader.region);
    const ValueId panels = InFront(reader.region, group, &outside, [&](ir::OpBuilder& builder) {
      return builder.Constant(tensor::PackPanels(data, layout.axes, layout.panels),
                              function.value(constant).name);
    });
    function.node(group).inputs[input] = panels;

    const RegionId region = function.node(group).regions[0];
    const ValueId parameter = function.region(region).parameters[input];
    const std::vector<NodeId> members = function.region(region).nodes;
    function.value(parameter).type = function.type(panels);
    ir::OpBuilder inside(&module_, &function, region);
    const ValueId rows = InFront(region, members.front(), &inside, [&](ir::OpBuilder& builder) {
      return OutOfPanels(builder, parameter, layout, dims);
    });
    for (NodeId member : members) std::ranges::replace(function.node(member).inputs, parameter, rows);
    if (auto error = outside.TakeError()) return tl::unexpected(*error);
    if (auto error = inside.TakeError()) return tl::unexpected(*error);
    return {};
  }

  // The group that the reader is, made of it where it is none.
  static NodeId GroupOf(const Reader& reader) {
    Function& function = *reader.function;
    if (function.node(reader.node).op->kind == OpKind::kFused) return reader.node;
    const NodeId group = passes::BuildGroup(&function, {reader.node}, {reader.node}, false);
    std::ranges::replace(function.region(reader.region).nodes, reader.node, group);
    return group;
  }

  // What `emit` emits stands in front of `node`, not at the region's end.
  template <class Emit>
  ValueId InFront(RegionId region, NodeId node, ir::OpBuilder* builder, Emit emit) {
    const auto nodes = [&]() -> std::vector<NodeId>& { return builder->function().region(region).nodes; };
    const auto before = static_cast<ptrdiff_t>(nodes().size());
    const ValueId value = emit(*builder);
    std::rotate(std::ranges::find(nodes(), node), nodes().begin() + before, nodes().end());
    return value;
  }

  // The constant, with `dims`, as a view of [batches, panels, depth, 16].
  static ValueId OutOfPanels(ir::OpBuilder& builder, ValueId panels, const tensor::PanelsOfInput& layout,
                             const std::vector<int64_t>& dims) {
    const Dims packed = builder.dims(panels);
    std::vector<int64_t> listed;  // axes of the layout, in the order in which the panels hold them
    int64_t columns = 1;
    for (const std::vector<int64_t>* axes : {&layout.axes.batch, &layout.axes.free, &layout.axes.depth})
      listed.insert(listed.end(), axes->begin(), axes->end());
    for (int64_t axis : layout.axes.free) columns *= layout.dims[static_cast<size_t>(axis)];
    Dims split;
    std::vector<int64_t> order(listed.size());
    for (size_t k = 0; k < listed.size(); ++k) {
      split.emplace_back(layout.dims[static_cast<size_t>(listed[k])]);
      order[static_cast<size_t>(listed[k])] = static_cast<int64_t>(k);
    }
    ValueId value = builder.Transpose(panels, {0, 1, 3, 2});
    value = builder.Reshape(value, {packed[0], packed[1] * packed[3], packed[2]});
    value = builder.SliceAxis(value, 1, 0, columns);
    value = builder.Transpose(builder.Reshape(value, split), order);
    return builder.Reshape(value, Dims(dims.begin(), dims.end()));
  }

  const TargetInfo& target_;
  tensor::ScheduleCache& schedules_;
  ir::Module& module_;
  std::vector<Uses> uses_;
  std::map<const std::byte*, size_t> numbers_;  // in uses_, by where a constant's bytes are
};

}  // namespace

Status ReadPanels(const TargetInfo& target, tensor::ScheduleCache* schedules, ir::Module* module) {
  return PanelReaders(target, schedules, module).Run();
}

}  // namespace tvmvm::memory
