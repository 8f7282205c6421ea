#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/core_values.h"

namespace tvmvm::ir {
namespace {

struct Table {
  std::vector<const CoreOp*> rows;
  std::map<std::string_view, const CoreOp*> by_name;

  Table() {
#define FAMILY(Name) Add(Name##Family());
#include "compiler/graph/core/families.def"
#undef FAMILY
  }

  void Add(std::span<const CoreOp> family) {
    for (const CoreOp& row : family) {
      rows.push_back(&row);
      by_name.emplace(row.name, &row);
    }
  }
};

const Table& Rows() {
  static const Table* const kTable = new Table;
  return *kTable;
}

constexpr std::string_view kReduceKinds[] = {"sum", "product", "min", "max", "and", "or", "argmin", "argmax"};

// One broadcast axis of two sizes.
Expected<Dim> BroadcastDim(const Dim& a, const Dim& b) {
  if (a == b || b.IsConstant(1)) return a;
  if (a.IsConstant(1)) return b;
  if (a.is_constant() && b.is_constant()) return MakeError(Code::kInvalidArgument, "");
  // A constant other than 1 decides: the other is it, or 1.
  if (a.is_constant()) return a;
  if (b.is_constant()) return b;
  return Select(Equal(a, 1), b, a);
}

}  // namespace

std::span<const CoreOp* const> CoreOps() { return Rows().rows; }

const CoreOp* FindCoreOp(std::string_view name) {
  auto found = Rows().by_name.find(name);
  return found == Rows().by_name.end() ? nullptr : found->second;
}

const CoreOp& GetCoreOp(std::string_view name) {
  const CoreOp* op = FindCoreOp(name);
  assert(op != nullptr);
  return *op;
}

const CoreOp& HostOp(HostFunctionId function) {
  return GetCoreOp(HostSignatures()[static_cast<size_t>(function)].name);
}

std::string_view ReduceKindName(tensor::ReduceKind kind) { return kReduceKinds[static_cast<size_t>(kind)]; }

std::optional<tensor::ReduceKind> ReduceKindFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kReduceKinds); ++i)
    if (kReduceKinds[i] == name) return static_cast<tensor::ReduceKind>(i);
  return std::nullopt;
}

Expected<Dims> BroadcastDims(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Expected<Dim> dim = BroadcastDim(longer[offset + i], shorter[i]);
    if (!dim) {
      return MakeError(Code::kInvalidArgument,
                       fmt::format("shapes {} and {} do not broadcast: {} and {} differ", ToString(a),
                                   ToString(b), longer[offset + i].ToString(), shorter[i].ToString()));
    }
    result[offset + i] = std::move(*dim);
  }
  return result;
}

std::vector<Expr> BroadcastIndex(const Type& operand, const Type& result, std::span<const Expr> index) {
  std::vector<Expr> own;
  size_t offset = result.dims.size() - operand.dims.size();
  for (size_t axis = 0; axis < operand.dims.size(); ++axis) {
    const Dim& size = operand.dims[axis];
    const Expr& i = index[offset + axis];
    if (size == result.dims[offset + axis])
      own.push_back(i);
    else if (size.IsConstant(1))
      own.push_back(tensor::IntConstant(0));
    else
      own.push_back(
          Select(tensor::Equal(tensor::DimValue(size), tensor::IntConstant(1)), tensor::IntConstant(0), i));
  }
  return own;
}

tl::unexpected<Error> BadAxis(int64_t axis, int rank) {
  return MakeError(Code::kInvalidArgument, fmt::format("axis {} is out of range for rank {}", axis, rank));
}

Expected<Type> RankedTensor(const InferContext& context, size_t input) {
  const Type& type = context.inputs[input];
  if (type.kind == TypeKind::kTensor && type.ranked && type.dtype != DType::kInvalid) return type;
  return MakeError(Code::kUnsupported,
                   fmt::format("input {} is {}, wanted a tensor of known rank", input, type.ToString()));
}

Expected<Dims> DimsAttribute(const Node& node, std::string_view name) {
  const Attribute* attribute = node.Find(name);
  if (attribute) {
    if (const auto* dims = std::get_if<Dims>(attribute)) return *dims;
    if (const auto* ints = std::get_if<std::vector<int64_t>>(attribute))
      return Dims(ints->begin(), ints->end());
  }
  return MakeError(Code::kInvalidArgument, fmt::format("attribute '{}' is {}, wanted a list of dims", name,
                                                       attribute ? "of another kind" : "absent"));
}

Expected<std::vector<int64_t>> IntsAttribute(const Node& node, std::string_view name) {
  const Attribute* attribute = node.Find(name);
  if (attribute)
    if (const auto* ints = std::get_if<std::vector<int64_t>>(attribute)) return *ints;
  return MakeError(Code::kInvalidArgument, fmt::format("attribute '{}' is {}, wanted a list of integers",
                                                       name, attribute ? "of another kind" : "absent"));
}

Expected<DType> DTypeAttribute(const Node& node, std::string_view name) {
  const Attribute* attribute = node.Find(name);
  if (attribute)
    if (const auto* dtype = std::get_if<DType>(attribute); dtype && *dtype != DType::kInvalid) return *dtype;
  return MakeError(Code::kInvalidArgument, fmt::format("attribute '{}' is {}, wanted an element type", name,
                                                       attribute ? "of another kind" : "absent"));
}

DType DTypeOr(const Node& node, DType otherwise) {
  const Attribute* attribute = node.Find("dtype");
  const DType* dtype = attribute ? std::get_if<DType>(attribute) : nullptr;
  return dtype && *dtype != DType::kInvalid ? *dtype : otherwise;
}

Expr AddAxis(ElementContext& context, tensor::Reduction* reduction, const Dim& extent,
             std::string_view name) {
  reduction->axes.push_back(context.NewAxis(name));
  reduction->extents.push_back(tensor::DimValue(extent));
  return tensor::Variable(reduction->axes.back());
}

DType AccumulatorOf(DType dtype) { return IsFloat(dtype) && dtype != DType::kF64 ? DType::kF32 : dtype; }

Expr WrapIndex(Expr index, const Dim& size) {
  index = Cast(DType::kI64, std::move(index));
  Expr zero = tensor::IntConstant(0), extent = tensor::DimValue(size);
  Expr wrapped = Select(Less(index, zero), index + extent, index);
  return ClampIndex(wrapped, extent);
}

Expr InputUnlessEmpty(ElementContext& context, int input, std::span<const Expr> index,
                      std::span<const Dim> sizes) {
  Expr has_elements = tensor::BoolConstant(true);
  for (const Dim& size : sizes)
    has_elements = And(has_elements, Less(tensor::IntConstant(0), tensor::DimValue(size)));
  Expr zero = tensor::Constant(context.input_type(input).dtype, 0);
  if (IsIntConstant(has_elements, 0)) return zero;
  return Select(has_elements, context.Input(input, index), zero);
}

}  // namespace tvmvm::ir
