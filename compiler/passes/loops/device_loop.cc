#include "compiler/passes/loops/device_loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/requirements.h"
#include "compiler/graph/tensor_elements.h"
#include "compiler/passes/region_edit.h"

namespace tvmvm::passes {
namespace {

using ir::Dim;
using ir::DimOp;
using ir::Dims;
using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::RegionId;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;

Status Unfit(std::string why) { return MakeError(Code::kUnsupported, std::move(why)); }

class Analysis {
 public:
  Analysis(const Function& function, const Node& loop, const ir::RangeLookup& ranges)
      : function_(function), loop_(loop), ranges_(ranges), inside_(function, loop, loop.regions[0]) {}

  Expected<DeviceLoop> Run() {
    FindReads();
    FindCarried();
    Split(ir::DimAttribute(loop_, "continue"));
    TVMVM_CHECK_OK(CheckSymbols());
    TVMVM_CHECK_OK(CheckRegion(loop_.regions[0], {&loop_}));
    if (result_.polls()) TVMVM_CHECK_OK(CheckTypes());
    return std::move(result_);
  }

 private:
  void FindReads() {
    for (NodeId id : function_.region(loop_.regions[0]).nodes) {
      const Node& node = function_.node(id);
      if (node.op->kind != OpKind::kDefineDims) continue;
      const std::vector<ir::SymbolId>& names = node.Symbols("symbols");
      for (size_t i = 0; i < names.size(); ++i) {
        result_.reads[names[i]] = {node.inputs[0], static_cast<int64_t>(i)};
        result_.symbols.insert(names[i]);
      }
    }
  }

  // What depends on what is read, over any number of steps.
  void FindCarried() {
    const std::vector<ir::SymbolId>& names = loop_.Symbols("symbols");
    for (bool grows = true; grows;) {
      grows = false;
      for (size_t i = 0; i < names.size(); ++i)
        if (result_.Mentions(loop_.DimList("next")[i]))
          grows = result_.symbols.insert(names[i]).second || grows;
    }
    for (size_t i = 0; i < names.size(); ++i)
      if (result_.symbols.contains(names[i])) result_.carried.push_back(i);
  }

  void Split(const Dim& condition) {
    if (condition.op() == DimOp::kAnd) {
      for (const Dim& part : condition.operands()) Split(part);
      return;
    }
    Dim& side = result_.Mentions(condition) ? result_.device_condition : result_.host_condition;
    side = side.IsConstant(1) ? condition : And(side, condition);
  }

  bool IsCarried(size_t symbol) const {
    return std::find(result_.carried.begin(), result_.carried.end(), symbol) != result_.carried.end();
  }

  // The host's symbols are counted once more when the number of steps is known.
  Status CheckSymbols() const {
    if (!result_.polls()) return {};
    const std::vector<ir::SymbolId> symbols = ir::RegionSymbols(loop_);
    const ir::SymbolSet own(symbols.begin(), symbols.end());
    auto is_of_step = [&](const ir::SymbolId& symbol) {
      return inside_.Defines(symbol) && !own.contains(symbol);
    };
    for (size_t i = 0; i < loop_.DimList("next").size(); ++i) {
      if (IsCarried(i)) continue;
      if (AnySymbol(loop_.DimList("next")[i], is_of_step))
        return Unfit("a carried size comes from inside of a step");
    }
    return {};
  }

  Status CheckTypes() const {
    const ir::Region& region = function_.region(loop_.regions[0]);
    for (size_t i = 0; i < region.results.size(); ++i) {
      const Type& type = function_.type(region.results[i]);
      if (type.kind != TypeKind::kTensor || !type.ranked || DTypeBits(type.dtype) % 8 != 0 ||
          !ir::IsNumeric(type.dtype))
        return Unfit(fmt::format("{} is carried or collected", type.ToString()));
      for (const Dim& dim : type.dims)
        if (inside_.Mentions(dim)) return Unfit("what is carried or collected changes its size");
      if (i < ir::CarriedCount(loop_) && !(type == function_.type(region.parameters[i])))
        return Unfit("what is carried changes its type");
    }
    return {};
  }

