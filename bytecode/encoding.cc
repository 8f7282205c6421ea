#include "bytecode/encoding.h"

#include "bytecode/format_text.h"

namespace tvmvm {
namespace {

Status CheckOperand(const OpcodeInfo& info, size_t position, const Operand& operand) {
  OperandKind wanted = info.operands[position];
  if (operand.kind != wanted)
    return MakeError(Code::kInvalidProgram,
                     FormatText("{}: operand {} is of kind {}, wanted {}", info.mnemonic, position,
                                OperandKindName(operand.kind), OperandKindName(wanted)));
  if (wanted == OperandKind::kBufferList && operand.list.size() % 2 != 0)
    return MakeError(Code::kInvalidProgram, FormatText("{}: operand {} has {} words, wanted pairs",
                                                       info.mnemonic, position, operand.list.size()));
  bool one_word = !IsList(wanted) && wanted != OperandKind::kImmediate;
  if (one_word && (operand.value < 0 || operand.value > int64_t{0xffffffff}))
    return MakeError(Code::kInvalidProgram, FormatText("{}: operand {} is {}, which does not fit one word",
                                                       info.mnemonic, position, operand.value));
  return {};
}

void AppendOperand(const Operand& operand, std::vector<uint32_t>* code) {
  if (IsList(operand.kind)) {
    size_t count = operand.kind == OperandKind::kBufferList ? operand.list.size() / 2 : operand.list.size();
    code->push_back(static_cast<uint32_t>(count));
    code->insert(code->end(), operand.list.begin(), operand.list.end());
    return;
  }
  code->push_back(static_cast<uint32_t>(operand.value));
  if (operand.kind == OperandKind::kImmediate)
    code->push_back(static_cast<uint32_t>(static_cast<uint64_t>(operand.value) >> 32));
}

// Reads the operand at the front of `words` and drops its words; false when there are too few.
bool TakeOperand(std::span<const uint32_t>& words, DecodedOperand* operand) {
  if (words.empty()) return false;
  uint32_t first = words[0];
  if (IsList(operand->kind)) {
    uint64_t length = operand->kind == OperandKind::kBufferList ? uint64_t{first} * 2 : first;
    if (length > words.size() - 1) return false;
    operand->list = words.subspan(1, length);
    words = words.subspan(1 + length);
    return true;
  }
  if (operand->kind == OperandKind::kImmediate) {
    if (words.size() < 2) return false;
    operand->value = static_cast<int64_t>(uint64_t{first} | uint64_t{words[1]} << 32);
    words = words.subspan(2);
    return true;
  }
  operand->value = first;
  words = words.subspan(1);
  return true;
}

}  // namespace

Status EncodeInstruction(Opcode opcode, std::span<const Operand> operands, std::vector<uint32_t>* code,
                         std::vector<uint32_t>* operand_words) {
  const OpcodeInfo& info = InfoOf(opcode);
  if (operands.size() != info.operands.size())
    return MakeError(Code::kInvalidProgram, FormatText("{}: {} operands given, wanted {}", info.mnemonic,
                                                       operands.size(), info.operands.size()));
  for (size_t i = 0; i < operands.size(); ++i) TVMVM_CHECK_OK(CheckOperand(info, i, operands[i]));

  size_t start = code->size();
  code->push_back(0);
  for (const Operand& operand : operands) {
    if (operand_words) operand_words->push_back(static_cast<uint32_t>(code->size()));
    AppendOperand(operand, code);
  }
  size_t words = code->size() - start;
  if (words > kMaxInstructionWords) {
    code->resize(start);
    return MakeError(Code::kInvalidProgram, FormatText("{}: {} words, an instruction has at most {}",
                                                       info.mnemonic, words, kMaxInstructionWords));
  }
  (*code)[start] = static_cast<uint32_t>(opcode) | static_cast<uint32_t>(words) << 8;
  return {};
}

Expected<DecodedInstruction> DecodeInstruction(std::span<const uint32_t> code, uint32_t at) {
  uint32_t opcode = code[at] & 0xff;
  uint32_t words = code[at] >> 8;
  if (opcode >= Opcodes().size())
    return MakeError(Code::kInvalidProgram, FormatText("unknown opcode {}", opcode));
  DecodedInstruction instruction;
  instruction.info = &Opcodes()[opcode];
  instruction.word = at;
  instruction.words = words;
  if (words == 0 || words > code.size() - at)
    return MakeError(Code::kInvalidProgram, FormatText("{}: {} words long, but {} are left in the function",
                                                       instruction.info->mnemonic, words, code.size() - at));

  std::span<const uint32_t> rest = code.subspan(at + 1, words - 1);
  for (OperandKind kind : instruction.info->operands) {
    DecodedOperand& operand = instruction.operand_storage[instruction.operand_count++];
    operand.kind = kind;
    operand.word = at + words - static_cast<uint32_t>(rest.size());
    if (!TakeOperand(rest, &operand))
      return MakeError(Code::kInvalidProgram,
                       FormatText("{}: operand {} does not fit the instruction's {} words",
                                  instruction.info->mnemonic, instruction.operand_count - 1, words));
  }
  if (!rest.empty())
    return MakeError(Code::kInvalidProgram,
                     FormatText("{}: {} words too many", instruction.info->mnemonic, rest.size()));
  return instruction;
}

}  // namespace tvmvm
