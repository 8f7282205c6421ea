// One group of core nodes, and what it computes, element by element from the operators' own definitions.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "compiler/expr/scalar_math.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/graph.h"
#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

// A tensor of plain numbers.
struct HostTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;

  static HostTensor Zeros(DType dtype, std::vector<int64_t> dims) {
    HostTensor tensor{dtype, std::move(dims), {}};
    tensor.bytes.resize(static_cast<size_t>(DTypeBytes(dtype, tensor.count())) + 64);
    return tensor;
  }
  // Floats in [-2, 2), integers in [-9, 9] or [0, 9], bools.
  static HostTensor Random(DType dtype, std::vector<int64_t> dims, std::mt19937& random) {
    HostTensor tensor = Zeros(dtype, std::move(dims));
    for (int64_t i = 0; i < tensor.count(); ++i) {
      Scalar value;
      value.number = RoundFloat(IsFloat(dtype) ? dtype : DType::kF32,
                                std::uniform_real_distribution<double>(-2, 2)(random));
      value.integer = static_cast<int64_t>(random() % 10);
      if (IsSignedInteger(dtype) && random() % 2 != 0) value.integer = -value.integer;
      if (IsInteger(dtype) || dtype == DType::kBool)
        value.integer = WrapInteger(dtype, dtype == DType::kBool ? value.integer % 2 : value.integer);
      tensor.set(i, value);
    }
    return tensor;
  }
  int64_t count() const {
    int64_t product = 1;
    for (int64_t dim : dims) product *= dim;
    return product;
  }
  Scalar at(int64_t index) const {
    int bits = DTypeBits(dtype);
    uint64_t word = 0;
    int64_t bit = index * bits;
    std::memcpy(&word, bytes.data() + bit / 8, 8);
    word >>= bit % 8;
    if (bits < 64) word &= (uint64_t{1} << bits) - 1;
    return DecodeScalar(dtype, word);
  }
  void set(int64_t index, Scalar value) {
    int bits = DTypeBits(dtype);
    int64_t bit = index * bits;
    uint64_t word = 0, mask = (bits < 64 ? (uint64_t{1} << bits) - 1 : ~uint64_t{0}) << (bit % 8);
    std::memcpy(&word, bytes.data() + bit / 8, 8);
    word = (word & ~mask) | ((EncodeScalar(dtype, value) << (bit % 8)) & mask);
    std::memcpy(bytes.data() + bit / 8, &word, 8);
  }
};

using Symbols = std::map<std::string, int64_t>;

inline ir::Dim N() { return ir::Dim::Symbol("n"); }
inline ir::Dim M() { return ir::Dim::Symbol("m"); }
inline ir::Dim K() { return ir::Dim::Symbol("k"); }

inline int64_t ValueOf(const ir::Dim& dim, const Symbols& symbols) {
  auto lookup = [&](const ir::SymbolId& symbol) -> std::optional<int64_t> {
    auto found = symbols.find(symbol.name());
    return found == symbols.end() ? std::nullopt : std::optional(found->second);
  };
  std::optional<int64_t> value = ir::Evaluate(dim, lookup);
  EXPECT_TRUE(value.has_value()) << dim.ToString();
  return value.value_or(0);
}

inline std::vector<int64_t> ValuesOf(const ir::Dims& dims, const Symbols& symbols) {
  std::vector<int64_t> values;
  for (const ir::Dim& dim : dims) values.push_back(ValueOf(dim, symbols));
  return values;
}