  using Loops = std::vector<const Node*>;

  Status CheckRegion(RegionId region, const Loops& loops) const {
    for (NodeId id : function_.region(region).nodes) {
      const Node& node = function_.node(id);
      if (Status status = CheckNode(node, loops); !status)
        return Unfit(fmt::format("{} ({}): {}", node.op->name, node.source, status.error().message));
      if (!ir::HasControlRegions(node)) continue;
      Loops around = loops;
      if (ir::IsLoop(node)) around.push_back(&node);
      for (RegionId inner : node.regions) TVMVM_CHECK_OK(CheckRegion(inner, around));
    }
    return {};
  }

  Status CheckNode(const Node& node, const Loops& loops) const {
    if (node.op->kind == OpKind::kHost || node.op->kind == OpKind::kCall) return Unfit("runs on the host");
    if (node.op->kind == OpKind::kDefineDims) {
      return loops.size() == 1 && result_.reads.contains(node.Symbols("symbols").at(0))
                 ? Status()
                 : Unfit("is read by the host in a region of a step");
    }
    for (ValueId output : node.outputs)
      if (output.valid() && MentionsAny(function_.type(output).dims)) return Unfit("its size is data");
    const bool moves = DevicePosition(result_, node) >= 0;
    for (const auto& [name, attribute] : node.attributes) {
      const auto* dim = std::get_if<Dim>(&attribute);
      const auto* dims = std::get_if<Dims>(&attribute);
      auto is_large = [&](const Dim& each) {
        return each.depth() > Dim::kMaxWritten && result_.Mentions(each);
      };
      if ((dim && is_large(*dim)) || (dims && std::ranges::any_of(*dims, is_large)))
        return Unfit(fmt::format("its '{}' is a large expression of data", name));
      if (name == "elements" && node.op->kind == OpKind::kDimsTensor) continue;
      if (name == "starts" && moves) continue;
      if ((dim && result_.Mentions(*dim)) || (dims && MentionsAny(*dims)))
        return Unfit(fmt::format("its '{}' is data", name));
    }
    return moves || !result_.polls() ? Status() : CheckRequirements(node, loops);
  }

  bool MentionsAny(const Dims& dims) const {
    return std::ranges::any_of(dims, [&](const Dim& dim) { return result_.Mentions(dim); });
  }

  // Steps after the end must not fail: what is required holds in any step or changes with none.
  Status CheckRequirements(const Node& node, const Loops& loops) const {
    if (ir::HasControlRegions(node)) return {};
    for (const ir::Requirement& requirement : RequirementsOf(function_, node)) {
      auto holds = [&](const Node* around) {
        const Dim simple = ir::SimplifyInLoop(requirement.condition, *around, ranges_);
        return simple.is_constant() && simple.value() != 0;
      };
      if (inside_.Mentions(requirement.condition) && !std::ranges::any_of(loops, holds))
        return Unfit("may fail in a step after the last one");
    }
    return {};
  }

  const Function& function_;
  const Node& loop_;
  const ir::RangeLookup& ranges_;
  const RegionDefinitions inside_;
  DeviceLoop result_;
};

}  // namespace

bool DeviceLoop::Mentions(const Dim& dim) const { return ir::MentionsAny(dim, symbols); }

int DevicePosition(const DeviceLoop& loop, const Node& slice) {
  if (slice.op->traits.axes != ir::AxisMap::kSlice) return -1;
  const Dims& starts = slice.DimList("starts");
  int axis = -1;
  for (size_t i = 0; i < starts.size(); ++i) {
    if (!loop.Mentions(starts[i])) continue;
    if (axis >= 0) return -1;
    axis = static_cast<int>(i);
  }
  return axis;
}

Expected<DeviceLoop> AnalyzeDeviceLoop(const Function& function, NodeId loop, const ir::RangeLookup& ranges) {
  return Analysis(function, function.node(loop), ranges).Run();
}

}  // namespace tvmvm::passes
