// Checks of what each opcode demands of its operands together.
#include "bytecode/format_text.h"
#include "bytecode/host_functions.h"
#include "bytecode/output_operand.h"
#include "bytecode/verifier/checks.h"
#include "tvm-vm/shape.h"

namespace tvmvm::verifier {
namespace {

using Context = FunctionContext;
using Instruction = DecodedInstruction;

// `given` things of a kind against the number wanted by `who`.
Status Count(const Context& context, const Instruction& instruction, std::string_view what, size_t given,
             const std::string& who, size_t wanted) {
  if (given == wanted) return {};
  return context.Fail(instruction, FormatText("{} {} given, {} takes {}", given, what, who, wanted));
}

Status Return(const Context& context, const Instruction& instruction) {
  const FunctionSpec& function = context.function;
  std::string who = FormatText("the signature of '{}'", function.name);
  TVMVM_CHECK_OK(Count(context, instruction, "scalars", instruction.operand(0).list_size(), who,
                       function.scalar_outputs));
  return Count(context, instruction, "references", instruction.operand(1).list_size(), who,
               function.outputs.size());
}

Status Call(const Context& context, const Instruction& instruction) {
  const FunctionSpec& callee = context.program.functions[instruction.operand(0).value];
  std::string who = FormatText("function '{}'", callee.name);
  std::string results = FormatText("the result of '{}'", callee.name);
  TVMVM_CHECK_OK(
      Count(context, instruction, "scalars", instruction.operand(1).list_size(), who, callee.scalar_inputs));
  TVMVM_CHECK_OK(Count(context, instruction, "references", instruction.operand(2).list_size(), who,
                       callee.inputs.size()));
  TVMVM_CHECK_OK(Count(context, instruction, "scalar destinations", instruction.operand(3).list_size(),
                       results, callee.scalar_outputs));
  return Count(context, instruction, "reference destinations", instruction.operand(4).list_size(), results,
               callee.outputs.size());
}

Status Plan(const Context& context, const Instruction& instruction) {
  int64_t plan = instruction.operand(0).value;
  size_t values = context.program.plans[plan].values.size();
  std::string who = FormatText("plan p{}", plan);
  TVMVM_CHECK_OK(Count(context, instruction, "sizes", instruction.operand(1).list_size(), who, values));
  return Count(context, instruction, "offset destinations", instruction.operand(3).list_size(), who, values);
}

// The queue of a device.
Status Device(const Context& context, const Instruction& instruction, size_t operand) {
  const int64_t queue = instruction.operand(operand).value;
  const size_t devices = context.program.devices.size();
  if (static_cast<size_t>(queue) < devices) return {};
  return context.Fail(instruction,
                      FormatText("queue {} is of no device, the last one is {}", queue, devices - 1));
}

Status Slots(const Context& context, const Instruction& instruction) {
  const int64_t plan = instruction.operand(2).value;
  const size_t values = context.program.plans[plan].values.size(), kept = SlotsKept(instruction);
  TVMVM_CHECK_OK(Device(context, instruction, 3));
  if (kept > values)
    return context.Fail(instruction,
                        FormatText("{} slots are named, plan p{} has {} values", kept, plan, values));
  const size_t made = values - kept;
  TVMVM_CHECK_OK(Count(context, instruction, "sizes", instruction.operand(4).list_size(),
                       FormatText("plan p{}{}", plan, kept > 0 ? " beside the slots" : ""), made));
  const int64_t first = instruction.operand(1).value;
  if (static_cast<size_t>(first) + made <= context.function.slots) return {};
  return context.Fail(instruction, FormatText("{} slots from s{} on are out of range, the frame has {}", made,
                                              first, context.function.slots));
}

// Memory where slots may lie, and slots that lie somewhere, as wholes.
Status SlotsAmong(const Context& context, const Instruction& instruction) {
  const DecodedOperand& among = instruction.operand(5);
  for (size_t i = 0; i < among.list_size(); ++i)
    if (among.buffer(i).is_constant() || among.buffer(i).offset != BufferOperand::kNoOffset)
      return context.Fail(instruction, FormatText("buffer {} is no register and no slot as a whole", i));
  if (among.list_size() == SlotsKept(instruction))
    return context.Fail(instruction, "no register is listed in whose memory slots may lie");
  return Slots(context, instruction);
}

// What a slot stands for: a tensor among the function's inputs or outputs.
Status StandsFor(const Context& context, const Instruction& instruction, std::string_view role,
                 const std::vector<ParameterSpec>& parameters) {
  const auto number = static_cast<size_t>(instruction.operand(1).value);
  if (number >= parameters.size())
    return context.Fail(instruction, FormatText("{} {} does not exist, the function has {}", role, number,
                                                parameters.size()));
  if (parameters[number].type.kind == ValueKind::kTensor) return {};
  return context.Fail(instruction, FormatText("{} {} is no tensor", role, number));
}

Status Rank(const Context& context, const Instruction& instruction, size_t operand) {
  size_t rank = instruction.operand(operand).list_size();
  if (rank <= kMaxRank) return {};
  return context.Fail(instruction, FormatText("rank {}, at most {}", rank, kMaxRank));
}

Status Output(const Context& context, const Instruction& instruction) {
  const auto word = static_cast<uint32_t>(instruction.operand(1).value);
  const std::vector<ParameterSpec>&outputs = context.function.outputs, &inputs = context.function.inputs;
  const OutputOperand operand =
      outputs.empty() ? OutputOperand{word, std::nullopt} : OutputOperand::Of(word, outputs.size());
  if (operand.output >= outputs.size())
    return context.Fail(instruction, FormatText("output {} does not exist, the function has {}",
                                                operand.output, outputs.size()));
  if (operand.donor && *operand.donor >= inputs.size())
    return context.Fail(instruction, FormatText("input {} does not exist, the function has {}",
                                                *operand.donor, inputs.size()));
  const TypeSpec& type = outputs[operand.output].type;
  if (type.kind != ValueKind::kTensor)
    return context.Fail(instruction, FormatText("output {} is no tensor", operand.output));
  if (operand.donor) {
    // Only a tensor has a dtype.
    if (inputs[*operand.donor].type.dtype != type.dtype || type.dtype == DType::kString)
      return context.Fail(instruction,
                          FormatText("input {} and output {} are no tensors of one type of numbers",
                                     *operand.donor, operand.output));
  }
  return Rank(context, instruction, 2);
}

Status Axis(const Context& context, const Instruction& instruction) {
  int64_t axis = instruction.operand(2).value;
  if (axis < kMaxRank) return {};
  return context.Fail(instruction, FormatText("axis {}, at most {}", axis, kMaxRank - 1));
}

// Load and store move one number of whole bytes.
Status Element(const Context& context, const Instruction& instruction, size_t operand) {
  auto dtype = static_cast<DType>(instruction.operand(operand).value);
  if (dtype != DType::kString && !IsComplex(dtype) && !IsSubByte(dtype)) return {};
  return context.Fail(instruction,
                      FormatText("an element of {} does not fit a scalar register", DTypeName(dtype)));
}

Status Writable(const Context& context, const Instruction& instruction, size_t operand, size_t position) {
  BufferOperand buffer = instruction.operand(operand).buffer(position);
  if (!buffer.is_constant()) return {};
  return context.Fail(instruction,
                      FormatText("buffer {} is written and is constant c{}", position, buffer.index()));
}

Status Launch(const Context& context, const Instruction& instruction) {
  const KernelSpec& kernel = context.program.kernels[instruction.operand(0).value];
  std::string who = FormatText("kernel '{}'", kernel.name);
  TVMVM_CHECK_OK(Device(context, instruction, 1));
  const DeviceSpec& device = context.program.devices[instruction.operand(1).value];
  if (device.device_class != kernel.device)
    return context.Fail(instruction, FormatText("{} runs on a device of class {}, queue {} is that of {}",
                                                who, DeviceClassName(kernel.device),
                                                instruction.operand(1).value, DeviceSpecName(device)));
  if (instruction.operand(2).list_size() != kLaunchGridSize)
    TVMVM_CHECK_OK(Count(context, instruction, "shape scalars", instruction.operand(2).list_size(),
                         "a launch", kLaunchShapeSize));
  TVMVM_CHECK_OK(
      Count(context, instruction, "scalars", instruction.operand(3).list_size(), who, kernel.scalar_count));
  TVMVM_CHECK_OK(
      Count(context, instruction, "buffers", instruction.operand(4).list_size(), who, kernel.buffers.size()));
  for (size_t i = 0; i < kernel.buffers.size(); ++i)
    if (IsWritten(kernel.buffers[i])) TVMVM_CHECK_OK(Writable(context, instruction, 4, i));
  return {};
}

Status Copy(const Context& context, const Instruction& instruction) {
  TVMVM_CHECK_OK(Count(context, instruction, "buffers", instruction.operand(0).list_size(), "a copy", 2));
  return Writable(context, instruction, 0, 0);
}

Status Fill(const Context& context, const Instruction& instruction) {
  TVMVM_CHECK_OK(Count(context, instruction, "buffers", instruction.operand(0).list_size(), "a fill", 1));
  int64_t value = instruction.operand(2).value;
  if (value > 255) return context.Fail(instruction, FormatText("{} is no byte value", value));
  return Writable(context, instruction, 0, 0);
}

Status HostCall(const Context& context, const Instruction& instruction) {
  const std::span<const HostSignature> library = HostSignatures();
  const auto number = static_cast<size_t>(instruction.operand(0).value);
  if (number >= library.size())
    return context.Fail(instruction, FormatText("host function {} does not exist, the library has {}", number,
                                                library.size()));
  const HostSignature& function = library[number];
  // As many as wanted, or as many as the call gives.
  auto check = [&](size_t operand, std::string_view what, uint32_t wanted) -> Status {
    if (wanted == HostSignature::kAny) return {};
    return Count(context, instruction, what, instruction.operand(operand).list_size(),
                 FormatText("'{}'", function.name), wanted);
  };
  const uint32_t results = function.ref_results != HostSignature::kAny
                               ? function.ref_results
                               : static_cast<uint32_t>(instruction.operand(2).list_size());
  TVMVM_CHECK_OK(check(1, "scalars", function.scalars));
  TVMVM_CHECK_OK(check(2, "references", function.refs));
  TVMVM_CHECK_OK(check(3, "scalar destinations", function.scalar_results));
  return check(4, "reference destinations", results);
}

}  // namespace

Status VerifyUse(const FunctionContext& context, const DecodedInstruction& instruction) {
  switch (instruction.info->opcode) {
    case Opcode::kReturn:
      return Return(context, instruction);
    case Opcode::kCall:
      return Call(context, instruction);
    case Opcode::kPlan:
      return Plan(context, instruction);
    case Opcode::kOutput:
      return Output(context, instruction);
    case Opcode::kAllocate:
      return Rank(context, instruction, 2);
    case Opcode::kArenaOn:
      return Device(context, instruction, 1);
    case Opcode::kAllocateOn:
      TVMVM_CHECK_OK(Device(context, instruction, 1));
      return Rank(context, instruction, 3);
    case Opcode::kView:
      return Rank(context, instruction, 4);
    case Opcode::kDim:
      return Axis(context, instruction);
    case Opcode::kLoad:
      return Element(context, instruction, 3);
    case Opcode::kStore:
      return Element(context, instruction, 2);
    case Opcode::kLaunch:
      return Launch(context, instruction);
    case Opcode::kCopy:
      return Copy(context, instruction);
    case Opcode::kFill:
      return Fill(context, instruction);
    case Opcode::kWait:
      return Device(context, instruction, 0);
    case Opcode::kHostCall:
      return HostCall(context, instruction);
    case Opcode::kSlots:
      return Slots(context, instruction);
    case Opcode::kSlotsAmong:
      return SlotsAmong(context, instruction);
    case Opcode::kSlotInput:
      return StandsFor(context, instruction, "input", context.function.inputs);
    case Opcode::kSlotOutput:
      return StandsFor(context, instruction, "output", context.function.outputs);
    case Opcode::kSlotView:
      return Rank(context, instruction, 4);
    case Opcode::kSlotLoad:
      return Element(context, instruction, 3);
    case Opcode::kSlotStore:
      return Element(context, instruction, 2);
    default:
      return {};  // the operands' kinds say it all
  }
}

}  // namespace tvmvm::verifier
