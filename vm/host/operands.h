// What host functions share: looking at operands, making results.
#pragma once

#include <string>
#include <string_view>

#include "vm/host/host_library.h"
#include "vm/objects/owned.h"

namespace tvmvm {

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
// Bytes that texts take beyond the table of them: nothing for those that fit into a string object.
int64_t TextBytes(size_t length);
Expected<int64_t> TextBytes(const HostCall& call, const TensorObject& strings);
// Charges the texts that `strings` is about to receive to the budget, for as long as the tensor lives.
Status ChargeTexts(HostCall& call, TensorObject& strings, int64_t bytes);

// kCancelled when the run is to end: to be asked every few microseconds of work.
Status Poll(const HostCall& call);
// The same after so much work, in nanoseconds or so: looks where enough has come together.
inline constexpr int64_t kWorkBetweenLooks = 1 << 17;
inline bool TimeToLook(const HostCall& call, int64_t work) {
  return (call.work += work) >= kWorkBetweenLooks;
}
inline Status PollWork(const HostCall& call, int64_t work) {
  return TimeToLook(call, work) ? Poll(call) : Status();
}
// Calls `body` with each number below `count`, which is so much work each, and looks now and then.
template <class Body>
Status ForEach(const HostCall& call, int64_t count, int64_t work, Body body) {
  const int64_t part = work < kWorkBetweenLooks ? kWorkBetweenLooks / work : 1;
  for (int64_t i = 0; i < count;) {
    for (const int64_t end = count - i > part ? i + part : count; i < end; ++i) body(i);
    TVMVM_CHECK_OK(Poll(call));
  }
  return {};
}
// The same for step number `step` of a loop of short steps: looks at every 1024th.
inline Status PollStep(const HostCall& call, int64_t step) {
  return (step & 1023) == 1023 ? Poll(call) : Status();
}
// As CopyBytes of vm/objects.
Status Copy(const HostCall& call, char* to, const char* from, int64_t bytes);
// Puts `text` behind `to`.
Status Append(const HostCall& call, std::string* to, std::string_view text);

}  // namespace tvmvm
