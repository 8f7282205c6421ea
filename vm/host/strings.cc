#include "vm/host/strings.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tvmvm {
namespace {

// The elements [index, index + count) of a string tensor.
Expected<std::span<std::string>> Elements(Object* object, int64_t index, int64_t count) {
  if (object == nullptr || object->kind != ObjectKind::kTensor)
    return MakeError(Code::kInvalidProgram, "a string tensor is wanted");
  auto* tensor = static_cast<TensorObject*>(object);
  if (tensor->dtype != DType::kString || !tensor->buffer->strings)
    return MakeError(Code::kInvalidProgram,
                     "a string tensor is wanted, found " + std::string(DTypeName(tensor->dtype)));
  std::vector<std::string>& strings = *tensor->buffer->strings;
  const auto size = static_cast<int64_t>(strings.size());
  if (index < 0 || count < 0 || index > size || count > size - index)
    return MakeError(Code::kInvalidArgument, std::to_string(count) + " strings at index " +
                                                 std::to_string(index) + " of a tensor of " +
                                                 std::to_string(size));
  return std::span<std::string>(strings).subspan(static_cast<size_t>(index), static_cast<size_t>(count));
}

bool IsReadOnly(Object* object) { return static_cast<TensorObject*>(object)->buffer->read_only; }

}  // namespace

Status CopyStrings(HostCall& call) {
  TVMVM_TRY(std::span<std::string> to, Elements(call.refs[0], call.scalars[0], call.scalars[2]));
  TVMVM_TRY(std::span<std::string> from, Elements(call.refs[1], call.scalars[1], call.scalars[2]));
  if (IsReadOnly(call.refs[0])) return MakeError(Code::kInvalidProgram, "writes to an input or a constant");
  if (to.data() > from.data()) {
    std::copy_backward(from.begin(), from.end(), to.end());
  } else if (to.data() != from.data()) {
    std::copy(from.begin(), from.end(), to.begin());
  }
  return {};
}

Status EqualStrings(HostCall& call) {
  TVMVM_TRY(std::span<std::string> a, Elements(call.refs[0], call.scalars[0], 1));
  TVMVM_TRY(std::span<std::string> b, Elements(call.refs[1], call.scalars[1], 1));
  call.scalar_results[0] = a[0] == b[0];
  return {};
}

}  // namespace tvmvm
