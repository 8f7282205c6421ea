// Objects of sizes that a program asks for; object.cc has what every run does.
#include <algorithm>
#include <exception>

#include "vm/objects/object.h"
#include "vm/objects/owned.h"

namespace tvmvm {
namespace {

// What a container's slot costs: the pointer, and the objects of the tensor that is most often there and that
// nothing else counts.
constexpr int64_t kSlotBytes = sizeof(Object*) + sizeof(TensorObject) + sizeof(Buffer);
constexpr size_t kMostSlots = static_cast<size_t>(INT64_MAX / kSlotBytes);

}  // namespace

Error ObjectPool::NoHostMemory(int64_t count, std::string_view what, std::string_view purpose) {
  return Error{Code::kOutOfMemory, "the host has no memory for " + std::to_string(count) + " " +
                                       std::string(what) + " of " + std::string(purpose)};
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
    return tl::unexpected(NoHostMemory(count, "strings", purpose));
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

}  // namespace tvmvm
