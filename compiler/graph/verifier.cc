#include "compiler/graph/verifier.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/infer.h"
#include "compiler/graph/printer.h"
#include "compiler/graph/type_join.h"

namespace tvmvm::ir {
namespace {

// Regions nest this deep at most, so that whoever walks them may recurse.
constexpr int kMaxDepth = 200;

class Verifier {
 public:
  Verifier(const Module& module, const Function& function) : module_(module), function_(function) {}

  Status Run() {
    if (Status status = RunBody(); !status)
      return MakeError(Code::kInternal, fmt::format("@{}: {}", function_.name, status.error().message));
    return {};
  }

 private:
  static tl::unexpected<Error> Fail(std::string message) {
    return MakeError(Code::kInternal, std::move(message));
  }

  Status RunBody() {
    if (!function_.body.valid() || function_.body.index >= function_.regions.size())
      return Fail("the function has no body");
    const Region& body = function_.region(function_.body);
    // The inputs' own symbols are defined by their types.
    for (ValueId parameter : body.parameters)
      if (!InRange(parameter)) return Fail("a parameter is out of range");
    symbols_ = ParameterSymbols(function_);
    for (const SymbolId& symbol : symbols_)
      if (const auto known = module_.symbols.find(symbol);
          known != module_.symbols.end() && known->second.scope != SymbolScope::kInput)
        return Fail(fmt::format("the symbol {} is not listed as an input's", symbol.ToString()));
    defined_.resize(function_.values.size());
    placed_.resize(function_.nodes.size());
    return CheckRegion(function_.body, 0);
  }

  bool InRange(ValueId value) const { return value.valid() && value.index < function_.values.size(); }

  // `owner`: the node whose region it is; null for a function's body.
  Status CheckRegion(RegionId id, int depth, const Node* owner = nullptr, std::string_view own_dims = {}) {
    if (depth > kMaxDepth) return Fail(fmt::format("regions nest deeper than {}", kMaxDepth));
    if (!id.valid() || id.index >= function_.regions.size()) return Fail("a region is out of range");
    const Region& region = function_.region(id);
    std::vector<ValueId> own;
    const size_t outer_symbols = inner_symbols_.size();
    if (owner && IsLoop(*owner))
      for (const SymbolId& symbol : RegionSymbols(*owner)) TVMVM_CHECK_OK(DefineSymbol(symbol));
    for (ValueId parameter : region.parameters) {
      TVMVM_CHECK_OK(Define(parameter, NodeId{}));
      own.push_back(parameter);
    }
    for (NodeId node : region.nodes) {
      if (node.index >= function_.nodes.size()) return Fail("a node is out of range");
      if (placed_[node.index])
        return Fail(fmt::format("{} is in two places", Describe(function_.node(node))));
      placed_[node.index] = true;
      if (Status status = CheckNode(node, depth, &own); !status)
        return Fail(fmt::format("{}: {}", Describe(function_.node(node)), status.error().message));
    }
    for (ValueId result : region.results) TVMVM_CHECK_OK(CheckUse(result, "a result of the region"));
    if (owner) TVMVM_CHECK_OK(CheckRegionDims(*owner, own_dims));
    // What the region defined means nothing outside of it.
    for (ValueId value : own) defined_[value.index] = false;
    for (; inner_symbols_.size() > outer_symbols; inner_symbols_.pop_back())
      symbols_.erase(inner_symbols_.back());
    return {};
  }

  Status DefineSymbol(const SymbolId& symbol) {
    if (!symbols_.insert(symbol).second)
      return Fail(fmt::format("the symbol {} is defined twice", symbol.ToString()));
    inner_symbols_.push_back(symbol);
    const auto known = module_.symbols.find(symbol);
    if (known == module_.symbols.end())
      return Fail(fmt::format("the module does not list the symbol {}", symbol.ToString()));
    if (known->second.scope == SymbolScope::kInput)
      return Fail(fmt::format("the symbol {} is listed as an input's", symbol.ToString()));
    return {};
  }

  // The dims that a node says in terms of its region: of a loop all, of an `if` those of the branch.
  Status CheckRegionDims(const Node& node, std::string_view branch) const {
    for (const auto& [name, attribute] : node.attributes) {
      if (!BelongsToRegion(node, name) || (IsIf(node) && name != branch)) continue;
      TVMVM_CHECK_OK(CheckAttribute(attribute));
    }
    return {};
  }

  Status CheckAttribute(const Attribute& attribute) const {
    if (const auto* dim = std::get_if<Dim>(&attribute)) TVMVM_CHECK_OK(CheckDim(*dim));
    if (const auto* dims = std::get_if<Dims>(&attribute))
      for (const Dim& each : *dims) TVMVM_CHECK_OK(CheckDim(each));
    return {};
  }