// A function whose body is one group: nodes are added one by one.
class GroupBuilder {
 public:
  GroupBuilder() {
    function_.body = function_.AddRegion();
    region_ = function_.AddRegion();
  }
  ir::ValueId Input(DType dtype, ir::Dims dims) {
    inputs_.push_back(function_.AddValue(ir::Type::Tensor(dtype, std::move(dims))));
    return inputs_.back();
  }
  // An input that is a constant of random numbers.
  ir::ValueId Constant(DType dtype, std::vector<int64_t> dims, unsigned seed = 3) {
    std::mt19937 random(static_cast<unsigned>(inputs_.size()) + seed);
    HostTensor numbers = HostTensor::Random(dtype, dims, random);
    numbers.bytes.resize(static_cast<size_t>(DTypeBytes(dtype, numbers.count())));
    ir::Node node;
    node.op = &ir::GetCoreOp("constant");
    node.attributes["data"] =
        std::make_shared<const ir::TensorData>(ir::TensorData::Owned(dtype, dims, numbers.bytes));
    ir::ValueId input = Input(dtype, ir::Dims(dims.begin(), dims.end()));
    node.outputs = {function_.AddValue(function_.type(input))};
    constants_[input] = node.outputs[0];
    function_.AddNode(std::move(node));
    return input;
  }
  // Adds the node and infers its type.
  ir::ValueId Add(std::string_view op, std::vector<ir::ValueId> inputs,
                  std::map<std::string, ir::Attribute> attributes = {}) {
    ir::Node node;
    node.op = &ir::GetCoreOp(op);
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    ir::InferContext context{node, {}};
    for (ir::ValueId input : node.inputs)
      context.inputs.push_back(input.valid() ? function_.type(input) : ir::Type{});
    Expected<std::vector<ir::Type>> types = node.op->infer(context);
    if (!types) throw std::runtime_error(std::string(op) + ": " + types.error().message);
    for (const ir::Type& type : *types) node.outputs.push_back(function_.AddValue(type));
    ir::NodeId id = function_.AddNode(std::move(node));
    nodes_.push_back(id);
    return types->empty() ? ir::ValueId{} : function_.node(id).outputs[0];
  }
  ir::ValueId Number(float value) {
    auto data =
        std::make_shared<const ir::TensorData>(ir::TensorData::FromVector<float>(DType::kF32, {}, {value}));
    return Add("constant", {}, {{"data", data}});
  }
  void Output(ir::ValueId value) { results_.push_back(value); }
  // All nodes as one fused group; the last one alone where none was said to be an output.
  ir::NodeId Finish() {
    if (results_.empty()) return FinishAlone();
    ir::Node fused;
    fused.op = &ir::GetCoreOp("fused");
    for (ir::ValueId input : inputs_) {
      auto constant = constants_.find(input);
      fused.inputs.push_back(constant == constants_.end() ? function_.AddValue(function_.type(input))
                                                          : constant->second);
    }
    function_.region(region_).parameters = inputs_;
    function_.region(region_).nodes = nodes_;
    function_.region(region_).results = results_;
    fused.regions = {region_};
    for (ir::ValueId result : results_) fused.outputs.push_back(function_.AddValue(function_.type(result)));
    return function_.AddNode(std::move(fused));
  }
  // The last node as a group of its own.
  ir::NodeId FinishAlone() { return nodes_.back(); }
  ir::Function& function() { return function_; }
  const std::vector<ir::ValueId>& inputs() const { return inputs_; }

 private:
  ir::Function function_;
  ir::RegionId region_;
  std::vector<ir::NodeId> nodes_;
  std::vector<ir::ValueId> inputs_, results_;
  std::map<ir::ValueId, ir::ValueId> constants_;  // inputs that are constants, and their values outside
};

// Computes tensor expressions for given values of variables, one number at a time.
class NaiveEvaluator {
 public:
  NaiveEvaluator(const std::map<uint32_t, HostTensor>& tensors, const Symbols& symbols)
      : tensors_(tensors), symbols_(symbols) {}

  std::map<VariableId, int64_t> variables;

