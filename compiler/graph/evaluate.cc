#include "compiler/graph/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/expr_program.h"
#include "compiler/graph/tensor_elements.h"

namespace tvmvm::ir {
namespace {

using tensor::Expr;

// More bytes than this are never computed here.
constexpr int64_t kMaxBytes = int64_t{1} << 33;

Expected<std::vector<int64_t>> SizesOf(const Dims& dims, const SymbolValues& symbols) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : dims) {
    std::optional<int64_t> size = Evaluate(dim, symbols);
    if (!size) return MakeError(Code::kUnsupported, fmt::format("the dim {} has no value", dim.ToString()));
    if (*size < 0)
      return MakeError(Code::kInvalidArgument, fmt::format("the dim {} is {}", dim.ToString(), *size));
    sizes.push_back(*size);
  }
  return sizes;
}

Expected<TensorData> Allocate(DType dtype, std::vector<int64_t> sizes, std::vector<std::byte>** bytes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(count, size, &count) || count > kMaxBytes)
      return MakeError(Code::kUnsupported, "the result is too large to compute here");
  if (DTypeBytes(dtype, count) > kMaxBytes)
    return MakeError(Code::kUnsupported, "the result is too large to compute here");
  auto storage = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(DTypeBytes(dtype, count)));
  *bytes = storage.get();
  TensorData data;
  data.dtype = dtype;
  data.dims = std::move(sizes);
  data.bytes = *storage;
  data.owner = std::move(storage);
  return data;
}

// Elements as tensor expressions over loads of the inputs.
class SymbolicContext final : public ElementContext {
 public:
  SymbolicContext(const Node& node, const std::vector<Type>& inputs, const Type& output)
      : node_(node),
        inputs_(inputs),
        output_(output),
        next_axis_(static_cast<uint32_t>(output.dims.size())) {}
  const Node& node() const override { return node_; }
  const Type& input_type(int input) const override { return inputs_[static_cast<size_t>(input)]; }
  const Type& output_type(int) const override { return output_; }
  bool has_input(int input) const override {
    return static_cast<size_t>(input) < node_.inputs.size() &&
           node_.inputs[static_cast<size_t>(input)].valid();
  }
  Expr Input(int input, std::span<const Expr> index) override {
    return tensor::Element(static_cast<uint32_t>(input), input_type(input).dtype,
                           {index.begin(), index.end()});
  }
  tensor::VariableId NewAxis(std::string_view) override { return next_axis_++; }

 private:
  const Node& node_;
  const std::vector<Type>& inputs_;
  const Type& output_;
  tensor::VariableId next_axis_;
};

Expected<TensorData> EvaluateElements(const Node& node, const std::vector<Type>& types, const Type& output,
                                      std::span<const TensorData* const> inputs, const SymbolValues& symbols,
                                      int64_t max_steps) {
  TVMVM_TRY(std::vector<int64_t> sizes, SizesOf(output.dims, symbols));
  SymbolicContext context(node, types, output);
  std::vector<Expr> variables;
  for (uint32_t axis = 0; axis < sizes.size(); ++axis) variables.push_back(tensor::Variable(axis));
  Expr element = node.op->element(context, variables);
  TVMVM_TRY(ExprProgram program,
            ExprProgram::Create(element, static_cast<uint32_t>(sizes.size()), inputs, symbols));
  std::vector<std::byte>* bytes = nullptr;
  TVMVM_TRY(TensorData result, Allocate(output.dtype, sizes, &bytes));
  int64_t count = result.element_count();
  if (count > max_steps / program.steps_per_element())
    return MakeError(Code::kUnsupported, "the result takes too long to compute here");
  std::vector<int64_t> index(sizes.size(), 0);
  for (int64_t flat = 0; flat < count; ++flat) {
    WriteElement(output.dtype, *bytes, flat, program.Run(index));
    for (size_t axis = sizes.size(); axis-- > 0;) {
      if (++index[axis] < sizes[axis]) break;
      index[axis] = 0;
    }
  }
  return result;
}

// ---- copies ----

