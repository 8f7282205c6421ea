#include "vm/interpreter/machine.h"

#include "allocator/thread_scratch.h"
#include "vm/interpreter/device_handlers.h"
#include "vm/objects/owned.h"

namespace tvmvm {

Machine::Machine(std::shared_ptr<const Binding> owner, std::shared_ptr<MemoryAccount> account,
                 std::shared_ptr<SharedPlans> plans)
    : binding_owner_(std::move(owner)),
      shared_plans_(std::move(plans)),
      program(*binding_owner_->program),
      binding(*binding_owner_),
      memory(binding.devices[0].get(), program.plans, &run, std::move(account), shared_plans_.get()),
      frames(&memory.pool, &memory.budget.account()),
      run(program, &frames),
      checks(binding),
      given_outputs(program.main().outputs.size()),
      numbers(size_t{2} * binding.longest_list + 8),
      addresses(binding.longest_list + 1),
      places(binding.first_other() ? binding.longest_list + 1 : 0),
      objects(size_t{2} * binding.longest_list + 1),
      results_(program.main().outputs.size()),
      staged_(program.main().outputs.size()),
      symbols_(binding.signature->symbol_count()),
      given_memory_(program.main().outputs.size()) {
  if (!binding.first_other()) return;
  devices.resize(binding.devices.size());
  for (uint32_t number = 1; number < devices.size(); ++number)
    if (Device* device = binding.devices[number].get())
      devices[number] = std::make_unique<DeviceWork>(device, number, &memory.budget.account(), &run);
  memory.SetDevices(devices);
}

Machine::~Machine() {
  End();
  devices.clear();  // before the binding, whose kernels and devices they use
  cpu.reset();
}

void Machine::SetLimits(const Limits& limits) {
  run.SetLimits(limits);
  memory.budget.set_limit(limits.max_bytes);
}

void Machine::Trim() {
  runs_ = 0;
  memory.Trim();
  for (const std::unique_ptr<DeviceWork>& work : devices)
    if (work) work->Trim();
  frames.Trim();
  TrimThreadScratch();
  CollectHost();
}

void Machine::SetTrimPolicy(const TrimPolicy& policy) {
  policy_ = policy;
  has_policy_ = policy.runs > 0 || policy.idle.count() > 0 || policy.held_bytes > 0;
  runs_ = last_end_ns_ = 0;
}

void Machine::TrimBefore() {
  const bool is_late = policy_.idle.count() > 0 && last_end_ns_ != 0 &&
                       SteadyNanoseconds() - last_end_ns_ >= policy_.idle.count();
  if (is_late) Trim();
}

void Machine::TrimAfter() {
  ++runs_;
  const bool is_wanted = memory.budget.account().is_awaited() ||
                         (policy_.runs > 0 && runs_ >= policy_.runs) ||
                         (policy_.held_bytes > 0 && held_bytes() > policy_.held_bytes);
  if (is_wanted) Trim();
  if (policy_.idle.count() > 0) last_end_ns_ = SteadyNanoseconds();
}

std::string Machine::NameOf(BufferOperand operand) const {
  if (operand.is_constant()) return "constant '" + program.constants[operand.index()].name + "'";
  return (operand.is_slot() ? "slot s" : "r") + std::to_string(operand.index());
}

void Machine::FailNoTensor(const uint32_t* pc, uint32_t reg) {
  run.Fail(pc, Code::kInvalidProgram,
           "r" + std::to_string(reg) + (frames.refs[reg] != nullptr ? " holds no tensor" : " holds nothing"));
}

void Machine::FailSlot(const uint32_t* pc, uint32_t number, const Buffer* buffer) {
  const Slot& slot = frames.slots[number];
  const std::string arena = " r" + std::to_string(slot.arena) + ", which ";
  run.Fail(pc, Code::kInvalidProgram,
           "slot s" + std::to_string(number) +
               (buffer == nullptr ? " lies in" + arena + "holds no memory"
                                  : " ends at byte " + std::to_string(slot.offset + slot.bytes) + " of" +
                                        arena + "has " + std::to_string(buffer->bytes)));
}

void Machine::FailPlace(const uint32_t* pc, BufferOperand operand, uint32_t device) {
  run.Fail(pc, Code::kInvalidProgram, PlaceText(NameOf(operand), device));
}

bool Machine::FailShape(const uint32_t* pc, uint32_t rank, const Shape* shape) {
  if (shape == nullptr)
    run.Fail(pc, Code::kUnsupported,
             "rank " + std::to_string(rank) + ", at most " + std::to_string(kMaxRank) + " is possible");
  else
    run.Fail(pc, Code::kInvalidArgument, "a tensor of shape " + shape->ToString() + " cannot be");
  return false;
}

bool Machine::FailOutside(const uint32_t* pc, BufferOperand operand, int64_t offset, int64_t wanted,
                          int64_t bytes) {
  run.Fail(pc, Code::kInvalidArgument,
           std::to_string(wanted) + " bytes at offset " + std::to_string(offset) + " of " + NameOf(operand) +
               ", which has " + std::to_string(bytes) + " bytes");
  return false;
}

const uint32_t* Machine::FailUnaligned(const uint32_t* pc, DType dtype, BufferOperand operand) {
  return run.Fail(pc, Code::kInvalidProgram,
                  "elements of " + std::string(DTypeName(dtype)) + " at offset " +
                      std::to_string(frames.scalars[operand.offset]) + " of " + NameOf(operand) +
                      ", whose address is no multiple of " + std::to_string(ElementAlignment(dtype)));
}

bool Machine::FailUnaligned(const uint32_t* pc, const KernelSpec& kernel, uint32_t buffer,
                            BufferOperand operand) {
  run.Fail(pc, Code::kInvalidProgram,
           "kernel '" + kernel.name + "' is given " + NameOf(operand) + " (buffer " + std::to_string(buffer) +
               ") at an address that is no multiple of " + std::to_string(kernel.alignments[buffer]));
  return false;
}

bool Machine::WaitFor(const uint32_t* pc, uint32_t device) {
  const Expected<std::optional<KernelFailure>> done = devices[device]->Wait(&run);
  if (!done) {
    FailWork(*this, pc, done.error());
    return false;
  }
  if (!done->has_value()) return true;
  const FunctionId function{static_cast<uint32_t>((*done)->tag >> 32)};
  const auto word = static_cast<uint32_t>((*done)->tag);
  const KernelSpec& kernel = program.kernels[program.function(function).code[word + 1]];
  run.FailAt(function, word, Code::kInvalidArgument, KernelFailureText(kernel, (*done)->code));
  return false;
}

bool Machine::WaitForDevices(const uint32_t* pc) {
  for (uint32_t number = 0; number < devices.size(); ++number)
    if (devices[number] != nullptr && !WaitFor(pc, number)) return false;
  return true;
}

bool Machine::WaitForHostMemory(const uint32_t* pc) {
  for (uint32_t number = 0; number < devices.size(); ++number)
    if (devices[number] != nullptr && devices[number]->writes_host() && !WaitFor(pc, number)) return false;
  return true;
}

}  // namespace tvmvm