  Scalar operator()(const Expr& e) {
    switch (e.op()) {
      case ExprOp::kConstant:
        return {e->integer, e->number};
      case ExprOp::kDim:
        return {ValueOf(e->dim, symbols_), 0};
      case ExprOp::kVariable:
        return {variables.at(e->id), 0};
      case ExprOp::kElement:
        return Read(e);
      case ExprOp::kSelect:
        return (*this)(e->operands[(*this)(e->operands[0]).integer != 0 ? 1 : 2]);
      case ExprOp::kCast:
        return ConvertScalar(e->operands[0].dtype(), e.dtype(), (*this)(e->operands[0]), e->saturate);
      case ExprOp::kBitcast:
        return DecodeScalar(e.dtype(), EncodeScalar(e->operands[0].dtype(), (*this)(e->operands[0])));
      case ExprOp::kFma:
        return EvaluateFma(e.dtype(), (*this)(e->operands[0]), (*this)(e->operands[1]),
                           (*this)(e->operands[2]));
      case ExprOp::kReduce:
        return Reduced(e);
      default:
        break;
    }
    Scalar a = (*this)(e->operands[0]);
    if (e->operands.size() == 1) return EvaluateUnary(e.op(), e->operands[0].dtype(), a);
    return EvaluateBinary(e.op(), e->operands[0].dtype(), a, (*this)(e->operands[1]));
  }

 private:
  Scalar Read(const Expr& e) {
    const HostTensor& tensor = tensors_.at(e->id);
    int64_t flat = 0;
    for (size_t axis = 0; axis < e->operands.size(); ++axis) {
      int64_t i = (*this)(e->operands[axis]).integer;
      EXPECT_TRUE(i >= 0 && i < tensor.dims[axis]) << "axis " << axis << " index " << i;
      flat = flat * tensor.dims[axis] + i;
    }
    return flat < tensor.count() && flat >= 0 ? tensor.at(flat) : Scalar{};
  }

  Scalar Reduced(const Expr& e) {
    const Reduction& reduction = *e->reduction;
    std::vector<Scalar> all;
    std::function<void(size_t)> visit = [&](size_t axis) {
      if (axis == reduction.axes.size()) {
        all.push_back((*this)(e->operands[0]));
        return;
      }
      int64_t extent = (*this)(reduction.extents[axis]).integer;
      for (int64_t i = 0; i < extent; ++i) {
        variables[reduction.axes[axis]] = i;
        visit(axis + 1);
      }
    };
    visit(0);
    return Fold(reduction, e->operands[0].dtype(), e.dtype(), all);
  }

  static Scalar Fold(const Reduction& reduction, DType from, DType to, const std::vector<Scalar>& all) {
    bool is_float = IsFloat(from);
    auto less = [&](const Scalar& a, const Scalar& b) {
      if (is_float) return a.number < b.number;
      if (IsUnsignedInteger(from)) return static_cast<uint64_t>(a.integer) < static_cast<uint64_t>(b.integer);
      return a.integer < b.integer;
    };
    bool is_sum = reduction.kind == ReduceKind::kSum, is_product = reduction.kind == ReduceKind::kProduct;
    Scalar result{
        is_product || reduction.kind == ReduceKind::kAnd ? (reduction.kind == ReduceKind::kAnd ? -1 : 1) : 0,
        is_product ? 1.0 : 0.0};
    int64_t best = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const Scalar& value = all[i];
      if (is_sum)
        result = {result.integer + value.integer, result.number + value.number};
      else if (is_product)
        result = {result.integer * value.integer, result.number * value.number};
      else if (reduction.kind == ReduceKind::kAnd)
        result.integer &= value.integer;
      else if (reduction.kind == ReduceKind::kOr)
        result.integer |= value.integer;
      else {
        bool wants_max = reduction.kind == ReduceKind::kMax || reduction.kind == ReduceKind::kArgMax;
        bool better = i == 0 || (wants_max ? less(result, value) : less(value, result)) ||
                      (reduction.select_last && !(wants_max ? less(value, result) : less(result, value)));
        if (better) result = value, best = static_cast<int64_t>(i);
      }
    }
    if (reduction.kind == ReduceKind::kArgMax || reduction.kind == ReduceKind::kArgMin) return {best, 0};
    if (from == DType::kBool) return {result.integer != 0, 0};
    if (!is_float) return ConvertScalar(from, to, {WrapInteger(from, result.integer), 0});
    return {0, RoundFloat(to, result.number)};
  }

  const std::map<uint32_t, HostTensor>& tensors_;
  const Symbols& symbols_;
};

