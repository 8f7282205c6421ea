// Results of the entry function out to the caller: what every run does. hand_out.cc has what is made anew.
#include "vm/interpreter/machine.h"
#include "vm/objects/copy_bytes.h"

namespace tvmvm {
namespace {

[[gnu::cold, gnu::noinline]] Error OfOutput(const Program& program, uint32_t number, const Error& error) {
  return {error.code, OutputName(program, number) + ": " + error.message};
}

}  // namespace

Status Machine::Collect(Results outputs) {
  // First, as memory that is handed out goes at once.
  if (!run.PollBeforeWork(nullptr)) return tl::unexpected(run.error());
  for (uint32_t k = 0; k < outputs.size(); ++k) {
    Status status = CollectOne(k);
    if (!status) [[unlikely]]
      return tl::unexpected(OfOutput(program, k, status.error()));
  }
  // No run is well past its deadline.
  if (!run.PollBeforeWork(nullptr)) return tl::unexpected(run.error());
  // All is well: only now does anything of the caller's change.
  for (uint32_t k = 0; k < outputs.size(); ++k)
    if (given_outputs[k] == nullptr) outputs.Put(k, std::move(staged_[k]));
  return {};
}

Status Machine::CollectOne(uint32_t number) {
  const TypeSpec& type = program.main().outputs[number].type;
  Object* object = results_[number];
  if (type.kind == ValueKind::kTensor && object != nullptr && object->kind == ObjectKind::kTensor &&
      static_cast<TensorObject*>(object)->dtype == type.dtype) [[likely]] {
    auto& result = static_cast<TensorObject&>(*object);
    if (const Tensor* given = given_outputs[number]) return CopyToGiven(result, *given);
    TVMVM_TRY(staged_[number], HandOut(result));
    return {};
  }
  TVMVM_TRY(staged_[number], ToValue(object, &type));
  return {};
}

Status Machine::Copy(char* to, const char* from, int64_t bytes) {
  if (CopyBytes(run, to, from, bytes)) return {};
  run.FailStopped(nullptr);
  return tl::unexpected(run.error());
}

Status Machine::CopyToGiven(const TensorObject& result, const Tensor& given) {
  const bool is_plain = result.buffer->device == kHostDevice && !given.device() &&
                        result.dtype != DType::kString && result.shape == given.shape();
  if (!is_plain) [[unlikely]]
    return CopyToOther(result, given);
  if (result.data == given.data() || result.bytes == 0) return {};
  return Copy(static_cast<char*>(given.data()), result.data, result.bytes);
}

}  // namespace tvmvm
