// Checks of operands by kind and range.
#include "bytecode/format_text.h"
#include "bytecode/verifier/checks.h"

namespace tvmvm::verifier {
namespace {

class OperandChecker {
 public:
  OperandChecker(const FunctionContext& context, const DecodedInstruction& instruction)
      : context_(context), instruction_(instruction) {}

  Status Check(const DecodedOperand& operand) const {
    const Program& program = context_.program;
    switch (operand.kind) {
      case OperandKind::kScalarDst:
      case OperandKind::kScalarSrc:
        return Scalar(operand.value);
      case OperandKind::kRefDst:
      case OperandKind::kRefSrc:
        return Reference(operand.value);
      case OperandKind::kFunction:
        return Index("function", operand.value, program.functions.size());
      case OperandKind::kKernel:
        return Index("kernel", operand.value, program.kernels.size());
      case OperandKind::kConstant:
        return Constant(operand.value);
      case OperandKind::kPlan:
        return Index("plan", operand.value, program.plans.size());
      case OperandKind::kString:
        return Index("string", operand.value, program.strings.size());
      case OperandKind::kDType:
        return Dtype(operand.value);
      case OperandKind::kScalarList:
      case OperandKind::kScalarDstList:
        return Scalars(operand);
      case OperandKind::kRefList:
      case OperandKind::kRefDstList:
        return References(operand);
      case OperandKind::kBufferList:
        return Buffers(operand);
      case OperandKind::kSlotDst:
      case OperandKind::kSlotSrc:
        return Slot(operand.value);
      case OperandKind::kImmediate:  // any number
      case OperandKind::kTarget:     // VerifyLayout
      case OperandKind::kIndex:      // VerifyUse: it means something else for each opcode
        return {};
    }
    return {};
  }

 private:
  Status Scalar(int64_t reg) const {
    if (reg < context_.function.scalar_registers) return {};
    return context_.Fail(instruction_, FormatText("scalar register i{} is out of range, the frame has {}",
                                                  reg, context_.function.scalar_registers));
  }

  Status Reference(int64_t reg) const {
    if (reg < context_.function.ref_registers) return {};
    return context_.Fail(instruction_, FormatText("reference register r{} is out of range, the frame has {}",
                                                  reg, context_.function.ref_registers));
  }

  Status Slot(int64_t slot) const {
    if (slot < context_.function.slots) return {};
    return context_.Fail(instruction_, FormatText("slot s{} is out of range, the frame has {}", slot,
                                                  context_.function.slots));
  }

  Status Index(std::string_view what, int64_t index, size_t size) const {
    if (static_cast<size_t>(index) < size) return {};
    return context_.Fail(instruction_,
                         FormatText("{} {} does not exist, the program has {}", what, index, size));
  }

  Status Constant(int64_t number) const {
    const std::vector<ConstantSpec>& constants = context_.program.constants;
    TVMVM_CHECK_OK(Index("constant", number, constants.size()));
    if (!constants[static_cast<size_t>(number)].has_place() || IsLaunchOnDevice()) return {};
    return context_.Fail(instruction_, FormatText("constant c{} has no bytes on the host", number));
  }

  bool IsLaunchOnDevice() const {
    return instruction_.info->opcode == Opcode::kLaunch && instruction_.operand(1).value != kHostDevice;
  }

  Status Dtype(int64_t value) const {
    if (value > 0 && value < kDTypeCount) return {};
    return context_.Fail(instruction_, FormatText("unknown dtype {}", value));
  }

  Status Scalars(const DecodedOperand& operand) const {
    for (uint32_t reg : operand.list) TVMVM_CHECK_OK(Scalar(reg));
    return {};
  }

  Status References(const DecodedOperand& operand) const {
    for (uint32_t reg : operand.list) TVMVM_CHECK_OK(Reference(reg));
    return {};
  }

  Status Buffers(const DecodedOperand& operand) const {
    for (size_t i = 0; i < operand.list_size(); ++i) {
      BufferOperand buffer = operand.buffer(i);
      if (buffer.offset != BufferOperand::kNoOffset) TVMVM_CHECK_OK(Scalar(buffer.offset));
      if (!buffer.is_constant()) {
        TVMVM_CHECK_OK(buffer.is_slot() ? Slot(buffer.index()) : Reference(buffer.base));
        continue;
      }
      TVMVM_CHECK_OK(Constant(buffer.index()));
      if (context_.program.constants[buffer.index()].dtype == DType::kString)
        return context_.Fail(
            instruction_,
            FormatText("buffer {} is constant c{}, whose strings have no bytes", i, buffer.index()));
    }
    return {};
  }

  const FunctionContext& context_;
  const DecodedInstruction& instruction_;
};

}  // namespace

Status VerifyOperands(const FunctionContext& context, const DecodedInstruction& instruction) {
  OperandChecker checker(context, instruction);
  for (const DecodedOperand& operand : instruction.operands()) TVMVM_CHECK_OK(checker.Check(operand));
  return {};
}

}  // namespace tvmvm::verifier
