#include "vm/objects/object.h"

#include <algorithm>
#include <exception>

#include "allocator/host_memory.h"
#include "vm/objects/owned.h"

namespace tvmvm {
namespace {

// What a container's slot costs: the pointer, and the objects of the tensor that is most often there and that
// nothing else counts.
constexpr int64_t kSlotBytes = sizeof(Object*) + sizeof(TensorObject) + sizeof(Buffer);
constexpr size_t kMostSlots = static_cast<size_t>(INT64_MAX / kSlotBytes);
// A recycled container keeps room for this many elements.
constexpr size_t kSlotsKept = 64;

}  // namespace

const char* ObjectKindName(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kBuffer:
      return "buffer";
    case ObjectKind::kTensor:
      return "tensor";
    case ObjectKind::kSequence:
      return "sequence";
    case ObjectKind::kTuple:
      return "tuple";
  }
  return "object";
}

char* EmptyMemory() {
  alignas(64) static char line[64];
  return line;
}

template <class T>
T* ObjectPool::FreeList<T>::Take() {
  if (first == nullptr) return new T;
  auto* object = static_cast<T*>(first);
  first = object->next;
  object->refs = 1;
  return object;
}

template <class T>
void ObjectPool::FreeList<T>::Put(T* object) noexcept {
  object->next = first;
  first = object;
}

template <class T>
void ObjectPool::FreeList<T>::Clear() noexcept {
  while (first != nullptr) {
    auto* object = static_cast<T*>(first);
    first = object->next;
    delete object;
  }
}

ObjectPool::~ObjectPool() {
  buffers_.Clear();
  tensors_.Clear();
  containers_.Clear();
}

Buffer* ObjectPool::NewBuffer() {
  Buffer* buffer = buffers_.Take();
  buffer->kind = ObjectKind::kBuffer;
  buffer->data = EmptyMemory();
  buffer->bytes = buffer->used = 0;
  buffer->device = kHostDevice;
  buffer->origin = BufferOrigin::kBorrowed;
  buffer->read_only = false;
  buffer->charged = 0;
  return buffer;
}

TensorObject* ObjectPool::NewTensor(Buffer* buffer, DType dtype, const Shape& shape) {
  Owned<Buffer> owned(*this, buffer);
  TensorObject* tensor = tensors_.Take();
  owned.Give();
  tensor->kind = ObjectKind::kTensor;
  tensor->dtype = dtype;
  tensor->shape = shape;
  tensor->buffer = buffer;
  tensor->data = buffer->data;
  tensor->begin = 0;
  tensor->bytes = DTypeBytes(dtype, *shape.ElementCount());
  return tensor;
}

ContainerObject* ObjectPool::NewContainer(ObjectKind kind) {
  ContainerObject* container = containers_.Take();
  container->kind = kind;
  container->tag = 0;
  container->charged = 0;
  return container;
}

Expected<Buffer*> ObjectPool::AllocateBuffer(int64_t bytes, std::string_view purpose) {
  Owned<Buffer> buffer(*this, NewBuffer());
  TVMVM_CHECK_OK(budget_->Reserve(bytes, purpose));
  buffer->charged = bytes;
  void* data = TryAllocateHost(bytes);
  if (data == nullptr)
    return MakeError(Code::kOutOfMemory, "the host has no memory for " + std::to_string(bytes) +
                                             " bytes of " + std::string(purpose));
  buffer->origin = BufferOrigin::kHost;
  buffer->data = static_cast<char*>(data);
  buffer->bytes = buffer->used = bytes;
  return buffer.Give();
}

[[gnu::cold]] Expected<Buffer*> ObjectPool::AllocateStrings(int64_t count, std::string_view purpose,
                                                            const CancelToken* cancel) {
  constexpr int64_t kMost = INT64_MAX / static_cast<int64_t>(sizeof(std::string));
  const int64_t bytes = count > kMost ? INT64_MAX : count * static_cast<int64_t>(sizeof(std::string));
  Owned<Buffer> buffer(*this, NewBuffer());
  TVMVM_CHECK_OK(budget_->Reserve(bytes, purpose));
  buffer->charged = bytes;
  try {
    buffer->strings = std::make_shared<std::vector<std::string>>();
    std::vector<std::string>& strings = *buffer->strings;
    strings.reserve(static_cast<size_t>(count));
    for (constexpr int64_t kPart = 1 << 14; count > 0; count -= kPart) {
      if (cancel != nullptr && cancel->cancelled()) return MakeError(Code::kCancelled, "stopped");
      strings.resize(strings.size() + static_cast<size_t>(std::min(kPart, count)));
    }
  } catch (const std::exception&) {
    return MakeError(Code::kOutOfMemory, "the host has no memory for " + std::to_string(count) +
                                             " strings of " + std::string(purpose));
  }
  return buffer.Give();
}

