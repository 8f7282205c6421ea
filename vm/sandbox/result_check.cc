#include "vm/sandbox/result_check.h"

#include <string>

namespace tvmvm::sandbox {
namespace {

// What is wrong, or "".
std::string TensorProblem(const Tensor& tensor, const TypeSpec& wanted) {
  if (tensor.dtype() != wanted.dtype)
    return std::string(DTypeName(tensor.dtype())) + " given, the signature says " +
           std::string(DTypeName(wanted.dtype));
  if (!wanted.has_rank) return "";
  const auto dims = tensor.shape().dims();
  if (dims.size() != wanted.dims.size())
    return "rank " + std::to_string(dims.size()) + " given, the signature says " +
           std::to_string(wanted.dims.size());
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const DimSpec& dim = wanted.dims[axis];
    const bool fits =
        dim.value >= 0 ? dims[axis] == dim.value : dims[axis] >= dim.low && dims[axis] <= dim.high;
    if (!fits) return "dimension " + std::to_string(axis) + " is " + std::to_string(dims[axis]);
  }
  return "";
}

std::string Problem(const Value& value, const TypeSpec& wanted) {
  const std::string given = std::string(value.kind_name()) + " given";
  switch (wanted.kind) {
    case ValueKind::kTensor:
      return value.is_tensor() ? TensorProblem(value.tensor(), wanted) : given;
    case ValueKind::kOptional:
      return value.is_none() ? "" : Problem(value, wanted.elements.at(0));
    case ValueKind::kSequence:
      if (!value.is_sequence()) return given;
      for (const Value& element : value.elements())
        if (std::string problem = Problem(element, wanted.elements.at(0)); !problem.empty()) return problem;
      return "";
    case ValueKind::kTuple:
      return value.is_tuple() ? "" : given;
  }
  return given;
}

}  // namespace

Status CheckResults(std::span<const Value> values, std::span<const ParameterSpec> wanted) {
  if (values.size() != wanted.size())
    return MakeError(
        Code::kInvalidProgram,
        std::to_string(values.size()) + " outputs given, the program has " + std::to_string(wanted.size()));
  for (size_t i = 0; i < values.size(); ++i)
    if (std::string problem = Problem(values[i], wanted[i].type); !problem.empty())
      return MakeError(Code::kInvalidProgram,
                       "output " + std::to_string(i) + " '" + wanted[i].name + "': " + problem);
  return {};
}

}  // namespace tvmvm::sandbox