  std::string Describe(const Node& node) const {
    std::string text(node.op ? node.op->name : "a node without operator");
    return node.source.empty() ? text : fmt::format("{} (node {})", text, node.source);
  }

  Status Define(ValueId value, NodeId producer) {
    if (!InRange(value)) return Fail("a value is out of range");
    if (defined_[value.index]) return Fail(fmt::format("%{} is defined twice", value.index));
    if (function_.value(value).producer != producer)
      return Fail(fmt::format("%{} names another producer", value.index));
    TVMVM_CHECK_OK(CheckType(function_.type(value)));
    TVMVM_CHECK_OK(CheckElements(function_.value(value)));
    defined_[value.index] = true;
    return {};
  }

  Status CheckUse(ValueId value, std::string_view what) const {
    if (!InRange(value)) return Fail(fmt::format("{} is out of range", what));
    if (!defined_[value.index]) return Fail(fmt::format("{}, %{}, is not defined here", what, value.index));
    return {};
  }

  Status CheckDim(const Dim& dim) const {
    Status status;
    AnySymbol(dim, [&](const SymbolId& symbol) {
      if (!symbols_.contains(symbol))
        status = Fail(fmt::format("the symbol {} is not defined here", symbol.ToString()));
      else if (!module_.symbols.contains(symbol))
        status = Fail(fmt::format("the module does not list the symbol {}", symbol.ToString()));
      return !status;
    });
    return status;
  }

  Status CheckType(const Type& type) const {
    for (const Dim& dim : type.dims) TVMVM_CHECK_OK(CheckDim(dim));
    for (const Type& element : type.elements) TVMVM_CHECK_OK(CheckElementType(element));
    return {};
  }

  // Each element of a sequence has its own dims.
  Status CheckElementType(const Type& type) const {
    for (const Dim& dim : type.dims)
      if (!dim.is_constant() && !IsUnknown(dim))
        return Fail(
            fmt::format("the dim {} in an element type, only numbers and ? may be there", dim.ToString()));
    for (const Type& element : type.elements) TVMVM_CHECK_OK(CheckElementType(element));
    return {};
  }

  Status CheckElements(const Value& value) const {
    if (!value.elements) return {};
    if (value.type.kind != TypeKind::kTensor ||
        !Product(value.type.dims).IsConstant(static_cast<int64_t>(value.elements->size())))
      return Fail(fmt::format("{} known elements for {}", value.elements->size(), value.type.ToString()));
    for (const Dim& dim : *value.elements) TVMVM_CHECK_OK(CheckDim(dim));
    return {};
  }

  // Sizes that turned out constant may contradict a branch that is not taken for that reason.
  static bool MayRun(const Node& node, size_t region) {
    if (!IsIf(node)) return true;
    const Dim& condition = DimAttribute(node, "condition");
    return !condition.is_constant() || (condition.value() != 0) == (region == 0);
  }

  Status CheckNode(NodeId id, int depth, std::vector<ValueId>* own) {
    const Node& node = function_.node(id);
    if (!node.op) return Fail("no operator");
    TVMVM_CHECK_OK(CheckInputs(node));
    TVMVM_CHECK_OK(CheckSymbolAttributes(node));
    if (HasControlRegions(node)) TVMVM_CHECK_OK(CheckControlAttributes(node));
    for (const auto& [name, attribute] : node.attributes)
      if (!BelongsToRegion(node, name)) TVMVM_CHECK_OK(CheckAttribute(attribute));
    TVMVM_CHECK_OK(CheckDecisions(node));
    TVMVM_CHECK_OK(CheckResultTypes(node));
    for (size_t i = 0; i < node.regions.size(); ++i)
      if (MayRun(node, i))
        TVMVM_CHECK_OK(
            CheckRegion(node.regions[i], depth + 1, &node, i == 0 ? "then_values" : "else_values"));
    if (IsControl(*node.op)) TVMVM_CHECK_OK(CheckControl(node));
    TVMVM_CHECK_OK(CheckDevices(node));
    // A size of a host function's result may be a symbol that is known already.
    const bool may_be_known = node.op->kind == OpKind::kHost || node.op->kind == OpKind::kCall;
    for (const SymbolId& symbol : DefinedSymbols(function_, node))
      if (!may_be_known || !symbols_.contains(symbol)) TVMVM_CHECK_OK(DefineSymbol(symbol));
    for (ValueId output : node.outputs) {
      TVMVM_CHECK_OK(Define(output, id));
      own->push_back(output);
    }
    return {};
  }