template <size_t size>
void CopyElements(const StridedCopy& copy, const std::byte* from, const std::vector<int64_t>& sizes,
                  std::byte* to, int64_t count) {
  if (count == 0) return;
  std::vector<int64_t> index(sizes.size(), 0);
  int64_t inner = sizes.empty() ? 1 : sizes.back(), inner_stride = sizes.empty() ? 0 : copy.strides.back();
  for (int64_t done = 0; done < count; done += inner) {
    int64_t offset = copy.offset;
    for (size_t axis = 0; axis + 1 < sizes.size(); ++axis) offset += index[axis] * copy.strides[axis];
    for (int64_t i = 0; i < inner; ++i, to += size)
      std::memcpy(to, from + (offset + i * inner_stride) * static_cast<int64_t>(size), size);
    for (size_t axis = sizes.size(); axis-- > 1;) {
      if (++index[axis - 1] < sizes[axis - 1]) break;
      index[axis - 1] = 0;
    }
  }
}

// Movements that need no arithmetic; nothing where there is no short way.
Expected<std::optional<TensorData>> EvaluateMovement(const Node& node, const Type& output,
                                                     std::span<const TensorData* const> inputs,
                                                     const SymbolValues& symbols) {
  if (inputs.size() != 1 || !inputs[0]) return std::optional<TensorData>();
  TVMVM_TRY(std::vector<int64_t> sizes, SizesOf(output.dims, symbols));
  if (node.op->kind == OpKind::kView) {
    TensorData view = *inputs[0];
    view.dims = std::move(sizes);
    if (view.element_count() != inputs[0]->element_count())
      return MakeError(Code::kInvalidArgument, fmt::format("{} elements cannot be seen as {}",
                                                           inputs[0]->element_count(), output.ToString()));
    return std::optional(std::move(view));
  }
  if (node.op->copy == nullptr || DTypeBits(output.dtype) < 8) return std::optional<TensorData>();
  std::optional<StridedCopy> copy = node.op->copy(node, inputs[0]->dims, sizes);
  if (!copy) return std::optional<TensorData>();
  std::vector<std::byte>* bytes = nullptr;
  TVMVM_TRY(TensorData result, Allocate(output.dtype, sizes, &bytes));
  const std::byte* from = inputs[0]->bytes.data();
  int64_t count = result.element_count();
  switch (DTypeBits(output.dtype)) {
    case 8:
      CopyElements<1>(*copy, from, sizes, bytes->data(), count);
      break;
    case 16:
      CopyElements<2>(*copy, from, sizes, bytes->data(), count);
      break;
    case 32:
      CopyElements<4>(*copy, from, sizes, bytes->data(), count);
      break;
    case 64:
      CopyElements<8>(*copy, from, sizes, bytes->data(), count);
      break;
    default:
      return std::optional<TensorData>();
  }
  return std::optional(std::move(result));
}

Expected<TensorData> EvaluateDimsTensor(const Node& node, const Type& output, const SymbolValues& symbols) {
  TVMVM_TRY(std::vector<int64_t> sizes, SizesOf(output.dims, symbols));
  std::vector<std::byte>* bytes = nullptr;
  TVMVM_TRY(TensorData result, Allocate(output.dtype, sizes, &bytes));
  const Dims& elements = node.DimList("elements");
  for (size_t i = 0; i < elements.size(); ++i) {
    std::optional<int64_t> value = Evaluate(elements[i], symbols);
    if (!value)
      return MakeError(Code::kUnsupported, fmt::format("the dim {} has no value", elements[i].ToString()));
    WriteElement(output.dtype, *bytes, static_cast<int64_t>(i),
                 tensor::ConvertScalar(DType::kI64, output.dtype, {.integer = *value}));
  }
  return result;
}

// ---- functions ----

class FunctionEvaluation {
 public:
  explicit FunctionEvaluation(const Function& function)
      : function_(function), values_(function.values.size()) {
    lookup_ = [this](const SymbolId& symbol) -> std::optional<int64_t> {
      auto found = symbols_.find(symbol);
      return found == symbols_.end() ? std::nullopt : std::optional(found->second);
    };
  }

  Expected<std::vector<TensorData>> Run(std::span<const TensorData> inputs) {
    const Region& body = function_.region(function_.body);
    if (inputs.size() != body.parameters.size())
      return MakeError(Code::kInvalidArgument,
                       fmt::format("{} inputs given, wanted {}", inputs.size(), body.parameters.size()));
    for (size_t i = 0; i < inputs.size(); ++i) TVMVM_CHECK_OK(Bind(body.parameters[i], inputs[i]));
    return RunRegion(function_.body);
  }

