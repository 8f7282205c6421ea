// Building `loop` nodes: the types of carried values are found by importing the body with the types of the
// initial values and widening what turns out to change.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/type_join.h"
#include "compiler/onnx/ops/onnx_control.h"

namespace tvmvm::ir {
namespace {

constexpr int kMaxAttempts = 64;
// Imports of a body after which all its sizes may change from step to step: sizes that depend on one another
// would need an import each.
constexpr int kExactAttempts = 3;

// One carried value, or one dim of one: a symbol that the loop carries.
struct CarriedSymbol {
  SymbolId symbol;
  Dim initial, next;
  SymbolId after;
};

class LoopBuilder {
 public:
  LoopBuilder(OnnxContext& c, const LoopSpec& spec) : c_(c), b_(c.b), spec_(spec), source_(c.b.source()) {}

  std::vector<ValueId> Run() {
    std::vector<Type> nothing;
    bool keeps = spec_.key != nullptr && c_.carried_types != nullptr;
    std::vector<Type>& known = keeps ? (*c_.carried_types)[spec_.key] : nothing;
    for (ValueId initial : spec_.initial) types_.push_back(b_.type(initial));
    for (size_t i = 0; i < types_.size() && i < known.size(); ++i)
      if (auto joined = Join(types_[i], known[i])) types_[i] = *joined;
    for (int attempt = 0; attempt < kMaxAttempts && !b_.failed(); ++attempt) {
      auto rewind = c_.checkpoint();
      bool fits = Attempt();
      if (fits || b_.failed()) break;
      rewind();
      if (attempt + 1 >= kExactAttempts) ForgetSizes();
    }
    if (b_.failed()) return {};
    known.clear();
    for (const Type& type : types_) known.push_back(WithoutDims(type));
    return Finish();
  }

 private:
  // A value of one integer, which becomes a symbol.
  bool IsScalar(size_t number) const {
    const Type& type = types_[number];
    if (type.kind != TypeKind::kTensor || !type.ranked || type.rank() > 1) return false;
    if (type.dtype != DType::kI64 && type.dtype != DType::kI32 && type.dtype != DType::kBool) return false;
    return type.dims.empty() || type.dims[0].IsConstant(1);
  }

  // For another import of the same body: symbols of this one mean nothing there.
  static Type WithoutDims(Type type) {
    if (type.kind == TypeKind::kTensor)
      for (Dim& dim : type.dims)
        if (!dim.is_constant() && !IsUnknown(dim)) dim = UnknownDim();
    return type;
  }

  void ForgetSizes() {
    for (size_t i = 0; i < types_.size(); ++i)
      if (types_[i].kind == TypeKind::kTensor && types_[i].ranked && !IsScalar(i))
        for (Dim& dim : types_[i].dims) dim = UnknownDim();
  }

  CarriedSymbol& Carry(DimRange range, Dim initial) {
    CarriedSymbol symbol;
    symbol.symbol = b_.module().FreshSymbol({.range = range}).symbol();
    symbol.initial = std::move(initial);
    return symbols_.emplace_back(std::move(symbol));
  }

  static DimRange RangeOf(DType dtype) {
    if (dtype == DType::kBool) return {0, 1};
    if (dtype == DType::kI32) return {INT32_MIN, INT32_MAX};
    return {INT64_MIN, INT64_MAX};
  }

  // What the body sees of carried value `number`.
  ValueId Parameter(size_t number) {
    ValueId initial = spec_.initial[number];
    Type type = types_[number];
    if (IsScalar(number)) {
      Dims elements = b_.ReadDims(initial);
      if (b_.failed()) return initial;
      CarriedSymbol& symbol = Carry(RangeOf(type.dtype), elements[0]);
      return b_.Reshape(b_.DimScalar(Dim::Symbol(symbol.symbol), type.dtype), type.dims);
    }
    const Type& first = b_.type(initial);
    if (type.kind == TypeKind::kTensor && type.ranked)
      for (size_t axis = 0; axis < type.dims.size(); ++axis)
        if (IsUnknown(type.dims[axis]))
          type.dims[axis] = Dim::Symbol(Carry({0, INT64_MAX}, first.dims[axis]).symbol);
    ValueId parameter = b_.function().AddValue(type, b_.function().value(initial).name);
    b_.function().region(region_).parameters.push_back(parameter);
    return parameter;
  }