// The outputs by the definitions of the operators, one node after the other.
inline std::vector<HostTensor> RunNaively(const GroupView& group, const std::vector<HostTensor>& inputs,
                                          const Symbols& symbols) {
  std::map<uint32_t, HostTensor> tensors;  // by value
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (group.inputs()[i].valid()) tensors[group.inputs()[i].index] = inputs[i];
  }
  for (ir::NodeId id : group.nodes()) {
    ir::ValueId output = group.function().node(id).outputs[0];
    const ir::Type& type = group.type(output);
    LoopKernel names;
    std::vector<Expr> index;
    for (int axis = 0; axis < type.rank(); ++axis) index.push_back(Variable(names.NewVariable("i")));
    auto leaf = [&](ir::ValueId value, std::span<const Expr> at) -> Expr {
      if (value == output) return {};
      return Element(value.index, group.type(value).dtype, std::vector<Expr>(at.begin(), at.end()));
    };
    Expr element = group.Expand(output, index, leaf, &names);
    HostTensor result = HostTensor::Zeros(type.dtype, ValuesOf(type.dims, symbols));
    NaiveEvaluator evaluate(tensors, symbols);
    for (int64_t flat = 0; flat < result.count(); ++flat) {
      int64_t rest = flat;
      for (int axis = type.rank(); axis-- > 0;) {
        evaluate.variables[static_cast<VariableId>(axis)] = rest % result.dims[axis];
        rest /= result.dims[axis];
      }
      result.set(flat, evaluate(element));
    }
    tensors[output.index] = std::move(result);
  }
  std::vector<HostTensor> outputs;
  for (ir::ValueId output : group.outputs()) outputs.push_back(tensors.at(output.index));
  return outputs;
}

// Random inputs of a group for the given symbols; constants as they are.
inline std::vector<HostTensor> RandomInputs(const GroupView& group, const Symbols& symbols) {
  std::mt19937 random(17);
  std::vector<HostTensor> inputs;
  for (ir::ValueId input : group.inputs()) {
    if (!input.valid()) {
      inputs.push_back({});
      continue;
    }
    size_t number = inputs.size();
    if (const ir::TensorData* data = group.function().ConstantOf(group.outer_inputs()[number])) {
      inputs.push_back(HostTensor::Zeros(data->dtype, data->dims));
      std::copy(data->bytes.begin(), data->bytes.end(), inputs.back().bytes.begin());
      continue;
    }
    inputs.push_back(
        HostTensor::Random(group.type(input).dtype, ValuesOf(group.type(input).dims, symbols), random));
  }
  return inputs;
}

// Fails the test where an element differs, or where what lies behind the last one was written.
inline void CompareTensors(const HostTensor& wanted, const HostTensor& given, double tolerance,
                           size_t output) {
  for (int64_t k = 0; k < wanted.count(); ++k) {
    Scalar want = wanted.at(k), got = given.at(k);
    bool is_near =
        IsFloat(wanted.dtype)
            ? std::abs(want.number - got.number) <= tolerance * std::max(1.0, std::abs(want.number)) ||
                  (std::isnan(want.number) && std::isnan(got.number)) || want.number == got.number
            : want.integer == got.integer;
    ASSERT_TRUE(is_near) << "output " << output << " element " << k << ": wanted " << want.number << " "
                         << want.integer << ", got " << got.number << " " << got.integer;
  }
  std::byte after = given.bytes[static_cast<size_t>(DTypeBytes(wanted.dtype, wanted.count()))];
  ASSERT_EQ(after, std::byte{0xcc}) << "output " << output << " is written beyond its end";
}

}  // namespace tvmvm::tensor