Expected<TensorObject*> ObjectPool::AllocateTensor(DType dtype, const Shape& shape, std::string_view purpose,
                                                   const CancelToken* cancel) {
  const std::optional<int64_t> count = shape.ElementCount();
  // 16 bytes is the largest element.
  if (!count || *count > INT64_MAX / 16)
    return MakeError(Code::kInvalidArgument, "a tensor of shape " + shape.ToString() + " cannot be");
  TVMVM_TRY(Buffer * buffer, dtype == DType::kString ? AllocateStrings(*count, purpose, cancel)
                                                     : AllocateBuffer(DTypeBytes(dtype, *count), purpose));
  return NewTensor(buffer, dtype, shape);
}

Status ObjectPool::Reserve(ContainerObject* container, size_t count) {
  const size_t paid = static_cast<size_t>(container->charged / kSlotBytes);
  if (count <= paid) return {};
  if (count > kMostSlots / 2)
    return MakeError(Code::kOutOfMemory, std::to_string(count) + " elements are too many");
  // Where twice as many are not allowed, as many as wanted may be.
  size_t slots = std::max(count, 2 * paid);
  const char* purpose = ObjectKindName(container->kind);
  if (!budget_->Reserve(static_cast<int64_t>(slots - paid) * kSlotBytes, purpose)) {
    slots = count;
    TVMVM_CHECK_OK(budget_->Reserve(static_cast<int64_t>(slots - paid) * kSlotBytes, purpose));
  }
  container->charged = static_cast<int64_t>(slots) * kSlotBytes;
  try {
    container->elements.reserve(slots);
  } catch (const std::exception&) {
    return MakeError(Code::kOutOfMemory,
                     "the host has no memory for " + std::to_string(slots) + " elements of a " + purpose);
  }
  return {};
}

void ObjectPool::Destroy(Object* object) noexcept {
  // Objects without references are linked by `next`, which they have no other use for.
  Object* dead = object;
  object->next = nullptr;
  while (dead != nullptr) {
    Object* current = dead;
    dead = current->next;
    switch (current->kind) {
      case ObjectKind::kBuffer:
        DestroyBuffer(static_cast<Buffer*>(current));
        break;
      case ObjectKind::kTensor: {
        auto* tensor = static_cast<TensorObject*>(current);
        ReleaseInto(tensor->buffer, &dead);
        tensor->buffer = nullptr;
        tensors_.Put(tensor);
        break;
      }
      case ObjectKind::kSequence:
      case ObjectKind::kTuple: {
        auto* container = static_cast<ContainerObject*>(current);
        for (Object* element : container->elements) ReleaseInto(element, &dead);
        container->elements.clear();
        if (container->elements.capacity() > kSlotsKept) std::vector<Object*>().swap(container->elements);
        budget_->Release(container->charged);
        containers_.Put(container);
        break;
      }
    }
  }
}

void ObjectPool::ReleaseInto(Object* object, Object** dead) noexcept {
  if (object == nullptr || --object->refs != 0) return;
  object->next = *dead;
  *dead = object;
}

void ObjectPool::DestroyBuffer(Buffer* buffer) noexcept {
  switch (buffer->origin) {
    case BufferOrigin::kBorrowed:
      budget_->Release(buffer->charged);
      break;
    case BufferOrigin::kArena:
      arena_->Pop(buffer->region);
      budget_->Leave(buffer->charged);
      break;
    case BufferOrigin::kHost:
      FreeHost(buffer->data);
      budget_->Release(buffer->charged);
      break;
    case BufferOrigin::kDeviceArena:
    case BufferOrigin::kDevice:
      device_memory_->TakeBack(*buffer);
      budget_->Leave(buffer->charged);
      break;
  }
  buffer->strings.reset();
  buffers_.Put(buffer);
}

}  // namespace tvmvm
