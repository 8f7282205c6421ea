// Inputs into the entry function's registers.
#include "vm/interpreter/machine.h"

namespace tvmvm {

Status Machine::BindInputs(const Arguments& inputs) {
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (const Tensor* tensor = inputs.tensor(i)) {
      if (!devices.empty() && residents_[i] != nullptr) {
        frames.refs[i] = TensorOnDevice(*tensor, true);
      } else {
        TVMVM_TRY(frames.refs[i], BindTensor(*tensor, i));
      }
    } else if (const Value* value = inputs.value(i); value != nullptr && !value->is_none()) {
      TVMVM_CHECK_OK(BindContainer(*value, i, &frames.refs[i]));
    }
  }
  return {};
}

Expected<Object*> Machine::BindTensor(const Tensor& tensor, uint32_t input) {
  if (tensor.device()) [[unlikely]]
    return BindFromDevice(tensor);
  Buffer* buffer = nullptr;
  const int64_t bytes = tensor.byte_count();
  if (has_given_outputs_ && MayOverlap(tensor, bytes)) [[unlikely]]
    TVMVM_CHECK_OK(CheckApart(tensor, input));
  if (tensor.dtype() != DType::kString && !IsElementAligned(tensor.data(), tensor.dtype())) {
    buffer = memory.NewArenaBuffer(nullptr, bytes);
    if (buffer == nullptr) return tl::unexpected(run.error());
    TVMVM_CHECK_OK(Copy(buffer->data, static_cast<const char*>(tensor.data()), bytes));
  } else {
    buffer = memory.pool.NewBuffer();
    if (tensor.data() != nullptr) buffer->data = static_cast<char*>(tensor.data());
    buffer->bytes = bytes;
    buffer->strings = tensor.shared_strings();
  }
  buffer->read_only = true;
  return memory.pool.NewTensor(buffer, tensor.dtype(), tensor.shape());
}

}  // namespace tvmvm
