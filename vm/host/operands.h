// What host functions share: looking at operands, making results.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "vm/host/host_library.h"

namespace tvmvm {

// Owns one reference, so that an early return gives it back.
template <class T>
class Owned {
 public:
  Owned(ObjectPool& pool, T* object) : pool_(&pool), object_(object) {}
  Owned(Owned&& other) noexcept : pool_(other.pool_), object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&&) = delete;
  ~Owned() { pool_->Release(object_); }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  T* get() const { return object_; }
  T* Give() { return std::exchange(object_, nullptr); }

 private:
  ObjectPool* pool_;
  T* object_;
};

// "tensor", or "nothing" for null.
std::string_view KindOf(const Object* object);

// Operand `number` as what the function wants; `role` names it in errors: "'sequence' must be a sequence, it
// is a tensor".
Expected<TensorObject*> TensorOperand(const HostCall& call, size_t number, std::string_view role);
Expected<TensorObject*> StringsOperand(const HostCall& call, size_t number, std::string_view role);
Expected<TensorObject*> TypedOperand(const HostCall& call, size_t number, DType dtype, std::string_view role);
Expected<ContainerObject*> SequenceOperand(const HostCall& call, size_t number);
Expected<ContainerObject*> TupleOperand(const HostCall& call, size_t number);

inline int64_t ElementCount(const TensorObject& tensor) { return *tensor.shape.ElementCount(); }
inline std::vector<std::string>& StringsOf(const TensorObject& tensor) { return *tensor.buffer->strings; }
template <class T>
T* DataOf(const TensorObject& tensor) {
  return reinterpret_cast<T*>(tensor.data);
}

// `position`, which counts from the end when negative, within [0, count]; without `end_too` within [0,
// count). Errors: kInvalidArgument, "position 7 of a sequence of 3".
Expected<size_t> PositionIn(int64_t position, size_t count, bool end_too, std::string_view container);
// An axis of a tensor of that rank, which counts from the end when negative.
Expected<int> AxisIn(int64_t axis, int rank);

// A new tensor of the host's memory.
Expected<Owned<TensorObject>> NewTensor(HostCall& call, DType dtype, const Shape& shape);
// A reference to `object` that may outlive the frame: the object itself, or, where its memory is the arena's,
// a copy.
Expected<Object*> Retained(HostCall& call, Object* object);
// Charges the texts that do not fit inside a string, which grew since the tensor was made, to the budget.
Status ChargeTexts(HostCall& call, TensorObject& strings);

// kCancelled when the run is to end. Cheap enough for every few microseconds of work.
Status Poll(const HostCall& call);

}  // namespace tvmvm
