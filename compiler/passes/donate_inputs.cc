// Outputs in the memory of inputs (CompileOptions::donate): what the caller says is checked against the
// types, and a cache that grows, concat(past, new), is marked to be done in place: its rows move apart where
// they lie. Everything else that the lowering finds to be possible it does by itself.
#include <algorithm>
#include <set>

#include "compiler/graph/core_op.h"
#include "compiler/graph/storage.h"
#include "compiler/passes/pass.h"
#include "fmt/format.h"

namespace tvmvm::passes {
namespace {

using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

Expected<size_t> Find(const std::vector<std::string>& names, const std::string& name, std::string_view role) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  return MakeError(Code::kInvalidArgument, fmt::format("--donate: no {} is named '{}'; there are: {}", role,
                                                       name, fmt::join(names, ", ")));
}

// Why an output cannot lie where an input does; "" where it can.
std::string WhyNot(const Type& from, const Type& to) {
  if (!ir::IsTensorOfNumbers(from)) return fmt::format("the input is {}", from.ToString());
  if (!ir::IsTensorOfNumbers(to)) return fmt::format("the output is {}", to.ToString());
  int differing = 0;
  for (size_t axis = 0; from.dims.size() == to.dims.size() && axis < to.dims.size(); ++axis)
    differing += from.dims[axis] == to.dims[axis] ? 0 : 1;
  if (from.dtype == to.dtype && from.dims.size() == to.dims.size() && differing <= 1) return "";
  return fmt::format("the input is {}, the output {}: they differ in more than the size of one axis",
                     from.ToString(), to.ToString());
}

// Whether the node puts something behind the value, which it reads only once.
bool Grows(const Function& function, const Node& node, ValueId value) {
  return node.op->traits.axes == ir::AxisMap::kConcat && node.inputs.size() > 1 && node.inputs[0] == value &&
         std::ranges::count(node.inputs, value) == 1 && DTypeBits(function.type(value).dtype) % 8 == 0;
}

void GrowInPlace(Function* function, ValueId input, ValueId output) {
  const NodeId producer = function->value(output).producer;
  if (!producer.valid() || !Grows(*function, function->node(producer), input)) return;
  function->node(producer).decided.in_place = true;
}

}  // namespace

Status DonateInputs(ir::Module& module, const PassContext& context) {
  if (context.donate.empty()) return {};
  Function& function = module.functions.front();
  std::set<size_t> inputs, outputs;
  for (const auto& [from, to] : context.donate) {
    TVMVM_TRY(const size_t input, Find(function.input_names, from, "input"));
    TVMVM_TRY(const size_t output, Find(function.output_names, to, "output"));
    if (!inputs.insert(input).second || !outputs.insert(output).second)
      return MakeError(Code::kInvalidArgument,
                       fmt::format("--donate {}={}: one of them is in another pair already", from, to));
    const ir::Region& body = function.region(function.body);
    const ValueId parameter = body.parameters[input], result = body.results[output];
    if (std::string why = WhyNot(function.type(parameter), function.type(result)); !why.empty())
      return MakeError(Code::kInvalidArgument, fmt::format("--donate {}={}: {}", from, to, why));
    // Where the GPU computes, it gives the whole output back anyway.
    if (!context.has_gpus) GrowInPlace(&function, parameter, result);
  }
  return {};
}

}  // namespace tvmvm::passes
