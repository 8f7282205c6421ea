#include "compiler/schedules/single_sizes.h"

#include <algorithm>
#include <utility>

#include "compiler/schedules/collapse_axes.h"

namespace tvmvm::tensor {
namespace {

using ir::AxisMap;
using ir::Dim;
using ir::Dims;

// Sizes that are found to be 1 together.
struct SingleSizes {
  Dim are_single = 1;
  ir::SymbolSet symbols;
  bool may_be = true;

  void Add(const Dim& size) {
    const std::vector<Dim> factors = size.op() == ir::DimOp::kMul ? size.operands() : std::vector<Dim>{size};
    may_be &= std::ranges::all_of(
        factors, [](const Dim& factor) { return factor.is_symbol() || factor.IsConstant(1); });
    are_single = And(are_single, Equal(size, 1));
    CollectSymbols(size, &symbols);
  }
  bool AreAny() const { return may_be && !symbols.empty(); }
};

// Of what is joined: the run that each tensor brings to each of the rows.
SingleSizes RunsOf(const GroupView& group, const ir::Node& concat) {
  SingleSizes found;
  const auto axis = static_cast<std::ptrdiff_t>(concat.Int("axis"));
  const Dims& joined = group.type(concat.outputs[0]).dims;
  found.may_be = !Product(Dims(joined.begin(), joined.begin() + axis)).IsConstant(1);
  for (const ir::ValueId input : concat.inputs) {
    const Dims& dims = group.type(input).dims;
    found.Add(Product(Dims(dims.begin() + axis, dims.end())));
  }
  return found;
}

// Of a reduction: the axis inside of those that are reduced. Pictures, products of several sizes, have many.
SingleSizes InsideOf(const GroupView& group, const ir::Node& reduce) {
  SingleSizes found;
  const Dims &dims = group.type(reduce.inputs[0]).dims, &flags = reduce.DimList("flags");
  found.may_be = !flags.empty() && flags.back().IsConstant(0) &&
                 std::ranges::any_of(flags, [](const Dim& flag) { return !flag.IsConstant(0); });
  if (found.may_be) found.Add(dims.back());
  found.may_be &= found.symbols.size() == 1;
  return found;
}

bool IsConcat(const ir::Node& node) { return node.op->traits.axes == AxisMap::kConcat; }
bool IsReduction(const ir::Node& node) { return node.op->kind == ir::OpKind::kReduce; }

SingleSizes FindSingleSizes(const GroupView& group) {
  for (const ir::NodeId id : group.nodes()) {
    const ir::Node& node = group.function().node(id);
    SingleSizes found;
    if (IsConcat(node)) found = RunsOf(group, node);
    if (IsReduction(node)) found = InsideOf(group, node);
    if (found.AreAny()) return found;
  }
  return {};
}

// The function with 1 for the symbols.
void Replace(const ir::SymbolSet& symbols, ir::Function* function) {
  const auto replace = [&](Dims* dims) {
    for (Dim& dim : *dims)
      dim = ir::Substitute(dim, [&](const ir::SymbolId& symbol) {
        return symbols.contains(symbol) ? std::optional<Dim>(1) : std::nullopt;
      });
  };
  for (ir::Value& value : function->values) {
    replace(&value.type.dims);
    if (value.elements) replace(&*value.elements);
  }
  for (ir::Node& node : function->nodes)
    for (auto& [name, attribute] : node.attributes)
      if (Dims* dims = std::get_if<Dims>(&attribute)) replace(dims);
}

}  // namespace

Expected<GroupProgram> ScheduleSingleSizes(
    const GroupView& group, const std::function<Expected<GroupProgram>(const GroupView&)>& schedule) {
  TVMVM_TRY(GroupProgram program, schedule(group));
  const bool may_have_sizes = std::ranges::any_of(group.nodes(), [&](ir::NodeId id) {
    const ir::Node& node = group.function().node(id);
    return IsConcat(node) || IsReduction(node);
  });
  if (!may_have_sizes) return program;
  CollapsedGroup collapsed = CollapseAxes(group);
  const SingleSizes sizes = FindSingleSizes(GroupView(collapsed.function, collapsed.node));
  if (!sizes.AreAny()) return program;
  for (KernelCall& call : program.calls) call.when = And(call.when, Not(sizes.are_single));
  Replace(sizes.symbols, &collapsed.function);
  TVMVM_TRY(GroupProgram single, schedule(GroupView(collapsed.function, collapsed.node, group.overrides())));
  for (KernelCall& call : single.calls) {
    call.when = And(call.when, sizes.are_single);
    collapsed.ReadOriginals(&call);
    program.calls.push_back(std::move(call));
  }
  return program;
}

}  // namespace tvmvm::tensor