  // Imports the body once. False: some carried value is of a wider type than thought, which types_ tells now.
  bool Attempt() {
    symbols_.clear();
    region_ = b_.function().AddRegion();
    // Read outside: symbols of the initial values serve after the loop, too.
    for (size_t i = 0; i < types_.size(); ++i)
      if (IsScalar(i)) b_.ReadDims(spec_.initial[i]);
    inner_ = InnerSymbols(b_.module());
    b_.EnterRegion(region_);
    bool fits = ImportBody();
    b_.LeaveRegion();
    return fits;
  }

  bool ImportBody() {
    int64_t last = spec_.trip.is_constant() ? std::max<int64_t>(spec_.trip.value(), 1) - 1 : INT64_MAX - 1;
    Dim index = b_.module().FreshSymbol({.range = {0, last}});
    index_ = index.symbol();
    std::vector<ValueId> carried;
    for (size_t i = 0; i < types_.size(); ++i) carried.push_back(Parameter(i));
    if (b_.failed()) return false;
    auto results = spec_.body(index, carried);
    if (!results) {
      b_.Fail(results.error().code, results.error().message);
      return false;
    }
    results_ = *results;
    size_t skip = spec_.tests ? 1 : 0;
    if (results_.size() < skip + types_.size()) {
      b_.Fail(Code::kInvalidArgument, fmt::format("the body has {} outputs, at least {} are wanted",
                                                  results_.size(), skip + types_.size()));
      return false;
    }
    continue_ = 1;
    if (spec_.tests) {
      continue_ = b_.ReadDim(results_[0]);
      if (b_.failed()) return false;
      results_.erase(results_.begin());
    }
    bool fits = true;
    size_t symbol = 0;
    for (size_t i = 0; i < types_.size(); ++i) fits = Compare(i, &symbol) && fits;
    return fits && !b_.failed();
  }

  // Whether the next value has the type that the body was imported with; sets what the symbols become.
  bool Compare(size_t number, size_t* symbol) {
    const Type next = b_.type(results_[number]);
    Type& type = types_[number];
    if (IsScalar(number)) {
      if (next.kind == TypeKind::kTensor && next.dtype == type.dtype && next.ranked &&
          next.rank() == type.rank() && (next.dims.empty() || next.dims[0].IsConstant(1))) {
        Dims elements = b_.ReadDims(results_[number]);
        if (!b_.failed()) symbols_[(*symbol)++].next = elements[0];
        return true;
      }
    }
    auto joined = Join(type, next);
    if (!joined) {
      b_.Fail(Code::kInvalidArgument,
              fmt::format("carried value {} is {} before the loop and {} after a step", number,
                          type.ToString(), next.ToString()));
      return false;
    }
    bool fits = *joined == type;
    // Dims that are carried as symbols may become anything.
    if (type.kind == TypeKind::kTensor && type.ranked && joined->ranked)
      for (size_t axis = 0; axis < type.dims.size(); ++axis)
        if (IsUnknown(type.dims[axis])) symbols_[(*symbol)++].next = next.dims[axis];
    if (!fits) type = *joined;
    return fits;
  }

