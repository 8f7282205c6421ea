#include "vm/interpreter/object.h"

#include "allocator/host_memory.h"

namespace tvmvm {
namespace {

template <class T>
T* Take(std::vector<T*>& free) {
  if (free.empty()) return new T;
  T* object = free.back();
  free.pop_back();
  object->refs = 1;
  return object;
}

}  // namespace

char* EmptyMemory() {
  alignas(64) static char line[64];
  return line;
}

ObjectPool::~ObjectPool() {
  for (Buffer* buffer : free_buffers_) delete buffer;
  for (TensorObject* tensor : free_tensors_) delete tensor;
}

Buffer* ObjectPool::NewBuffer() {
  Buffer* buffer = Take(free_buffers_);
  buffer->kind = ObjectKind::kBuffer;
  buffer->data = EmptyMemory();
  buffer->bytes = 0;
  buffer->origin = BufferOrigin::kBorrowed;
  buffer->read_only = false;
  return buffer;
}

TensorObject* ObjectPool::NewTensor() {
  TensorObject* tensor = Take(free_tensors_);
  tensor->kind = ObjectKind::kTensor;
  tensor->buffer = nullptr;
  tensor->data = EmptyMemory();
  tensor->bytes = 0;
  return tensor;
}

void ObjectPool::Destroy(Object* object) {
  switch (object->kind) {
    case ObjectKind::kBuffer:
      return DestroyBuffer(static_cast<Buffer*>(object));
    case ObjectKind::kTensor: {
      auto* tensor = static_cast<TensorObject*>(object);
      Release(tensor->buffer);
      tensor->buffer = nullptr;
      free_tensors_.push_back(tensor);
      return;
    }
    case ObjectKind::kSequence:
    case ObjectKind::kTuple:
    case ObjectKind::kString:
    case ObjectKind::kOptional:
    case ObjectKind::kClosure:
      return;  // nothing makes them yet
  }
}

void ObjectPool::DestroyBuffer(Buffer* buffer) {
  switch (buffer->origin) {
    case BufferOrigin::kBorrowed:
      break;
    case BufferOrigin::kArena:
      arena_->Pop(buffer->region);
      budget_->Release(buffer->bytes);
      break;
    case BufferOrigin::kHost:
      FreeHost(buffer->data);
      budget_->Release(buffer->bytes);
      break;
  }
  buffer->strings.reset();
  free_buffers_.push_back(buffer);
}

}  // namespace tvmvm
