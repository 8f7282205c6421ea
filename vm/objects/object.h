// Objects: what reference registers hold. They belong to one Invocation, count their references without
// atomics, and come from the Invocation's pool, so that making one in a warm call touches no allocator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/arena.h"
#include "allocator/budget.h"
#include "allocator/late_memory.h"
#include "tvm-vm/device.h"
#include "tvm-vm/dtype.h"
#include "tvm-vm/shape.h"

namespace tvmvm {

enum class ObjectKind : uint8_t { kBuffer, kTensor, kSequence, kTuple };
const char* ObjectKindName(ObjectKind kind);

class ObjectPool;

struct Object {
  ObjectKind kind = ObjectKind::kBuffer;
  uint32_t refs = 1;
  Object* next = nullptr;  // of the pool: the list that a dead object is in
};

// Who gives the memory of a buffer back.
enum class BufferOrigin : uint8_t {
  kBorrowed,     // an input, a constant or a caller's output: nobody here
  kArena,        // the Invocation's arena
  kHost,         // AllocateHost; may be handed out as an output
  kDeviceArena,  // the Invocation's arena on a device
  kDevice,       // a block of a device
};

// A run of bytes that tensors share. On a device with memory of its own it has a place there and no address.
struct Buffer : Object {
  char* data = nullptr;
  int64_t bytes = 0;
  BufferOrigin origin = BufferOrigin::kBorrowed;
  uint32_t device = kHostDevice;  // its number in the program
  bool read_only = false;
  int64_t used = 0;                                   // bytes from the first on that tensors may show
  int64_t charged = 0;                                // bytes that the budget counts for it, as of its origin
  Arena::RegionId region = 0;                         // kArena
  std::shared_ptr<std::vector<std::string>> strings;  // kString tensors: the elements, instead of data
  DeviceSpan place;                                   // not on the CPU
};

// A dense row-major tensor at an offset of a buffer.
struct TensorObject : Object {
  DType dtype = DType::kInvalid;
  Shape shape;
  Buffer* buffer = nullptr;
  char* data = nullptr;  // inside the buffer; never null but for strings
  int64_t bytes = 0;
  int64_t begin = 0;  // not on the CPU: bytes from the buffer's beginning
};

// The buffer of a tensor or the object itself; null for others.
inline Buffer* BufferOf(Object* object) {
  if (object == nullptr) return nullptr;
  if (object->kind == ObjectKind::kBuffer) return static_cast<Buffer*>(object);
  return object->kind == ObjectKind::kTensor ? static_cast<TensorObject*>(object)->buffer : nullptr;
}

// Values in a row: the elements of a sequence, the fields of a tuple. Null stands for an optional without
// element.
struct ContainerObject : Object {
  std::vector<Object*> elements;  // owned references
  int64_t tag = 0;                // of tuples: which constructor made it
  int64_t charged = 0;            // bytes that the budget counts for it
};

// The bytes that a reference register stands for in a launch, a copy or an element access.
struct Bytes {
  char* data = nullptr;
  int64_t size = 0;
};

// Takes the memory of a device's buffers back when nobody holds them.
class DeviceMemoryOwner {
 public:
  virtual ~DeviceMemoryOwner() = default;
  virtual void TakeBack(const Buffer& buffer) noexcept = 0;  // kDeviceArena, kDevice
};

// Makes and recycles objects; returns a buffer's memory to where it came from. Not thread-safe.
class ObjectPool {
 public:
  ObjectPool(Arena* arena, Budget* budget) : arena_(arena), budget_(budget), late_(budget) {}
  ~ObjectPool();
  ObjectPool(const ObjectPool&) = delete;
  ObjectPool& operator=(const ObjectPool&) = delete;

  // With one reference, which is the caller's. Never null.
  Buffer* NewBuffer();
  // The tensor takes the caller's reference to the buffer, also where there is no memory for the tensor; it
  // begins where the buffer begins.
  TensorObject* NewTensor(Buffer* buffer, DType dtype, const Shape& shape);
  // Empty. `kind`: kSequence or kTuple.
  ContainerObject* NewContainer(ObjectKind kind);

  // The same with memory of the host, which the budget counts. Errors: kOutOfMemory, naming `purpose`.
  Expected<Buffer*> AllocateBuffer(int64_t bytes, std::string_view purpose);
  // kInvalidArgument: no tensor can have the shape.
  // Many strings are made a part at a time; kCancelled where `cancel`, which may be null, says so.
  Expected<TensorObject*> AllocateTensor(DType dtype, const Shape& shape, std::string_view purpose,
                                         const CancelToken* cancel = nullptr);
  // Room for `count` elements in all, at least twice as many as before where there was too little. Errors:
  // kOutOfMemory.
  Status Reserve(ContainerObject* container, size_t count);

  static void Retain(Object* object) {
    if (object != nullptr) ++object->refs;
  }
  // Null is allowed. Uses no stack however deeply objects hold one another.
  void Release(Object* object) noexcept {
    if (object != nullptr && --object->refs == 0) Destroy(object);
  }

  Budget& budget() { return *budget_; }
  // What went when a run was stopped.
  LateMemory& late() { return late_; }
  void set_device_memory(DeviceMemoryOwner* owner) { device_memory_ = owner; }

 private:
  // Dead objects of one type, to be used again.
  template <class T>
  struct FreeList {
    Object* first = nullptr;
    T* Take();
    void Put(T* object) noexcept;
    void Clear() noexcept;
  };

  [[gnu::cold]] static Error NoHostMemory(int64_t count, std::string_view what, std::string_view purpose);
  Expected<Buffer*> AllocateStrings(int64_t count, std::string_view purpose, const CancelToken* cancel);
  void Destroy(Object* object) noexcept;
  void ReleaseInto(Object* object, Object** dead) noexcept;
  void DestroyBuffer(Buffer* buffer) noexcept;

  Arena* arena_;
  Budget* budget_;
  LateMemory late_;
  DeviceMemoryOwner* device_memory_ = nullptr;  // where there are devices
  FreeList<Buffer> buffers_;
  FreeList<TensorObject> tensors_;
  FreeList<ContainerObject> containers_;
};

// An address that is never read or written, for memory of size 0.
char* EmptyMemory();

}  // namespace tvmvm