  Status CheckInputs(const Node& node) const {
    int count = static_cast<int>(node.inputs.size());
    if (count < node.op->min_inputs || (node.op->max_inputs >= 0 && count > node.op->max_inputs))
      return Fail(fmt::format("{} inputs", count));
    for (int i = 0; i < count; ++i) {
      ValueId input = node.inputs[static_cast<size_t>(i)];
      if (!input.valid() && i >= node.op->min_inputs) continue;
      TVMVM_CHECK_OK(CheckUse(input, fmt::format("input {}", i)));
    }
    return {};
  }

  static Status CheckSymbolAttributes(const Node& node) {
    for (const auto& [name, attribute] : node.attributes) {
      const bool is_symbols = std::holds_alternative<SymbolId>(attribute) ||
                              std::holds_alternative<std::vector<SymbolId>>(attribute);
      if (is_symbols != NamesSymbols(*node.op, name))
        return Fail(fmt::format("the attribute {} is of another kind", name));
    }
    return {};
  }

  static Status CheckDecisions(const Node& node) {
    for (const DecisionField& field : DecisionFields()) {
      const int64_t value = field.Get(node.decided);
      if (value != 0 && !field.fits(*node.op))
        return Fail(fmt::format("'{}' is not decided of {}", field.name, node.op->name));
      if (value < 0) return Fail(fmt::format("'{}' is {}", field.name, value));
    }
    return {};
  }

  Status CheckResultTypes(const Node& node) const {
    if (!node.op->infer) return {};
    Expected<std::vector<Type>> types = InferResults(module_, function_, node);
    if (!types) return Fail(types.error().message);
    if (types->size() != node.outputs.size())
      return Fail(fmt::format("{} results, its rule gives {}", node.outputs.size(), types->size()));
    for (size_t i = 0; i < types->size(); ++i) {
      if (!InRange(node.outputs[i])) return Fail("a result is out of range");
      if (!((*types)[i] == function_.type(node.outputs[i])))
        return Fail(fmt::format("result {} is {}, its rule gives {}", i,
                                function_.type(node.outputs[i]).ToString(), (*types)[i].ToString()));
    }
    return {};
  }

  // What a node works on lies on one device; constants are everywhere. Host functions know the CPU only.
  Status CheckDevices(const Node& node) const {
    if (node.op->kind == OpKind::kTransfer || node.op->kind == OpKind::kConstant || HasControlRegions(node))
      return {};
    const bool is_host = node.op->kind == OpKind::kHost || node.op->kind == OpKind::kDimsTensor ||
                         node.op->kind == OpKind::kCall;
    const uint32_t device = is_host ? kHostDevice : DeviceOf(function_, node);
    for (ValueId output : node.outputs)
      if (output.valid() && function_.value(output).device != device)
        return Fail(fmt::format("a result is on {}", DeviceText(function_.value(output).device)));
    for (ValueId input : node.inputs) {
      if (!input.valid() || function_.value(input).device == device || IsConstant(input)) continue;
      return Fail(fmt::format("an input is on {}, the node on {}", DeviceText(function_.value(input).device),
                              DeviceText(device)));
    }
    return {};
  }

  // A constant, or a view of one.
  bool IsConstant(ValueId value) const {
    while (function_.value(value).producer.valid()) {
      const Node& node = function_.node(function_.value(value).producer);
      if (node.op->kind == OpKind::kConstant) return true;
      if (node.op->view_offset == nullptr || node.inputs.empty()) return false;
      value = node.inputs[0];
    }
    return false;
  }

  Status CheckControl(const Node& node) const {
    if (node.op->kind == OpKind::kFused) {
      if (node.regions.size() != 1) return Fail(fmt::format("{} regions, wanted 1", node.regions.size()));
      return CheckSameTypes(node.inputs, function_.region(node.regions[0]).parameters, node.outputs,
                            function_.region(node.regions[0]).results);
    }
    return IsIf(node) ? CheckIf(node) : IsLoop(node) ? CheckLoop(node) : Status();
  }

  template <class T>
  static Status WantAttribute(const Node& node, std::string_view name) {
    const Attribute* attribute = node.Find(name);
    if (attribute && std::holds_alternative<T>(*attribute)) return {};
    return Fail(fmt::format("the attribute {} is missing or of another kind", name));
  }

  static Status WantLengths(const Node& node, std::string_view symbols, std::string_view a,
                            std::string_view b) {
    size_t count = node.Symbols(symbols).size();
    if (node.DimList(a).size() == count && node.DimList(b).size() == count) return {};
    return Fail(fmt::format("{} {} with {} {} and {} {}", count, symbols, node.DimList(a).size(), a,
                            node.DimList(b).size(), b));
  }

