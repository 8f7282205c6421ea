#include "vm/objects/object.h"

#include <algorithm>

#include "allocator/host_memory.h"
#include "vm/objects/owned.h"

namespace tvmvm {
namespace {

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
  if (data == nullptr) return tl::unexpected(NoHostMemory(bytes, "bytes", purpose));
  buffer->origin = BufferOrigin::kHost;
  buffer->data = static_cast<char*>(data);
  buffer->bytes = buffer->used = bytes;
  return buffer.Give();
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
      if (buffer->strings)
        late_.Free(std::move(buffer->strings), buffer->charged);
      else
        budget_->Release(buffer->charged);
      break;
    case BufferOrigin::kArena:
      arena_->Pop(buffer->region);
      budget_->Leave(buffer->charged);
      break;
    case BufferOrigin::kHost:
      if (buffer->charged >= LateMemory::kLarge) [[unlikely]] {
        late_.Free(buffer->data, buffer->charged);
      } else {
        FreeHost(buffer->data);
        budget_->Release(buffer->charged);
      }
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
