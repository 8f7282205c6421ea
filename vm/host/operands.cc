#include "vm/host/operands.h"

#include "vm/objects/copy_bytes.h"

namespace tvmvm {
namespace {

tl::unexpected<Error> WrongKind(const Object* object, std::string_view role, std::string_view wanted) {
  return MakeError(Code::kInvalidArgument, "'" + std::string(role) + "' must be a " + std::string(wanted) +
                                               ", it is " + (object != nullptr ? "a " : "") +
                                               std::string(KindOf(object)));
}

Expected<ContainerObject*> ContainerOperand(const HostCall& call, size_t number, ObjectKind kind) {
  Object* object = call.refs[number];
  if (object == nullptr || object->kind != kind) [[unlikely]]
    return WrongKind(object, ObjectKindName(kind), ObjectKindName(kind));
  return static_cast<ContainerObject*>(object);
}

}  // namespace

std::string_view KindOf(const Object* object) {
  return object != nullptr ? ObjectKindName(object->kind) : "nothing";
}

Expected<TensorObject*> TensorOperand(const HostCall& call, size_t number, std::string_view role) {
  Object* object = call.refs[number];
  if (object == nullptr || object->kind != ObjectKind::kTensor) [[unlikely]]
    return WrongKind(object, role, "tensor");
  return static_cast<TensorObject*>(object);
}

Expected<TensorObject*> TypedOperand(const HostCall& call, size_t number, DType dtype,
                                     std::string_view role) {
  TVMVM_TRY(TensorObject * tensor, TensorOperand(call, number, role));
  if (tensor->dtype != dtype || (dtype == DType::kString && !tensor->buffer->strings)) [[unlikely]]
    return MakeError(Code::kInvalidArgument, "'" + std::string(role) + "' must be a tensor of " +
                                                 std::string(DTypeName(dtype)) + ", it is one of " +
                                                 std::string(DTypeName(tensor->dtype)));
  return tensor;
}

Expected<TensorObject*> StringsOperand(const HostCall& call, size_t number, std::string_view role) {
  TVMVM_TRY(TensorObject * tensor, TypedOperand(call, number, DType::kString, role));
  if (static_cast<int64_t>(StringsOf(*tensor).size()) != ElementCount(*tensor)) [[unlikely]]
    return MakeError(Code::kInvalidArgument, "'" + std::string(role) + "' has " +
                                                 std::to_string(StringsOf(*tensor).size()) +
                                                 " strings and shape " + tensor->shape.ToString());
  return tensor;
}

Expected<ContainerObject*> SequenceOperand(const HostCall& call, size_t number) {
  return ContainerOperand(call, number, ObjectKind::kSequence);
}

Expected<ContainerObject*> TupleOperand(const HostCall& call, size_t number) {
  return ContainerOperand(call, number, ObjectKind::kTuple);
}

Expected<size_t> PositionIn(int64_t position, size_t count, bool end_too, std::string_view container) {
  const auto length = static_cast<int64_t>(count);
  const int64_t most = end_too ? length : length - 1;
  if (position < -length || position > most) [[unlikely]]
    return MakeError(Code::kInvalidArgument, "position " + std::to_string(position) + " of a " +
                                                 std::string(container) + " of " + std::to_string(length));
  return static_cast<size_t>(position < 0 ? position + length : position);
}

Expected<int> AxisIn(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    return MakeError(Code::kInvalidArgument,
                     "axis " + std::to_string(axis) + " of a tensor of rank " + std::to_string(rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Expected<Owned<TensorObject>> NewTensor(HostCall& call, DType dtype, const Shape& shape) {
  TVMVM_TRY(TensorObject * tensor, call.pool.AllocateTensor(dtype, shape, "tensor", &call.cancel));
  return Owned<TensorObject>(call.pool, tensor);
}

Expected<Object*> Retained(HostCall& call, Object* object) {
  if (object != nullptr && object->kind == ObjectKind::kTensor) {
    auto* tensor = static_cast<TensorObject*>(object);
    if (tensor->buffer->origin == BufferOrigin::kArena) {
      TVMVM_TRY(Owned<TensorObject> copy, NewTensor(call, tensor->dtype, tensor->shape));
      TVMVM_CHECK_OK(Copy(call, copy->data, tensor->data, tensor->bytes));
      return copy.Give();
    }
  }
  ObjectPool::Retain(object);
  return object;
}

int64_t TextBytes(size_t length) {
  static const size_t kInside = std::string().capacity();
  return length > kInside ? static_cast<int64_t>(length) + 1 : 0;
}

Expected<int64_t> TextBytes(const HostCall& call, const TensorObject& strings) {
  int64_t bytes = 0;
  const std::vector<std::string>& texts = StringsOf(strings);
  TVMVM_CHECK_OK(ForEach(call, static_cast<int64_t>(texts.size()), 4,
                         [&](int64_t i) { bytes += TextBytes(texts[static_cast<size_t>(i)].size()); }));
  return bytes;
}

Status ChargeTexts(HostCall& call, TensorObject& strings, int64_t bytes) {
  TVMVM_CHECK_OK(call.pool.budget().Reserve(bytes, "strings"));
  strings.buffer->charged += bytes;
  return {};
}

Status Poll(const HostCall& call) {
  call.work = 0;
  if (call.cancel.cancelled()) return MakeError(Code::kCancelled, "stopped");
  return {};
}

Status Copy(const HostCall& call, char* to, const char* from, int64_t bytes) {
  if (CopyBytes(call.cancel, to, from, bytes)) return {};
  return MakeError(Code::kCancelled, "stopped");
}

Status Append(const HostCall& call, std::string* to, std::string_view text) {
  constexpr size_t kPart = size_t{1} << 20;
  for (to->reserve(to->size() + text.size()); text.size() > kPart; text.remove_prefix(kPart)) {
    to->append(text.substr(0, kPart));
    TVMVM_CHECK_OK(Poll(call));
  }
  to->append(text);
  return PollWork(call, static_cast<int64_t>(16 + text.size() / 8));
}

}  // namespace tvmvm
