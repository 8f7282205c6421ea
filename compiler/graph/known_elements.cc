#include "compiler/graph/known_elements.h"

#include <algorithm>

#include "compiler/dim/dim_overflow.h"
#include "compiler/expr/rewrite.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/tensor_elements.h"

namespace tvmvm::ir {
namespace {

using tensor::Expr;
using tensor::ExprOp;
using tensor::ReduceKind;
using tensor::VariableId;

// Dims that grow beyond this in one operator stop being tracked.
constexpr size_t kMaxDimSize = 5000;

DType Widened(DType dtype) { return IsInteger(dtype) ? DType::kI64 : dtype; }

Type Widened(Type type) {
  type.dtype = Widened(type.dtype);
  return type;
}

bool IsSmallInteger(const Type& type) {
  return type.kind == TypeKind::kTensor && type.ranked &&
         (IsInteger(type.dtype) || type.dtype == DType::kBool) && SmallElementCount(type).has_value();
}

bool Fits(DType dtype, const Dim& dim) {
  std::optional<int64_t> value = dim.constant();
  if (!value) return true;
  if (dtype == DType::kU64) return *value >= 0;
  return tensor::WrapInteger(dtype, *value) == *value;
}

// Whether a tensor of that type holds the number as it is, whatever the sizes in it are. Arithmetic in 32
// bits is done on sizes that are far smaller than these bits can hold, as models rely on it themselves.
bool Fits(DType dtype, const Dim& dim, const RangeLookup& ranges) {
  if (dim.is_constant() || dtype == DType::kI64) return Fits(dtype, dim);
  constexpr int64_t kLargeSize = 1 << 15;
  const DimRange range = RangeOf(dim, [&](const SymbolId& symbol) {
    const DimRange known = ranges(symbol);
    if (DTypeBits(dtype) != 32) return known;
    return DimRange{std::max(known.low, -kLargeSize), std::min(known.high, kLargeSize)};
  });
  return Fits(dtype, range.low) && Fits(dtype, range.high);
}

// Evaluates with integers of every width as i64, so that they can be dims.
class Evaluation final : public ElementContext {
 public:
  Evaluation(const Function& function, const Node& node, const std::map<ValueId, Dims>& defined)
      : function_(function), node_(node), defined_(defined) {
    for (auto& [name, attribute] : node_.attributes)
      if (auto* dtype = std::get_if<DType>(&attribute)) *dtype = Widened(*dtype);
    for (ValueId input : node_.inputs)
      inputs_.push_back(input.valid() ? Widened(function.type(input)) : Type());
    output_ = Widened(function.type(node_.outputs[0]));
  }

  const Node& node() const override { return node_; }
  const Type& input_type(int input) const override { return inputs_[static_cast<size_t>(input)]; }
  const Type& output_type(int) const override { return output_; }
  bool has_input(int input) const override {
    return static_cast<size_t>(input) < node_.inputs.size() &&
           node_.inputs[static_cast<size_t>(input)].valid();
  }
  VariableId NewAxis(std::string_view) override { return next_axis_++; }

  Expr Input(int input, std::span<const Expr> index) override {
    bool is_known = std::all_of(index.begin(), index.end(), [](const Expr& i) { return IsConstant(i); });
    if (is_known) return Known(input, index);
    return tensor::Element(static_cast<uint32_t>(input), input_type(input).dtype,
                           {index.begin(), index.end()});
  }

  // The dim that the element at `index` is, if it is one.
  std::optional<Dim> ElementAt(std::span<const Expr> index) {
    Expr element = Resolve(node_.op->element(*this, index));
    if (failed_ || !element.valid()) return std::nullopt;
    if (element.dtype() == DType::kBool) element = Cast(DType::kI64, element);
    if (element.op() == ExprOp::kConstant && !IsFloat(element.dtype())) return Dim(element->integer);
    if (element.op() == ExprOp::kDim) return element->dim;
    return std::nullopt;
  }

 private:
  static constexpr int64_t kMaxUnrolled = 4096;

  Expr Fail(DType dtype) {
    failed_ = true;
    return tensor::Constant(dtype, 0);
  }

  Expr Known(int input, std::span<const Expr> index) {
    DType dtype = input_type(input).dtype;
    const Value& value = function_.value(node_.inputs[static_cast<size_t>(input)]);
    int64_t flat = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      std::optional<int64_t> size = value.type.dims[axis].constant();
      if (!size || index[axis]->integer < 0 || index[axis]->integer >= *size) return Fail(dtype);
      flat = flat * *size + index[axis]->integer;
    }
    auto found = defined_.find(node_.inputs[static_cast<size_t>(input)]);
    const Dims* elements = value.elements            ? &*value.elements
                           : found != defined_.end() ? &found->second
                                                     : nullptr;
    if (elements) return Cast(dtype, tensor::DimValue((*elements)[static_cast<size_t>(flat)]));
    const TensorData* data = function_.ConstantOf(node_.inputs[static_cast<size_t>(input)]);
    if (!data || !IsNumeric(data->dtype)) return Fail(dtype);
    Expr element = ElementConstant(*data, flat);
    if (!IsFloat(data->dtype) && !Fits(data->dtype, Dim(element->integer))) return Fail(dtype);
    return Cast(dtype, element);
  }

  // Unrolls reductions and looks up the elements that they read.
  Expr Resolve(const Expr& e) {
    if (failed_ || e->operands.empty()) return e;
    if (e.op() == ExprOp::kReduce) return Unroll(e);
    std::vector<Expr> operands;
    for (const Expr& operand : e->operands) operands.push_back(Resolve(operand));
    if (e.op() != ExprOp::kElement) return WithOperands(e, std::move(operands));
    for (const Expr& i : operands)
      if (!IsConstant(i)) return Fail(e.dtype());
    return Known(static_cast<int>(e->id), operands);
  }