  Status CheckControlAttributes(const Node& node) const {
    if (IsIf(node)) {
      TVMVM_CHECK_OK(WantAttribute<Dim>(node, "condition"));
      return WantLengths(node, "symbols", "then_values", "else_values");
    }
    for (const char* name : {"trip", "start", "continue"}) TVMVM_CHECK_OK(WantAttribute<Dim>(node, name));
    for (const char* name : {"index", "count"}) TVMVM_CHECK_OK(WantAttribute<SymbolId>(node, name));
    if (node.Symbols("finals").size() != node.Symbols("symbols").size())
      return Fail("the finals do not fit the symbols");
    return WantLengths(node, "symbols", "initial", "next");
  }

  Status CheckIf(const Node& node) const {
    if (node.regions.size() != 2) return Fail(fmt::format("{} regions, wanted 2", node.regions.size()));
    for (RegionId id : node.regions) {
      const Region& region = function_.region(id);
      if (!region.parameters.empty() || region.results.size() != node.outputs.size())
        return Fail("a branch does not fit the results");
      for (size_t i = 0; i < node.outputs.size(); ++i)
        TVMVM_CHECK_OK(CheckAlike(function_.type(region.results[i]), function_.type(node.outputs[i])));
    }
    return {};
  }

  Status CheckLoop(const Node& node) const {
    if (node.regions.size() != 1) return Fail(fmt::format("{} regions, wanted 1", node.regions.size()));
    const Region& region = function_.region(node.regions[0]);
    size_t carried = CarriedCount(node);
    if (region.parameters.size() != carried || region.results.size() < carried ||
        region.results.size() != node.outputs.size())
      return Fail(fmt::format("{} initial values, {} parameters and {} results of the region, {} results",
                              carried, region.parameters.size(), region.results.size(), node.outputs.size()));
    for (size_t i = 0; i < carried; ++i) {
      TVMVM_CHECK_OK(CheckAlike(function_.type(node.inputs[i]), function_.type(region.parameters[i])));
      TVMVM_CHECK_OK(CheckAlike(function_.type(region.results[i]), function_.type(region.parameters[i])));
      TVMVM_CHECK_OK(CheckAlike(function_.type(region.parameters[i]), function_.type(node.outputs[i])));
    }
    for (size_t i = carried; i < region.results.size(); ++i) {
      const Type &element = function_.type(region.results[i]), &all = function_.type(node.outputs[i]);
      if (element.kind != TypeKind::kTensor || all.kind != TypeKind::kTensor || element.dtype != all.dtype ||
          (element.ranked && all.rank() != element.rank() + 1))
        return Fail(fmt::format("{} collected as {}", element.ToString(), all.ToString()));
    }
    return {};
  }

  // A value of type `a` may become one of type `b`: dims may differ by the symbols that the node defines.
  static Status CheckAlike(const Type& a, const Type& b) {
    bool fits = a.kind == b.kind || b.kind == TypeKind::kOptional;
    if (fits && a.kind == TypeKind::kTensor)
      fits = a.dtype == b.dtype && (!b.ranked || (a.ranked && a.rank() == b.rank()));
    if (fits) return {};
    return Fail(fmt::format("{} where {} is wanted", a.ToString(), b.ToString()));
  }

  Status CheckSameTypes(const std::vector<ValueId>& inputs, const std::vector<ValueId>& parameters,
                        const std::vector<ValueId>& outputs, const std::vector<ValueId>& results) const {
    auto fits = [this](const std::vector<ValueId>& outer, const std::vector<ValueId>& inner) {
      return std::equal(outer.begin(), outer.end(), inner.begin(), inner.end(), [this](ValueId a, ValueId b) {
        return InRange(a) && InRange(b) && function_.type(a) == function_.type(b);
      });
    };
    if (!fits(inputs, parameters)) return Fail("the inputs do not fit the region's parameters");
    if (!fits(outputs, results)) return Fail("the results do not fit the region's results");
    return {};
  }

  const Module& module_;
  const Function& function_;
  std::vector<bool> defined_;            // values that may be used at this point
  std::vector<bool> placed_;             // nodes seen in some region
  SymbolSet symbols_;                    // symbols that may be used at this point
  std::vector<SymbolId> inner_symbols_;  // those of them that nodes defined, in that order
};

}  // namespace

Status VerifyFunction(const Module& module, const Function& function) {
  return Verifier(module, function).Run();
}

Status VerifyModule(const Module& module) {
  if (module.functions.empty()) return MakeError(Code::kInternal, "there is no function");
  SymbolSet of_inputs;
  for (const Function& function : module.functions) {
    TVMVM_CHECK_OK(VerifyFunction(module, function));
    of_inputs.merge(ParameterSymbols(function));
  }
  for (const auto& [symbol, info] : module.symbols)
    if (info.scope == SymbolScope::kInput && !of_inputs.contains(symbol))
      return MakeError(
          Code::kInternal,
          fmt::format("the symbol {} is listed as an input's, but no input has it", symbol.ToString()));
  return {};
}

}  // namespace tvmvm::ir
