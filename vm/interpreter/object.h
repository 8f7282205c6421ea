// Objects: what reference registers hold. They belong to one Invocation, count their references without
// atomics, and come from the Invocation's pool, so that making one in a warm call touches no allocator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "allocator/arena.h"
#include "allocator/budget.h"
#include "bytecode/dtype.h"
#include "bytecode/shape.h"

namespace tvmvm {

enum class ObjectKind : uint8_t { kBuffer, kTensor, kSequence, kTuple, kString, kOptional, kClosure };

class ObjectPool;

struct Object {
  ObjectKind kind = ObjectKind::kBuffer;
  uint32_t refs = 1;
};

// Who gives the memory of a buffer back.
enum class BufferOrigin : uint8_t {
  kBorrowed,  // an input, a constant or a caller's output: nobody here
  kArena,     // the Invocation's arena
  kHost,      // AllocateHost; may be handed out as an output
};

// A run of bytes that tensors share.
struct Buffer : Object {
  char* data = nullptr;
  int64_t bytes = 0;
  BufferOrigin origin = BufferOrigin::kBorrowed;
  bool read_only = false;
  Arena::RegionId region = 0;                         // kArena
  std::shared_ptr<std::vector<std::string>> strings;  // kString tensors: the elements, instead of data
};

// A dense row-major tensor at an offset of a buffer.
struct TensorObject : Object {
  DType dtype = DType::kInvalid;
  Shape shape;
  Buffer* buffer = nullptr;
  char* data = nullptr;  // inside the buffer; never null but for strings
  int64_t bytes = 0;
};

// The bytes that a reference register stands for in a launch, a copy or an element access.
struct Bytes {
  char* data = nullptr;
  int64_t size = 0;
};

// Makes and recycles objects; returns a buffer's memory to where it came from. Not thread-safe.
class ObjectPool {
 public:
  ObjectPool(Arena* arena, Budget* budget) : arena_(arena), budget_(budget) {}
  ~ObjectPool();
  ObjectPool(const ObjectPool&) = delete;
  ObjectPool& operator=(const ObjectPool&) = delete;

  // With one reference, which is the caller's. Never null.
  Buffer* NewBuffer();
  TensorObject* NewTensor();

  static void Retain(Object* object) {
    if (object != nullptr) ++object->refs;
  }
  // Null is allowed.
  void Release(Object* object) {
    if (object != nullptr && --object->refs == 0) Destroy(object);
  }

 private:
  void Destroy(Object* object);
  void DestroyBuffer(Buffer* buffer);

  Arena* arena_;
  Budget* budget_;
  std::vector<Buffer*> free_buffers_;
  std::vector<TensorObject*> free_tensors_;
};

// An address that is never read or written, for memory of size 0.
char* EmptyMemory();

}  // namespace tvmvm