 private:
  Status Bind(ValueId parameter, const TensorData& input) {
    const Type& type = function_.type(parameter);
    bool fits = input.dtype == type.dtype && input.dims.size() == type.dims.size();
    for (size_t axis = 0; fits && axis < input.dims.size(); ++axis) {
      if (type.dims[axis].is_symbol()) symbols_.emplace(type.dims[axis].symbol(), input.dims[axis]);
      fits = Evaluate(type.dims[axis], lookup_) == input.dims[axis];
    }
    if (!fits)
      return MakeError(Code::kInvalidArgument,
                       fmt::format("an input does not fit parameter {}", type.ToString()));
    values_[parameter.index] = input;
    return {};
  }

  Expected<std::vector<TensorData>> RunRegion(RegionId id) {
    const Region& region = function_.region(id);
    for (NodeId node : region.nodes) TVMVM_CHECK_OK(RunNode(function_.node(node)));
    std::vector<TensorData> results;
    for (ValueId result : region.results) results.push_back(values_[result.index]);
    return results;
  }

  Status RunNode(const Node& node) {
    if (node.op->kind == OpKind::kDefineDims) return DefineDims(node);
    if (node.op->kind == OpKind::kRequire) return Check(node);
    std::vector<TensorData> results;
    if (node.op->kind == OpKind::kFused) {
      const Region& region = function_.region(node.regions[0]);
      for (size_t i = 0; i < node.inputs.size(); ++i)
        values_[region.parameters[i].index] = values_[node.inputs[i].index];
      TVMVM_TRY(results, RunRegion(node.regions[0]));
    } else if (IsIf(node)) {
      TVMVM_TRY(results, RunIf(node));
    } else if (IsLoop(node)) {
      TVMVM_TRY(results, RunLoop(node));
    } else {
      std::vector<const TensorData*> inputs;
      std::vector<Type> types, outputs;
      for (ValueId input : node.inputs) {
        inputs.push_back(input.valid() ? &values_[input.index] : nullptr);
        types.push_back(input.valid() ? function_.type(input) : Type());
      }
      for (ValueId output : node.outputs) outputs.push_back(function_.type(output));
      auto evaluated = EvaluateNode(node, types, outputs, inputs, lookup_);
      if (!evaluated)
        return MakeError(evaluated.error().code,
                         fmt::format("{}: {}", node.op->name, evaluated.error().message));
      results = std::move(*evaluated);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) values_[node.outputs[i].index] = std::move(results[i]);
    return {};
  }

  Expected<int64_t> Number(const Dim& dim) const {
    if (std::optional<int64_t> value = Evaluate(dim, lookup_)) return *value;
    return MakeError(Code::kInternal, fmt::format("the dim {} has no value", dim.ToString()));
  }

  // Gives the symbols the values of the dims, all at once.
  Status Assign(const std::vector<SymbolId>& symbols, const Dims& dims) {
    std::vector<int64_t> values;
    for (const Dim& dim : dims) {
      TVMVM_TRY(int64_t value, Number(dim));
      values.push_back(value);
    }
    for (size_t i = 0; i < symbols.size(); ++i) symbols_[symbols[i]] = values[i];
    return {};
  }

  Expected<std::vector<TensorData>> RunIf(const Node& node) {
    TVMVM_TRY(int64_t condition, Number(DimAttribute(node, "condition")));
    TVMVM_TRY(std::vector<TensorData> results, RunRegion(node.regions[condition != 0 ? 0 : 1]));
    TVMVM_CHECK_OK(
        Assign(node.Symbols("symbols"), node.DimList(condition != 0 ? "then_values" : "else_values")));
    return results;
  }

