#include "compiler/graph/op_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/graph/core_op.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/known_elements.h"
#include "compiler/graph/tensor_elements.h"

namespace tvmvm::ir {
namespace {

// Sizes that are made of one another in more steps than this come from no real model, and whoever walks them
// may recurse.
constexpr int kMaxDimDepth = 256;
// A dim of more nodes than this is not worth computing with: no operator's rule makes it from named ones.
constexpr size_t kMaxDimSize = 20000;

Status CheckInputs(const CoreOp& op, const std::vector<ValueId>& inputs, const Function& function) {
  int count = static_cast<int>(inputs.size());
  if (count < op.min_inputs || (op.max_inputs >= 0 && count > op.max_inputs))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("{} inputs given, wanted {} to {}", count, op.min_inputs,
                                 op.max_inputs < 0 ? "any number" : std::to_string(op.max_inputs)));
  for (int i = 0; i < count; ++i) {
    ValueId input = inputs[static_cast<size_t>(i)];
    if (!input.valid() ? i < op.min_inputs : input.index >= function.values.size())
      return MakeError(Code::kInvalidArgument, fmt::format("input {} is absent", i));
  }
  return {};
}

// The number that a dim is a multiple of, as it is written.
int64_t FactorOf(const Dim& dim) {
  if (dim.op() == DimOp::kMul) return dim.operands().back().constant().value_or(1);
  return dim.constant().value_or(1);
}

// Constants in dims wrap, so a tensor that is too large is told before its bytes are counted.
Status CheckBytes(const Type& type) {
  int64_t bytes = 16;  // no element has more
  for (const Dim& dim : type.dims) {
    int64_t factor = FactorOf(dim);
    if (factor == 0) return {};
    if (__builtin_mul_overflow(bytes, factor, &bytes))
      return MakeError(Code::kInvalidArgument,
                       fmt::format("the result's shape {} is too large", ToString(type.dims)));
  }
  return {};
}

Status CheckResult(const Type& type) {
  for (const Dim& dim : type.dims) {
    if (dim.constant().value_or(0) < 0)
      return MakeError(Code::kInvalidArgument,
                       fmt::format("the result's shape {} has a negative size", ToString(type.dims)));
    if (dim.size() > kMaxDimSize || dim.depth() > kMaxDimDepth)
      return MakeError(Code::kUnsupported,
                       "a size of the result is too large an expression of the inputs' sizes");
  }
  return CheckBytes(type);
}

Status CheckAttributes(const CoreOp& op, const Attributes& attributes) {
  auto knows = [&op](std::string_view name) {
    for (std::string_view rest = op.attributes; !rest.empty();) {
      const size_t end = std::min(rest.find(' '), rest.size());
      if (rest.substr(0, end) == name) return true;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
  };
  for (const auto& [name, value] : attributes)
    if (!knows(name)) return MakeError(Code::kInternal, fmt::format("its row has no attribute '{}'", name));
  return {};
}

DimRange RangeOfType(DType dtype) {
  if (dtype == DType::kBool) return {0, 1};
  if (IsUnsignedInteger(dtype))
    return {0, DTypeBits(dtype) < 64 ? (int64_t{1} << DTypeBits(dtype)) - 1 : INT64_MAX};
  return {INT64_MIN, INT64_MAX};
}

TensorData ScalarData(DType dtype, tensor::Scalar value) {
  std::vector<std::byte> bytes(static_cast<size_t>(DTypeBytes(dtype, 1)));
  WriteElement(dtype, bytes, 0, value);
  return TensorData::Owned(dtype, {}, std::move(bytes));
}

// Sizes as plain as what is known of the symbols allows: max(n, 0) is n where n is not negative.
void SimplifyDims(Attributes* attributes, const RangeLookup& ranges) {
  for (auto& [name, attribute] : *attributes) {
    if (auto* dim = std::get_if<Dim>(&attribute)) *dim = Simplify(*dim, ranges);
    if (auto* dims = std::get_if<Dims>(&attribute))
      for (Dim& dim : *dims) dim = Simplify(dim, ranges);
  }
}

// The node becomes the constant that it computes.
void BecomeConstant(Node* node, TensorData data) {
  node->op = &GetCoreOp("constant");
  node->inputs.clear();
  node->attributes = {{"data", std::make_shared<const TensorData>(std::move(data))}};
}

}  // namespace

OpBuilder::OpBuilder(Module* module, Function* function, RegionId region)
    : module_(module), function_(function), region_(region) {}

void OpBuilder::EnterRegion(RegionId region, const Definitions& known) {
  Begin();
  region_ = region;
  for (auto made = known.rbegin(); made != known.rend(); ++made) Define(made->first, made->second);
}

OpBuilder::Definitions OpBuilder::LeaveRegion() {
  Definitions made;
  for (; changes_.size() > outer_.back().changes; changes_.pop_back()) {
    Change& change = changes_.back();
    auto place = defined_.find(change.value);
    made.emplace_back(change.value, std::move(place->second));
    if (change.before)
      place->second = *std::move(change.before);
    else
      defined_.erase(place);
  }
  region_ = outer_.back().region;
  outer_.pop_back();
  return made;
}

void OpBuilder::Begin() {
  outer_.push_back({region_, changes_.size(), function_->region(region_).nodes.size()});
}

void OpBuilder::Undo() {
  function_->region(region_).nodes.resize(outer_.back().nodes);
  LeaveRegion();
}

void OpBuilder::Keep() { outer_.pop_back(); }

bool OpBuilder::IsOpen(RegionId region) const {
  return region == region_ ||
         std::ranges::any_of(outer_, [&](const Scope& scope) { return scope.region == region; });
}

void OpBuilder::Define(ValueId value, Dims symbols) {
  auto [place, is_new] = defined_.try_emplace(value);
  if (!outer_.empty())
    changes_.push_back({value, is_new ? std::nullopt : std::optional(std::move(place->second))});
  place->second = std::move(symbols);
}

ValueId OpBuilder::Emit(std::string_view op, std::vector<ValueId> inputs, Attributes attributes) {
  return EmitMulti(op, std::move(inputs), std::move(attributes)).front();
}

std::vector<ValueId> OpBuilder::EmitMulti(std::string_view op, std::vector<ValueId> inputs,
                                          Attributes attributes) {
  auto fail = [this, op](Code code, const std::string& message) {
    return std::vector{Fail(code, fmt::format("{}: {}", op, message))};
  };
  if (failed()) return {Fail(Code::kInternal, "")};
  const CoreOp* row = FindCoreOp(op);
  if (!row || !row->infer) return fail(Code::kInternal, "no core operator with a type rule has this name");
  if (Status status = CheckInputs(*row, inputs, *function_); !status)
    return fail(status.error().code, status.error().message);
  if (Status status = CheckAttributes(*row, attributes); !status)
    return fail(status.error().code, status.error().message);
  Node node;
  node.op = row;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  SimplifyDims(&node.attributes, module_->Ranges());
  node.source = source_;
  InferContext context{node, {}};
  for (ValueId input : node.inputs) context.inputs.push_back(input.valid() ? type(input) : Type());
  Expected<std::vector<Type>> types = row->infer(context);
  if (!types) return fail(types.error().code, types.error().message);
  for (Type& result : *types) {
    result.NameLargeDims(module_->Ranges());
    if (Status status = CheckResult(result); !status)
      return fail(status.error().code, status.error().message);
    node.outputs.push_back(function_->AddValue(std::move(result)));
  }
  std::vector<ValueId> outputs = node.outputs;
  NodeId id = function_->AddNode(std::move(node));
  function_->region(region_).nodes.push_back(id);
  InferElements(id);
  if (outputs.empty()) outputs.push_back(ValueId{});
  return outputs;
}

std::vector<ValueId> OpBuilder::Host(HostFunctionId host, std::vector<ValueId> inputs,
                                     std::vector<Type> results, Dims scalars, std::vector<SymbolId> symbols) {
  if (failed()) return std::vector<ValueId>(std::max<size_t>(1, results.size()), Fail(Code::kInternal, ""));
  const HostSignature& signature = HostSignatures()[static_cast<size_t>(host)];
  Node node;
  node.op = &GetCoreOp(signature.name);
  node.source = source_;
  node.inputs = std::move(inputs);
  if (!scalars.empty()) node.attributes["scalars"] = std::move(scalars);
  if (!symbols.empty()) node.attributes["symbols"] = std::move(symbols);
  for (Type& result : results) {
    result.NameLargeDims(module_->Ranges());
    node.outputs.push_back(function_->AddValue(std::move(result)));
  }
  std::vector<ValueId> outputs = node.outputs;
  function_->region(region_).nodes.push_back(function_->AddNode(std::move(node)));
  return outputs;
}

void OpBuilder::InferElements(NodeId id) {
  Node& node = function_->node(id);
  if (node.op->kind == OpKind::kDefineDims) {
    // They do not become the value's `elements`: the value is what they are read from.
    Dims symbols;
    for (const SymbolId& symbol : node.Symbols("symbols")) symbols.push_back(Dim::Symbol(symbol));
    return Define(node.inputs[0], std::move(symbols));
  }
  if (node.op->kind == OpKind::kRequire || node.op->kind == OpKind::kCheck) return;
  Value& value = function_->value(node.outputs[0]);
  if (node.op->kind == OpKind::kConstant) {
    value.elements = ElementsOf(*node.Data("data"));
    return;
  }
  if (node.op->kind == OpKind::kDimsTensor) {
    if (IsInteger(value.type.dtype) || value.type.dtype == DType::kBool)
      value.elements = node.DimList("elements");
    return;
  }
  value.elements = ir::InferElements(*function_, node, defined_, module_->Ranges());
  if (!value.elements) return FoldSmall(id);
  bool is_constant = std::all_of(value.elements->begin(), value.elements->end(),
                                 [](const Dim& dim) { return dim.is_constant(); });
  if (!is_constant) return;
  DType dtype = value.type.dtype;
  std::vector<int64_t> dims;
  for (const Dim& dim : value.type.dims) dims.push_back(dim.value());
  std::vector<std::byte> bytes(
      static_cast<size_t>(DTypeBytes(dtype, static_cast<int64_t>(value.elements->size()))));
  for (size_t i = 0; i < value.elements->size(); ++i)
    WriteElement(dtype, bytes, static_cast<int64_t>(i), {.integer = (*value.elements)[i].value()});
  BecomeConstant(&node, TensorData::Owned(dtype, std::move(dims), std::move(bytes)));
}

// Small computations on constants are done at once, so that whoever builds can ask for their values.
void OpBuilder::FoldSmall(NodeId id) {
  Node& node = function_->node(id);
  if (!node.op->element || node.inputs.empty() || node.outputs.size() != 1) return;
  const Type& type = function_->type(node.outputs[0]);
  if (!SmallElementCount(type)) return;
  std::vector<const TensorData*> inputs;
  std::vector<Type> types;
  for (ValueId input : node.inputs) {
    inputs.push_back(function_->ConstantOf(input));
    if (input.valid() && !inputs.back()) return;
    types.push_back(input.valid() ? function_->type(input) : Type());
  }
  constexpr int64_t kMaxSteps = 100'000;
  auto no_symbols = [](const SymbolId&) { return std::optional<int64_t>(); };
  auto results = EvaluateNode(node, types, {type}, inputs, no_symbols, kMaxSteps);
  if (results) BecomeConstant(&node, std::move(results->front()));
}

ValueId OpBuilder::Fail(Code code, std::string message) {
  if (!error_) error_ = Error{code, std::move(message)};
  return function_->AddValue(Type::Tensor(DType::kF32, Dims(Type::kMostRanks - 1, Dim(1))));
}

std::optional<Error> OpBuilder::TakeError(ValueId* unreadable) {
  if (unreadable != nullptr) *unreadable = unreadable_;
  unreadable_ = {};
  return std::exchange(error_, std::nullopt);
}

Dims OpBuilder::dims(ValueId value, int rank, std::string_view what) {
  const Type& t = type(value);
  if (t.rank() == rank) return t.dims;
  Fail(Code::kInvalidArgument, fmt::format("{} has rank {}, wanted {}", what, t.rank(), rank));
  return Dims(static_cast<size_t>(rank), Dim(1));
}

Dim OpBuilder::dim(ValueId value, int axis) const {
  const Dims& all = dims(value);
  int count = static_cast<int>(all.size());
  if (axis < 0) axis += count;
  return axis >= 0 && axis < count ? all[static_cast<size_t>(axis)] : Dim(1);
}

int OpBuilder::NormalizeAxis(int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  Fail(Code::kInvalidArgument, fmt::format("axis {} is out of range for rank {}", axis, rank));
  return 0;
}

// ---- contents ----

Dims OpBuilder::ReadDims(ValueId value) {
  if (failed() || !value.valid()) return {};
  const Value& known = function_->value(value);
  const Type& t = known.type;
  if (!IsInteger(t.dtype) && t.dtype != DType::kBool) {
    Fail(Code::kInvalidArgument, fmt::format("{} where a list of integers is wanted", t.ToString()));
    return {};
  }
  std::optional<int64_t> count = t.ranked && t.rank() <= 1 ? SmallElementCount(t) : std::nullopt;
  if (!count) {
    unreadable_ = value;
    Fail(Code::kUnsupported, fmt::format("{} where a list of at most {} integers of known length is wanted",
                                         t.ToString(), kMaxKnownElements));
    return {};
  }
  if (known.elements) return *known.elements;
  if (auto found = defined_.find(value); found != defined_.end()) return found->second;
  SymbolInfo info{.range = RangeOfType(t.dtype)};
  Dims elements;
  std::vector<SymbolId> symbols;
  for (int64_t i = 0; i < *count; ++i) {
    elements.push_back(module_->FreshSymbol(info));
    symbols.push_back(elements.back().symbol());
  }
  EmitMulti("define_dims", {value}, {{"symbols", std::move(symbols)}});
  return elements;
}

Dims OpBuilder::ReadDims(ValueId value, size_t count) {
  if (failed() || !value.valid()) return {};
  const Type& t = type(value);
  if (t.ranked && t.rank() == 1 && !t.dims[0].is_constant() && count <= kMaxKnownElements) {
    const Dim length = t.dims[0], wanted = static_cast<int64_t>(count);
    Require(Equal(length, wanted), "a list of {0} numbers where {1} are wanted", {length, wanted});
    value = Reshape(value, {wanted});
  }
  return ReadDims(value);
}

Dim OpBuilder::ReadDim(ValueId value) {
  if (failed() || !value.valid()) return 0;
  const Type& t = type(value);
  bool is_list = t.ranked && t.rank() <= 1 && SmallElementCount(t) == 1;
  Dims elements = ReadDims(is_list ? value : Reshape(value, {}));
  return elements.size() == 1 ? elements[0] : Dim(0);
}

void OpBuilder::Require(Dim condition, std::string message, Dims values) {
  condition = Simplify(condition, module_->Ranges());
  if (failed() || (condition.is_constant() && condition.value() != 0)) return;
  if (!condition.is_constant()) {
    EmitMulti("require", {},
              {{"condition", condition}, {"message", std::move(message)}, {"values", std::move(values)}});
    return;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    std::string place = fmt::format("{{{}}}", i);
    if (size_t at = message.find(place); at != std::string::npos)
      message.replace(at, place.size(), values[i].ToString());
  }
  Fail(Code::kInvalidArgument, std::move(message));
}

const TensorData* OpBuilder::ConstantData(ValueId value) const { return function_->ConstantOf(value); }

std::optional<std::vector<int64_t>> OpBuilder::ConstantInts(ValueId value) const {
  if (!value.valid()) return std::nullopt;
  std::vector<int64_t> ints;
  if (const auto& elements = function_->value(value).elements) {
    for (const Dim& dim : *elements) {
      if (!dim.is_constant()) return std::nullopt;
      ints.push_back(dim.value());
    }
    return ints;
  }
  const TensorData* data = ConstantData(value);
  if (!data || (!IsInteger(data->dtype) && data->dtype != DType::kBool)) return std::nullopt;
  for (int64_t i = 0; i < data->element_count(); ++i) ints.push_back(ReadElement(*data, i).integer);
  return ints;
}

std::optional<double> OpBuilder::ConstantScalar(ValueId value) const {
  if (!value.valid()) return std::nullopt;
  const TensorData* data = ConstantData(value);
  if (!data || !IsNumeric(data->dtype) || data->element_count() != 1) return std::nullopt;
  tensor::Scalar scalar = ReadElement(*data, 0);
  return IsFloat(data->dtype) ? scalar.number : static_cast<double>(scalar.integer);
}

// ---- constants ----

ValueId OpBuilder::Constant(TensorData data, std::string name) {
  ValueId value = Emit("constant", {}, {{"data", std::make_shared<const TensorData>(std::move(data))}});
  function_->value(value).name = std::move(name);
  return value;
}

ValueId OpBuilder::Scalar(DType dtype, double value) {
  if (!IsNumeric(dtype))
    return Fail(Code::kUnsupported, fmt::format("a number of element type {}", DTypeName(dtype)));
  return Constant(ScalarData(dtype, tensor::ConvertScalar(DType::kF64, dtype, {.number = value})));
}

ValueId OpBuilder::ScalarInt(DType dtype, int64_t value) {
  if (!IsNumeric(dtype))
    return Fail(Code::kUnsupported, fmt::format("a number of element type {}", DTypeName(dtype)));
  return Constant(ScalarData(dtype, tensor::ConvertScalar(DType::kI64, dtype, {.integer = value})));
}

ValueId OpBuilder::DimsTensor(const Dims& elements, DType dtype) {
  Dims dims{static_cast<int64_t>(elements.size())};
  bool is_constant =
      std::all_of(elements.begin(), elements.end(), [](const Dim& dim) { return dim.is_constant(); });
  if (!is_constant)
    return Emit("dims_tensor", {}, {{"elements", elements}, {"dims", std::move(dims)}, {"dtype", dtype}});
  std::vector<std::byte> bytes(static_cast<size_t>(DTypeBytes(dtype, dims[0].value())));
  for (size_t i = 0; i < elements.size(); ++i)
    WriteElement(dtype, bytes, static_cast<int64_t>(i),
                 tensor::ConvertScalar(DType::kI64, dtype, {.integer = elements[i].value()}));
  return Constant(TensorData::Owned(dtype, {dims[0].value()}, std::move(bytes)));
}

ValueId OpBuilder::DimScalar(const Dim& element, DType dtype) {
  if (element.is_constant()) return ScalarInt(dtype, element.value());
  return Emit("dims_tensor", {}, {{"elements", Dims{element}}, {"dims", Dims{}}, {"dtype", dtype}});
}

}  // namespace tvmvm::ir
