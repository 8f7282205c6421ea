// Machine::Run: inputs into registers, interpretation, results out.
#include <cstring>

#include "vm/interpreter/machine.h"

namespace tvmvm {

std::string OutputName(const Program& program, uint32_t number) {
  return "output " + std::to_string(number) + " '" + program.main().outputs[number].name + "'";
}

bool IsElementAligned(const void* data, DType dtype) {
  const int bytes = DTypeBits(dtype) / 8;
  const int alignment = bytes > 8 ? 8 : bytes < 1 ? 1 : bytes;
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(alignment) == 0;
}

Status Machine::Run(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  TVMVM_CHECK_OK(binding.signature->CheckInputs(inputs, symbols_));
  TVMVM_CHECK_OK(CheckOutputs(outputs));
  Status status = Begin(inputs, outputs);
  if (status) {
    Interpret(*this, code);
    status = failed_ ? Status(tl::unexpected(error_)) : Collect(outputs);
  }
  End();
  return status;
}

Status Machine::CheckOutputs(std::span<Tensor> outputs) const {
  const std::vector<ParameterSpec>& wanted = program.main().outputs;
  if (outputs.size() != wanted.size())
    return MakeError(Code::kInvalidArgument, "room for " + std::to_string(outputs.size()) +
                                                 " outputs given, the program has " +
                                                 std::to_string(wanted.size()));
  for (uint32_t k = 0; k < wanted.size(); ++k) {
    const Tensor& given = outputs[k];
    if (given.empty_handle()) continue;
    if (given.dtype() != wanted[k].type.dtype)
      return MakeError(Code::kInvalidArgument,
                       OutputName(program, k) + ": memory for " + std::string(DTypeName(given.dtype())) +
                           " given, the result is " + std::string(DTypeName(wanted[k].type.dtype)));
    if (!given.shape().ElementCount() ||
        (given.dtype() != DType::kString && given.data() == nullptr && given.byte_count() != 0))
      return MakeError(Code::kInvalidArgument,
                       OutputName(program, k) + ": its memory is null or its shape impossible");
  }
  return {};
}

Status Machine::Begin(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  failed_ = false;
  steps = 0;
  next_look_ = 0;
  deadline_ns_ = 0;
  if (limits_.timeout.count() > 0 &&
      __builtin_add_overflow(SteadyNanoseconds(), limits_.timeout.count(), &deadline_ns_))
    deadline_ns_ = INT64_MAX;
  for (size_t k = 0; k < outputs.size(); ++k)
    given_outputs[k] = outputs[k].empty_handle() ? nullptr : &outputs[k];
  if (!PushFrame(program.main(), nullptr)) return tl::unexpected(error_);
  for (uint32_t i = 0; i < inputs.size(); ++i) TVMVM_CHECK_OK(BindInput(inputs[i], i));
  return {};
}

Status Machine::BindInput(const Tensor& tensor, uint32_t reg) {
  Buffer* buffer = nullptr;
  const int64_t bytes = tensor.byte_count();
  if (tensor.dtype() != DType::kString && !IsElementAligned(tensor.data(), tensor.dtype())) {
    buffer = NewArenaBuffer(nullptr, bytes);
    if (buffer == nullptr) return tl::unexpected(error_);
    std::memcpy(buffer->data, tensor.data(), static_cast<size_t>(bytes));
  } else {
    buffer = pool.NewBuffer();
    if (tensor.data() != nullptr) buffer->data = static_cast<char*>(tensor.data());
    buffer->bytes = bytes;
    buffer->strings = tensor.shared_strings();
  }
  buffer->read_only = true;
  refs[reg] = pool.NewTensor(buffer, tensor.dtype(), tensor.shape());
  return {};
}

void Machine::TakeResults(const uint32_t* list) {
  for (uint32_t k = 0; k < list[0]; ++k) {
    results_[k] = refs[list[1 + k]];
    ObjectPool::Retain(results_[k]);
  }
}

Status Machine::Collect(std::span<Tensor> outputs) {
  for (uint32_t k = 0; k < outputs.size(); ++k) TVMVM_CHECK_OK(CollectOne(k, outputs[k], &staged_[k]));
  // All is well: only now does anything of the caller's change.
  for (uint32_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].empty_handle()) outputs[k] = std::move(staged_[k]);
  return {};
}

Status Machine::CollectOne(uint32_t number, const Tensor& given, Tensor* staged) {
  Object* object = results_[number];
  const TypeSpec& type = program.main().outputs[number].type;
  if (object == nullptr || object->kind != ObjectKind::kTensor)
    return MakeError(Code::kUnsupported,
                     OutputName(program, number) + ": the program gave something other than a tensor");
  auto& result = static_cast<TensorObject&>(*object);
  if (result.dtype != type.dtype)
    return MakeError(Code::kInvalidProgram, OutputName(program, number) + ": the program gave " +
                                                std::string(DTypeName(result.dtype)) +
                                                ", its signature says " + std::string(DTypeName(type.dtype)));
  if (!given.empty_handle()) return CopyToGiven(number, result, given);
  Expected<Tensor> tensor = HandOut(result);
  if (!tensor)
    return MakeError(tensor.error().code, OutputName(program, number) + ": " + tensor.error().message);
  *staged = std::move(*tensor);
  return {};
}

Status Machine::CopyToGiven(uint32_t number, const TensorObject& result, const Tensor& given) {
  if (!(result.shape == given.shape()))
    return MakeError(Code::kInvalidArgument, OutputName(program, number) + ": memory for shape " +
                                                 given.shape().ToString() + " given, the result has " +
                                                 result.shape.ToString());
  if (result.dtype == DType::kString) {
    if (result.buffer->strings != given.shared_strings()) given.strings() = *result.buffer->strings;
  } else if (result.data != given.data() && result.bytes > 0) {
    std::memmove(given.data(), result.data, static_cast<size_t>(result.bytes));
  }
  return {};
}

// Memory that only the program held goes to the caller as it is; everything else (inputs, constants, arena,
// memory that another output took) is copied.
Expected<Tensor> Machine::HandOut(TensorObject& result) {
  Buffer& buffer = *result.buffer;
  if (result.dtype == DType::kString) {
    if (buffer.strings.use_count() == 1 && !buffer.read_only && buffer.refs == 1)
      return Tensor::FromStrings(result.shape, std::move(*buffer.strings));
    return Tensor::FromStrings(result.shape, *buffer.strings);
  }
  if (buffer.origin == BufferOrigin::kHost) {
    std::shared_ptr<void> owner = OwnHost(buffer.data);
    buffer.origin = BufferOrigin::kBorrowed;
    budget.Release(buffer.charged);
    buffer.charged = 0;
    if (!owner) return MakeError(Code::kOutOfMemory, "the host has no memory for an owner");
    return Tensor::Share(result.dtype, result.shape, result.data, std::move(owner));
  }
  TVMVM_CHECK_OK(budget.Reserve(result.bytes, "copy"));
  budget.Release(result.bytes);
  TVMVM_TRY(Tensor tensor, Tensor::Allocate(result.dtype, result.shape));
  std::memcpy(tensor.data(), result.data, static_cast<size_t>(result.bytes));
  return tensor;
}

// Releases everything that the run holds, so that the Invocation can be used again.
void Machine::End() {
  for (Object*& result : results_) {
    pool.Release(result);
    result = nullptr;
  }
  for (Tensor& tensor : staged_)
    if (!tensor.empty_handle()) tensor = Tensor();
  while (depth_ > 0) PopFrame();
}

}  // namespace tvmvm
