#include "vm/binding/stand_ins.h"

#include "bytecode/encoding.h"

namespace tvmvm {
namespace {

// What is done with the value at an offset.
struct Usage {
  int copies_in = 0, copies_out = 0;  // from an input, to an output, as a whole
  uint32_t input = 0, output = 0;
  uint32_t copied_out_at = 0;  // word
  bool is_copied_to = false;   // in another way
  bool is_written = false;     // by a kernel
  bool escapes = false;        // the offset is a number to somebody
};

class Scan {
 public:
  Scan(const Program& program, const FunctionSpec& function, const Residency& residency,
       const std::vector<Extent>& extents)
      : program_(program),
        function_(function),
        residency_(residency),
        extents_(extents),
        usages_(extents.size()),
        output_of_(function.ref_registers, UINT32_MAX) {
    ForEachInstruction(function.code, [this](const DecodedInstruction& instruction) { See(instruction); });
  }

  uint32_t StandIn(uint32_t offset) const {
    const Usage& u = usages_[offset];
    if (extents_[offset].arena == Extent::kUnknown || u.escapes || u.is_copied_to) return 0;
    if (u.copies_in == 1 && !u.is_written) return 1 + u.input;
    if (u.copies_in > 0 || u.copies_out != 1 || u.copied_out_at < epilogue_) return 0;
    return 1 + static_cast<uint32_t>(function_.inputs.size()) + u.output;
  }

 private:
  void See(const DecodedInstruction& instruction) {
    const Opcode opcode = instruction.info->opcode;
    const bool may_end = opcode == Opcode::kCopy || opcode == Opcode::kOutput || opcode == Opcode::kRelease ||
                         opcode == Opcode::kReturn;
    if (!may_end) epilogue_ = instruction.word + instruction.words;
    if (opcode == Opcode::kOutput)
      output_of_[static_cast<size_t>(instruction.operand(0).value)] =
          static_cast<uint32_t>(instruction.operand(1).value);
    if (opcode == Opcode::kCopy) return SeeCopy(instruction);
    for (size_t i = 0; i < instruction.operand_count; ++i) {
      const DecodedOperand& operand = instruction.operand(i);
      if (operand.kind == OperandKind::kScalarSrc) usages_[static_cast<size_t>(operand.value)].escapes = true;
      if (operand.kind == OperandKind::kScalarList)
        for (uint32_t reg : operand.list) usages_[reg].escapes = true;
      if (operand.kind == OperandKind::kBufferList) SeeBuffers(instruction, operand);
    }
  }

  void SeeBuffers(const DecodedInstruction& instruction, const DecodedOperand& buffers) {
    const bool is_launch = instruction.info->opcode == Opcode::kLaunch;
    for (size_t i = 0; i < buffers.list_size(); ++i) {
      const BufferOperand buffer = buffers.buffer(i);
      if (buffer.is_constant() || buffer.offset == BufferOperand::kNoOffset) continue;
      const bool is_read = is_launch && !IsWritten(program_.kernels[instruction.operand(0).value].buffers[i]);
      if (!is_read) usages_[buffer.offset].is_written = true;
    }
  }

  void SeeCopy(const DecodedInstruction& copy) {
    const BufferOperand to = copy.operand(0).buffer(0), from = copy.operand(0).buffer(1);
    const auto size = static_cast<uint32_t>(copy.operand(1).value);
    auto is_whole = [&](BufferOperand value) {
      const Extent& extent = extents_[value.offset];
      return extent.arena == value.base && extent.size == size;
    };
    auto has_offset = [](BufferOperand operand) {
      return !operand.is_constant() && operand.offset != BufferOperand::kNoOffset;
    };
    if (has_offset(to)) {
      Usage& u = usages_[to.offset];
      const bool is_input = !from.is_constant() && !has_offset(from) && from.base < function_.inputs.size() &&
                            residency_.inputs[from.base];
      if (is_input && is_whole(to)) {
        ++u.copies_in;
        u.input = from.base;
      } else {
        u.is_copied_to = true;
      }
    } else if (has_offset(from) && is_whole(from) && output_of_[to.base] != UINT32_MAX &&
               residency_.outputs[output_of_[to.base]]) {
      Usage& u = usages_[from.offset];
      ++u.copies_out;
      u.output = output_of_[to.base];
      u.copied_out_at = copy.word;
    }
  }

  const Program& program_;
  const FunctionSpec& function_;
  const Residency& residency_;
  const std::vector<Extent>& extents_;
  std::vector<Usage> usages_;        // by scalar register
  std::vector<uint32_t> output_of_;  // by reference register
  uint32_t epilogue_ = 0;            // the word from which on only results are handed out
};

}  // namespace

std::vector<uint32_t> StandInsOf(const Program& program, const FunctionSpec& function,
                                 const Residency& residency, const std::vector<Extent>& extents) {
  const Scan scan(program, function, residency, extents);
  std::vector<uint32_t> stand_ins;
  for (uint32_t offset = 0; offset < extents.size(); ++offset) stand_ins.push_back(scan.StandIn(offset));
  return stand_ins;
}

}  // namespace tvmvm