  Expr Unroll(const Expr& e) {
    const tensor::Reduction& reduction = *e->reduction;
    int64_t count = 1;
    std::vector<int64_t> extents;
    for (const Expr& extent : reduction.extents) {
      if (!IsConstant(extent) || extent->integer < 1 || extent->integer > kMaxUnrolled)
        return Fail(e.dtype());
      extents.push_back(extent->integer);
      count *= extents.back();
      if (count > kMaxUnrolled) return Fail(e.dtype());
    }
    unrolled_ += count;
    if (unrolled_ > kMaxUnrolled) return Fail(e.dtype());
    Expr result, best;
    for (int64_t step = 0; step < count && !failed_; ++step) {
      std::vector<std::pair<VariableId, Expr>> values;
      int64_t rest = step;
      for (size_t k = extents.size(); k-- > 0; rest /= extents[k])
        values.emplace_back(reduction.axes[k], tensor::IntConstant(rest % extents[k]));
      Expr body = Resolve(tensor::Substitute(e->operands[0], values));
      Combine(reduction, step, body, &result, &best);
    }
    return Cast(e.dtype(), result);
  }

  static void Combine(const tensor::Reduction& reduction, int64_t step, const Expr& body, Expr* result,
                      Expr* best) {
    bool finds_position = reduction.kind == ReduceKind::kArgMin || reduction.kind == ReduceKind::kArgMax;
    if (step == 0) {
      *best = body;
      *result = finds_position ? tensor::IntConstant(0) : body;
      return;
    }
    if (!finds_position) {
      static constexpr ExprOp kOps[] = {ExprOp::kAdd, ExprOp::kMul, ExprOp::kMin,
                                        ExprOp::kMax, ExprOp::kAnd, ExprOp::kOr};
      *result = Binary(kOps[static_cast<size_t>(reduction.kind)], *result, body);
      return;
    }
    bool is_max = reduction.kind == ReduceKind::kArgMax;
    Expr lesser = is_max ? *best : body, greater = is_max ? body : *best;
    Expr is_better = reduction.select_last ? LessEqual(lesser, greater) : Less(lesser, greater);
    *result = Select(is_better, tensor::IntConstant(step), *result);
    *best = Select(is_better, body, *best);
  }

  const Function& function_;
  Node node_;
  const std::map<ValueId, Dims>& defined_;
  std::vector<Type> inputs_;
  Type output_;
  VariableId next_axis_ = 0;
  int64_t unrolled_ = 0;
  bool failed_ = false;
};

// Whether any input could give an element; saves the work for ordinary tensors.
bool MayBeKnown(const Function& function, const Node& node, const std::map<ValueId, Dims>& defined) {
  if (!node.op->element || node.outputs.size() != 1 || !IsSmallInteger(function.type(node.outputs[0])))
    return false;
  if (node.op->traits.reads_bits) return false;  // elements are numbers here, which have no bits
  auto is_known = [&](ValueId input) {
    return input.valid() &&
           (function.value(input).elements || function.ConstantOf(input) || defined.count(input));
  };
  return node.inputs.empty() || std::any_of(node.inputs.begin(), node.inputs.end(), is_known);
}

}  // namespace

std::optional<int64_t> SmallElementCount(const Type& type) {
  int64_t count = 1;
  for (const Dim& dim : type.dims) {
    std::optional<int64_t> size = dim.constant();
    if (!size || *size < 0 || *size > kMaxKnownElements) return std::nullopt;
    count *= *size;
    if (count > kMaxKnownElements) return std::nullopt;
  }
  return count;
}

std::optional<Dims> ElementsOf(const TensorData& data) {
  Type type = Type::Tensor(data.dtype, Dims(data.dims.begin(), data.dims.end()));
  if (!IsSmallInteger(type)) return std::nullopt;
  int64_t count = *SmallElementCount(type);
  if (static_cast<int64_t>(data.bytes.size()) < DTypeBytes(data.dtype, count)) return std::nullopt;
  Dims elements;
  for (int64_t i = 0; i < count; ++i) {
    elements.push_back(ReadElement(data, i).integer);
    if (!Fits(data.dtype, elements.back())) return std::nullopt;
  }
  return elements;
}

std::optional<Dims> InferElements(const Function& function, const Node& node,
                                  const std::map<ValueId, Dims>& defined, const RangeLookup& ranges) {
  if (!MayBeKnown(function, node, defined)) return std::nullopt;
  const Type& type = function.type(node.outputs[0]);
  int64_t count = *SmallElementCount(type);
  Evaluation evaluation(function, node, defined);
  Dims elements;
  for (int64_t flat = 0; flat < count; ++flat) {
    std::vector<Expr> index(type.dims.size());
    int64_t rest = flat;
    for (size_t axis = index.size(); axis-- > 0; rest /= type.dims[axis].value())
      index[axis] = tensor::IntConstant(rest % type.dims[axis].value());
    std::optional<Dim> element = evaluation.ElementAt(index);
    if (!element || element->size() > kMaxDimSize) return std::nullopt;
    Dim simple = Simplify(*element, ranges);
    if (!Fits(type.dtype, simple, ranges) || MayOverflow(simple)) return std::nullopt;
    if (simple.size() > Dim::kMaxPlain) simple = Dim::Named(simple, RangeOf(simple, ranges));
    elements.push_back(std::move(simple));
  }
  return elements;
}

}  // namespace tvmvm::ir
