// Machine::Run: what is given is checked, the entry function's frame is opened, interpretation, results out.
#include "bytecode/derived_cache.h"
#include "vm/interpreter/device_handlers.h"
#include "vm/interpreter/machine.h"

namespace tvmvm {

namespace {

[[gnu::cold, gnu::noinline]] Error WrongCount(size_t given, size_t wanted) {
  return {Code::kInvalidArgument,
          "room for " + std::to_string(given) + " outputs given, the program has " + std::to_string(wanted)};
}

[[gnu::cold, gnu::noinline]] Error FileWasCut() {
  return {Code::kInvalidProgram,
          "the program's file was cut while it was mapped: what it says there is lost"};
}

}  // namespace

[[gnu::cold]] std::string OutputName(const Program& program, uint32_t number) {
  return "output " + std::to_string(number) + " '" + program.main().outputs[number].name + "'";
}

Status Machine::Run(const Arguments& inputs, Results outputs, int64_t deadline_ns,
                    const std::stop_token& cancel) {
  TVMVM_CHECK_OK(binding.signature->CheckInputs(inputs, symbols_));
  TVMVM_CHECK_OK(CheckOutputs(outputs));
  if (has_policy_) [[unlikely]]
    TrimBefore();
  run.Begin(deadline_ns, cancel);
  Status status;
  if (cpu == nullptr || !devices.empty()) status = OpenQueues();
  if (status) status = Begin(inputs, outputs);
  if (status) {
    Interpret(*this, frames.code);
    if (!devices.empty() && !run.failed()) WaitForDevices(nullptr);
    status = run.failed() ? Status(tl::unexpected(run.error())) : Collect(outputs);
  }
  // Also of a run that waited for memory when it was cancelled.
  if (!status && status.error().code == Code::kOutOfMemory && run.TakeCancel())
    status = MakeError(Code::kCancelled, "cancelled");
  if (const auto* is_cut = program.derived->is_cut; is_cut != nullptr && *is_cut) [[unlikely]]
    status = tl::unexpected(FileWasCut());
  End();
  if (has_policy_ || memory.budget.account().is_awaited()) [[unlikely]]
    TrimAfter();
  return status;
}

Status Machine::CheckOutputs(const Results& outputs) const {
  const std::vector<ParameterSpec>& wanted = program.main().outputs;
  if (outputs.size() != wanted.size()) [[unlikely]]
    return tl::unexpected(WrongCount(outputs.size(), wanted.size()));
  for (uint32_t k = 0; k < wanted.size(); ++k) {
    const TypeSpec& type = wanted[k].type;
    const bool may_be_tensor = type.kind == ValueKind::kTensor || type.kind == ValueKind::kOptional;
    if (!outputs.are_values() && !may_be_tensor) [[unlikely]]
      return tl::unexpected(WrongOutput(k, type, nullptr));
    const Tensor* given = outputs.tensor(k);
    if (type.kind != ValueKind::kTensor || given == nullptr) continue;
    if (given->dtype() != type.dtype || !Signature::CheckMemory(*given)) [[unlikely]]
      return tl::unexpected(WrongOutput(k, type, given));
  }
  return {};
}

Error Machine::WrongOutput(uint32_t number, const TypeSpec& type, const Tensor* given) const {
  std::string text = OutputName(program, number);
  if (given == nullptr)
    text += " is no tensor: run the program with values";
  else if (given->dtype() != type.dtype)
    text += ": memory for " + std::string(DTypeName(given->dtype())) + " given, the result is " +
            std::string(DTypeName(type.dtype));
  else
    text += ": its memory is null or its shape impossible";
  return {Code::kInvalidArgument, std::move(text)};
}

Status Machine::OpenQueues() {
  if (cpu == nullptr) {
    TVMVM_TRY(cpu, binding.devices[0]->NewQueue());
  }
  for (const std::unique_ptr<DeviceWork>& work : devices) {
    const Status opened = work != nullptr ? work->Open(&run) : Status();
    if (opened) continue;
    FailWork(*this, nullptr, opened.error());
    return tl::unexpected(run.error());
  }
  return {};
}

Status Machine::Begin(const Arguments& inputs, const Results& outputs) {
  if (run.is_stop_requested() && !run.PollBeforeWork(nullptr)) [[unlikely]]
    return tl::unexpected(run.error());
  if (!memory.pool.late().GiveBack()) [[unlikely]] {
    run.FailStopped(nullptr);
    return tl::unexpected(run.error());
  }
  has_given_outputs_ = false;
  for (size_t k = 0; k < outputs.size(); ++k) {
    given_outputs[k] =
        program.main().outputs[k].type.kind == ValueKind::kTensor ? outputs.tensor(k) : nullptr;
    given_memory_[k] = {};
    if (given_outputs[k] == nullptr) continue;
    has_given_outputs_ = true;
    const auto begin = reinterpret_cast<uintptr_t>(given_outputs[k]->data());  // 0 on a device
    if (begin != 0)
      given_memory_[k] = {begin, begin + static_cast<uintptr_t>(given_outputs[k]->byte_count())};
  }
  if (has_given_outputs_ && outputs.size() > 1) TVMVM_CHECK_OK(CheckOutputsApart());
  if (!devices.empty()) FindResidents(inputs);
  if (!PushFrame(program.function(binding.entry), nullptr)) return tl::unexpected(run.error());
  return BindInputs(inputs);
}

void Machine::TakeResults(const uint32_t* list) {
  for (uint32_t k = 0; k < list[0]; ++k) {
    results_[k] = frames.refs[list[1 + k]];
    ObjectPool::Retain(results_[k]);
  }
}

void Machine::Abandon() noexcept {
  for (const std::unique_ptr<DeviceWork>& work : devices)
    if (work != nullptr) work->Drop();
  End();
}

void Machine::End() {
  for (const std::unique_ptr<DeviceWork>& work : devices)
    if (work != nullptr) work->Abandon();
  for (Object*& result : results_) {
    memory.pool.Release(result);
    result = nullptr;
  }
  for (Value& value : staged_)
    if (!value.is_none()) value = Value();
  while (frames.depth() > 0) frames.Pop();
  run.End();
}

}  // namespace tvmvm
