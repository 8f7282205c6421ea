// Values made of results of the entry function, and results that go elsewhere than to memory of the host.
#include <map>
#include <utility>

#include "allocator/host_memory.h"
#include "vm/interpreter/machine.h"

namespace tvmvm {
namespace {

// A sequence or tuple whose elements are on their way to values.
struct Unfinished {
  const ContainerObject* container;
  const TypeSpec* type;  // null: the signature says nothing
  std::vector<Value> values;
};

// The type of element `number`; null where the signature says nothing about it.
const TypeSpec* ElementType(const Unfinished& of, size_t number) {
  if (of.type == nullptr || of.type->elements.empty()) return nullptr;
  return &of.type->elements[of.type->kind == ValueKind::kTuple ? number : 0];
}

// Whether `object` is what `type` says, as far as kind, element type and number of fields go.
bool Fits(const Object& object, const TypeSpec& type) {
  switch (type.kind) {
    case ValueKind::kTensor:
      return object.kind == ObjectKind::kTensor &&
             static_cast<const TensorObject&>(object).dtype == type.dtype;
    case ValueKind::kSequence:
      return object.kind == ObjectKind::kSequence;
    case ValueKind::kTuple:
      return object.kind == ObjectKind::kTuple &&
             (type.elements.empty() ||
              static_cast<const ContainerObject&>(object).elements.size() == type.elements.size());
    case ValueKind::kOptional:
      return true;  // unwrapped by the caller
  }
  return false;
}

bool IsOnCpu(const TensorObject& result) { return result.buffer->device == kHostDevice; }

[[gnu::cold]] tl::unexpected<Error> NotOnCpu(const Program& program, const TensorObject& result) {
  return MakeError(Code::kInvalidProgram, "the program gave a tensor that is on the " +
                                              DeviceSpecName(program.devices[result.buffer->device]));
}

std::string Described(const Object* object) {
  if (object == nullptr) return "nothing";
  std::string text = std::string("a ") + ObjectKindName(object->kind);
  if (object->kind == ObjectKind::kTensor)
    text += " of " + std::string(DTypeName(static_cast<const TensorObject*>(object)->dtype));
  return text;
}

}  // namespace

// With a stack of its own instead of recursion: results may be as deep as memory goes.
Expected<Value> Machine::ToValue(Object* root, const TypeSpec* root_type) {
  // Of containers by their types, too: what is one type's may not be another's. One that has no type has
  // null.
  std::map<std::pair<const Object*, const TypeSpec*>, Value> done;
  std::vector<Unfinished> stack;
  // Gives the value, or pushes what is to be finished first and gives false.
  auto begin = [&](Object* object, const TypeSpec* type, Value* value) -> Expected<bool> {
    bool optional = type == nullptr;
    while (type != nullptr && type->kind == ValueKind::kOptional) {
      optional = true;
      type = type->elements.empty() ? nullptr : type->elements.data();
    }
    if (object == nullptr && optional) return true;
    if (object == nullptr || object->kind == ObjectKind::kBuffer ||
        (type != nullptr && !Fits(*object, *type)))
      return MakeError(Code::kInvalidProgram,
                       "the program gave " + Described(object) + ", its signature says otherwise");
    const bool is_tensor = object->kind == ObjectKind::kTensor;
    if (auto found = done.find({object, is_tensor ? nullptr : type}); found != done.end()) {
      *value = found->second;
      return true;
    }
    if (!is_tensor) {
      const auto* container = static_cast<const ContainerObject*>(object);
      stack.push_back({container, type, {}});
      stack.back().values.reserve(container->elements.size());
      return false;
    }
    TVMVM_TRY(*value, HandOut(static_cast<TensorObject&>(*object)));
    if (object->refs > 1) done.try_emplace({object, nullptr}, *value);
    return true;
  };

  Value value;
  TVMVM_CHECK_OK(begin(root, root_type, &value));
  while (!stack.empty()) {
    Unfinished& top = stack.back();
    const size_t number = top.values.size();
    if (number < top.container->elements.size()) {
      value = Value();
      TVMVM_TRY(bool finished, begin(top.container->elements[number], ElementType(top, number), &value));
      if (finished) stack.back().values.push_back(std::move(value));
      continue;
    }
    value = top.container->kind == ObjectKind::kTuple
                ? Value::Tuple(top.container->tag, std::move(top.values))
                : Value::Sequence(std::move(top.values));
    if (top.container->refs > 1) done.try_emplace({top.container, top.type}, value);
    stack.pop_back();
    if (!stack.empty()) stack.back().values.push_back(std::move(value));
  }
  return value;
}

// Where memory of a device or texts are asked for, or a shape that the result does not have.
Status Machine::CopyToOther(const TensorObject& result, const Tensor& given) {
  const bool is_there = !IsOnCpu(result);
  if (is_there && (!given.device() || result.buffer->place.memory.handle != given.device_memory().handle))
      [[unlikely]]
    return NotOnCpu(program, result);
  if (!(result.shape == given.shape()))
    return MakeError(Code::kInvalidArgument, "memory for shape " + given.shape().ToString() +
                                                 " given, the result has " + result.shape.ToString());
  if (given.device()) {
    if (is_there) return {};
    if (DeviceOf(given) != kHostDevice) return CopyIn(given, result.data);
    return given.CopyFrom(Tensor::Borrow(result.dtype, result.shape, result.data));
  }
  if (result.buffer->strings != given.shared_strings()) given.strings() = *result.buffer->strings;
  return {};
}

// Memory that only the program held goes to the caller as it is; everything else (inputs, constants, arena,
// memory that another output took) is copied.
Expected<Tensor> Machine::HandOut(TensorObject& result) {
  if (!IsOnCpu(result)) [[unlikely]]
    return NotOnCpu(program, result);
  Buffer& buffer = *result.buffer;
  if (result.dtype == DType::kString) {
    if (buffer.strings.use_count() == 1 && !buffer.read_only)
      return Tensor::ShareStrings(result.shape, buffer.strings);
    return Tensor::FromStrings(result.shape, *buffer.strings);
  }
  if (buffer.origin == BufferOrigin::kHost) {
    std::shared_ptr<void> owner = OwnHost(buffer.data);
    buffer.origin = BufferOrigin::kBorrowed;
    memory.budget.Release(buffer.charged);
    buffer.charged = 0;
    if (!owner) return MakeError(Code::kOutOfMemory, "the host has no memory for an owner");
    return Tensor::Share(result.dtype, result.shape, result.data, std::move(owner));
  }
  TVMVM_CHECK_OK(memory.budget.Reserve(result.bytes, "copy"));
  memory.budget.Release(result.bytes);
  TVMVM_TRY(Tensor tensor, Tensor::Allocate(result.dtype, result.shape));
  TVMVM_CHECK_OK(Copy(static_cast<char*>(tensor.data()), result.data, result.bytes));
  return tensor;
}

}  // namespace tvmvm