  // Carried scalars need no place among the carried values.
  std::vector<ValueId> Finish() {
    b_.SetSource(source_);
    Node node;
    node.op = &GetCoreOp("loop");
    node.source = source_;
    Dim trip = Simplify(spec_.trip, b_.module().Ranges());
    Dim start = spec_.start;
    bool counted = continue_.IsConstant(1) && start.IsConstant(1);
    Dim count = counted ? Simplify(Max(trip, 0), b_.module().Ranges())
                        : b_.module().FreshSymbol({.range = {0, INT64_MAX}});
    node.attributes = {{"trip", trip},
                       {"start", start},
                       {"continue", continue_},
                       {"index", index_},
                       {"count", counted ? SymbolId() : count.symbol()}};
    std::vector<ValueId> region_results, outputs(results_.size());
    size_t symbol = 0;
    for (size_t i = 0; i < types_.size(); ++i) {
      if (IsScalar(i)) {
        scalar_finals_.emplace_back(i, symbol);
        Final(&symbols_[symbol++], RangeOf(types_[i].dtype));
        continue;
      }
      Type type = types_[i];
      if (type.kind == TypeKind::kTensor)
        for (Dim& dim : type.dims)
          if (IsUnknown(dim)) dim = Final(&symbols_[symbol++], {0, INT64_MAX});
      node.inputs.push_back(spec_.initial[i]);
      region_results.push_back(results_[i]);
      outputs[i] = b_.function().AddValue(std::move(type));
      node.outputs.push_back(outputs[i]);
    }
    for (size_t i = types_.size(); i < results_.size(); ++i) {
      outputs[i] = b_.function().AddValue(CollectedType(results_[i], count));
      if (b_.failed()) return {};
      region_results.push_back(results_[i]);
      node.outputs.push_back(outputs[i]);
    }
    SetSymbols(&node);
    node.regions = {region_};
    b_.function().region(region_).results = std::move(region_results);
    b_.function().region(b_.region()).nodes.push_back(b_.function().AddNode(std::move(node)));
    for (auto [number, of] : scalar_finals_)
      outputs[number] = b_.Reshape(b_.DimScalar(Dim::Symbol(symbols_[of].after), types_[number].dtype),
                                   types_[number].dims);
    return outputs;
  }

  Dim Final(CarriedSymbol* symbol, DimRange range) {
    Dim dim = b_.module().FreshSymbol({.range = range});
    symbol->after = dim.symbol();
    return dim;
  }

  // Sizes that only the steps know are carried out of the loop as symbols.
  Type CollectedType(ValueId element, const Dim& count) {
    const Type type = b_.type(element);
    if (type.kind != TypeKind::kTensor || !type.ranked) {
      b_.Fail(Code::kUnsupported, fmt::format("collecting {} over the steps of a loop", type.ToString()));
      return type;
    }
    Dims dims{count};
    for (const Dim& dim : type.dims) {
      if (!inner_.Mentioned(dim)) {
        dims.push_back(dim);
        continue;
      }
      CarriedSymbol& symbol = Carry({0, INT64_MAX}, 0);
      symbol.next = dim;
      dims.push_back(Final(&symbol, {0, INT64_MAX}));
      Dim last = Dim::Symbol(symbol.symbol), index = Dim::Symbol(index_);
      b_.EnterRegion(region_);
      b_.Require(Or(Equal(index, 0), Equal(dim, last)),
                 "step {0} collects a size of {1}, the steps before it one of {2}", {index, dim, last});
      b_.LeaveRegion();
    }
    return Type::Tensor(type.dtype, std::move(dims));
  }

  void SetSymbols(Node* node) {
    std::vector<SymbolId> symbols, finals;
    Dims initial, next;
    for (CarriedSymbol& symbol : symbols_) {
      symbols.push_back(symbol.symbol);
      finals.push_back(symbol.after);
      initial.push_back(symbol.initial);
      next.push_back(symbol.next);
    }
    node->attributes["symbols"] = std::move(symbols);
    node->attributes["finals"] = std::move(finals);
    node->attributes["initial"] = std::move(initial);
    node->attributes["next"] = std::move(next);
  }

  OnnxContext& c_;
  OpBuilder& b_;
  const LoopSpec& spec_;
  std::string source_;
  std::vector<Type> types_;  // of the carried values; unknown dims are carried as symbols
  InnerSymbols inner_{c_.b.module()};
  RegionId region_;
  SymbolId index_;
  std::vector<CarriedSymbol> symbols_;  // in the order of the carried values
  std::vector<ValueId> results_;        // of the body, without the condition
  Dim continue_ = 1;
  std::vector<std::pair<size_t, size_t>> scalar_finals_;  // carried value, symbol
};

}  // namespace

InnerSymbols::InnerSymbols(const Module& module) : module_(&module), begin_(module.now()) {}

bool InnerSymbols::Mentioned(const Dim& dim) const {
  return AnySymbol(dim, [this](const SymbolId& symbol) { return module_->IsMadeSince(symbol, begin_); });
}

std::vector<ValueId> BuildLoop(OnnxContext& c, const LoopSpec& spec) { return LoopBuilder(c, spec).Run(); }

}  // namespace tvmvm::ir
