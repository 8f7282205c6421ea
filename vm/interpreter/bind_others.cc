// Inputs that are no tensors of the host: those in memory of devices, sequences and tuples.
#include <unordered_map>

#include "vm/interpreter/machine.h"
#include "vm/objects/owned.h"

namespace tvmvm {
namespace {

// One value that is yet to become an object, and where the object goes.
struct Pending {
  const Value* value;
  ContainerObject* container;
  size_t number;
};

}  // namespace

// An output that shares its memory with another tensor is written only when all else is done.
void Machine::FindResidents(const Arguments& inputs) {
  residents_.clear();
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const Tensor* tensor = inputs.tensor(i);
    const bool may_stay = tensor != nullptr && DeviceOf(*tensor) != kHostDevice && binding.inputs_stay[i];
    residents_.push_back(may_stay ? tensor : nullptr);
  }
  auto shares = [&](const Tensor* one, const Tensor* other) {
    return other != nullptr && one != other && other->device() &&
           other->device_memory().handle == one->device_memory().handle;
  };
  for (const Tensor* given : given_outputs) {
    bool stands_in = given != nullptr && DeviceOf(*given) != kHostDevice;
    for (uint32_t i = 0; stands_in && i < inputs.size(); ++i) stands_in = !shares(given, inputs.tensor(i));
    for (const Tensor* other : given_outputs) stands_in = stands_in && !shares(given, other);
    residents_.push_back(stands_in ? given : nullptr);
  }
}

uint32_t Machine::DeviceAmong(const Tensor& tensor) const {
  if (tensor.device())
    for (uint32_t number = 1; number < devices.size(); ++number)
      if (tensor.device() == binding.devices[number]) return number;
  return kHostDevice;
}

TensorObject* Machine::TensorOnDevice(const Tensor& tensor, bool read_only) {
  Buffer* buffer = memory.pool.NewBuffer();
  buffer->device = DeviceOf(tensor);
  buffer->bytes = tensor.byte_count();
  buffer->read_only = read_only;
  buffer->place = {tensor.device_memory()};
  return memory.pool.NewTensor(buffer, tensor.dtype(), tensor.shape());
}

// The program wants it on the host.
Expected<Object*> Machine::BindFromDevice(const Tensor& tensor) {
  Buffer* buffer = memory.NewArenaBuffer(nullptr, tensor.byte_count());
  if (buffer == nullptr) return tl::unexpected(run.error());
  buffer->read_only = true;
  Owned<TensorObject> object(memory.pool, memory.pool.NewTensor(buffer, tensor.dtype(), tensor.shape()));
  TVMVM_CHECK_OK(DeviceOf(tensor) != kHostDevice
                     ? CopyOut(tensor, buffer->data)
                     : Tensor::Borrow(tensor.dtype(), tensor.shape(), buffer->data).CopyFrom(tensor));
  return object.Give();
}

// A sequence or a tuple, and all that is in it, with a list of what is left to do instead of recursion. What
// values share, objects share. Each object is put in its place as soon as it is made, so that whatever was
// made before an error goes with the frame.
Status Machine::BindContainer(const Value& value, uint32_t input, Object** to) {
  std::unordered_map<const void*, ContainerObject*> made;
  std::vector<Pending> pending;
  auto make = [&](const Value& from, Object** place) -> Status {
    ContainerObject*& object = made[&from.elements()];
    if (object != nullptr) {
      ObjectPool::Retain(object);
      *place = object;
      return {};
    }
    const std::vector<Value>& elements = from.elements();
    object = memory.pool.NewContainer(from.is_tuple() ? ObjectKind::kTuple : ObjectKind::kSequence);
    *place = object;
    object->tag = from.tag();
    TVMVM_CHECK_OK(memory.pool.Reserve(object, std::max<size_t>(1, elements.size())));
    object->elements.resize(elements.size());
    for (size_t i = 0; i < elements.size(); ++i)
      if (!elements[i].is_none()) pending.push_back({&elements[i], object, i});
    return {};
  };
  TVMVM_CHECK_OK(make(value, to));
  while (!pending.empty()) {
    const Pending next = pending.back();
    pending.pop_back();
    Object*& element = next.container->elements[next.number];
    if (!next.value->is_tensor()) {
      TVMVM_CHECK_OK(make(*next.value, &element));
      continue;
    }
    // The tensors of tuples whose type names no fields have not been looked at yet.
    TVMVM_CHECK_OK(Signature::CheckMemory(next.value->tensor()));
    TVMVM_TRY(element, BindTensor(next.value->tensor(), input));
  }
  return {};
}

}  // namespace tvmvm