  Expected<std::vector<TensorData>> RunLoop(const Node& node) {
    TVMVM_TRY(int64_t trip, Number(DimAttribute(node, "trip")));
    TVMVM_TRY(int64_t going, Number(DimAttribute(node, "start")));
    const Region& region = function_.region(node.regions[0]);
    size_t carried_count = CarriedCount(node);
    std::vector<TensorData> carried;
    for (ValueId input : node.inputs) carried.push_back(values_[input.index]);
    std::vector<std::vector<TensorData>> steps;
    TVMVM_CHECK_OK(Assign(node.Symbols("symbols"), node.DimList("initial")));
    int64_t index = 0;
    for (; index < trip && going != 0; ++index) {
      symbols_[node.Symbol("index")] = index;
      for (size_t i = 0; i < carried_count; ++i) values_[region.parameters[i].index] = std::move(carried[i]);
      TVMVM_TRY(std::vector<TensorData> results, RunRegion(node.regions[0]));
      TVMVM_TRY(going, Number(DimAttribute(node, "continue")));
      TVMVM_CHECK_OK(Assign(node.Symbols("symbols"), node.DimList("next")));
      carried.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(carried_count));
      results.erase(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(carried_count));
      steps.push_back(std::move(results));
    }
    Dims finals;
    for (const SymbolId& symbol : node.Symbols("symbols")) finals.push_back(Dim::Symbol(symbol));
    TVMVM_CHECK_OK(Assign(node.Symbols("finals"), finals));
    if (!node.Symbol("count").is_none()) symbols_[node.Symbol("count")] = index;
    for (size_t i = carried_count; i < node.outputs.size(); ++i) {
      TVMVM_TRY(TensorData collected, Collect(function_.type(node.outputs[i]), steps, i - carried_count));
      carried.push_back(std::move(collected));
    }
    return carried;
  }

  // One value of each step, one after another.
  Expected<TensorData> Collect(const Type& type, const std::vector<std::vector<TensorData>>& steps,
                               size_t number) {
    std::vector<int64_t> dims;
    for (const Dim& dim : type.dims) {
      TVMVM_TRY(int64_t value, Number(dim));
      dims.push_back(value);
    }
    std::vector<std::byte> bytes;
    for (const std::vector<TensorData>& step : steps)
      bytes.insert(bytes.end(), step[number].bytes.begin(), step[number].bytes.end());
    return TensorData::Owned(type.dtype, std::move(dims), std::move(bytes));
  }

  Status DefineDims(const Node& node) {
    const TensorData& data = values_[node.inputs[0].index];
    int64_t i = 0;
    for (const SymbolId& symbol : node.Symbols("symbols")) symbols_[symbol] = ReadElement(data, i++).integer;
    return {};
  }

  Status Check(const Node& node) const {
    TVMVM_TRY(int64_t holds, Number(std::get<Dim>(*node.Find("condition"))));
    if (holds != 0) return {};
    return MakeError(Code::kInvalidArgument, node.String("message"));
  }

  const Function& function_;
  std::vector<TensorData> values_;
  std::unordered_map<SymbolId, int64_t> symbols_;
  SymbolValues lookup_;
};

}  // namespace

Expected<std::vector<TensorData>> EvaluateNode(const Node& node, const std::vector<Type>& types,
                                               const std::vector<Type>& outputs,
                                               std::span<const TensorData* const> inputs,
                                               const SymbolValues& symbols, int64_t max_steps) {
  if (node.op->kind == OpKind::kConstant) return std::vector{*node.Data("data")};
  if (node.op->kind == OpKind::kDimsTensor) {
    TVMVM_TRY(TensorData result, EvaluateDimsTensor(node, outputs[0], symbols));
    return std::vector{std::move(result)};
  }
  if (!node.op->element || outputs.size() != 1)
    return MakeError(Code::kUnsupported, fmt::format("{} has no element expression", node.op->name));
  TVMVM_TRY(std::optional<TensorData> moved, EvaluateMovement(node, outputs[0], inputs, symbols));
  if (moved) return std::vector{std::move(*moved)};
  for (const TensorData* input : inputs) {
    if (input && !IsNumeric(input->dtype))
      return MakeError(Code::kUnsupported,
                       fmt::format("elements of type {} are not computed here", DTypeName(input->dtype)));
  }
  TVMVM_TRY(TensorData result, EvaluateElements(node, types, outputs[0], inputs, symbols, max_steps));
  return std::vector{std::move(result)};
}

Expected<std::vector<TensorData>> EvaluateFunction(const Function& function,
                                                   std::span<const TensorData> inputs) {
  return FunctionEvaluation(function).Run(inputs);
}

}  // namespace tvmvm::ir
