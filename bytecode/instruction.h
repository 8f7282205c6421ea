// The instruction set's static description, generated from opcodes.def, and how instructions are laid out in
// words.
//
// An instruction is a run of 32-bit words: the first holds the opcode in its low 8 bits and the number of
// words of the whole instruction in the upper 24; the operands follow in the order of the opcode's row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tvmvm {

enum class Opcode : uint8_t {
#define OP(name, mnemonic, operands, effect, meaning) k##name,
#include "bytecode/opcodes.def"
#undef OP
};

enum class OperandKind : uint8_t {
  kScalarDst,
  kScalarSrc,
  kRefDst,
  kRefSrc,
  kImmediate,
  kTarget,
  kFunction,
  kKernel,
  kConstant,
  kPlan,
  kString,
  kDType,
  kIndex,
  kScalarList,
  kRefList,
  kScalarDstList,
  kRefDstList,
  kBufferList,
  kSlotDst,
  kSlotSrc,
};

inline constexpr int kOperandKindCount = 20;

// "scalar", "scalar list", "target", ...; a destination reads "scalar destination".
std::string_view OperandKindName(OperandKind kind);
constexpr bool IsList(OperandKind kind) {
  return kind >= OperandKind::kScalarList && kind <= OperandKind::kBufferList;
}
constexpr bool IsDestination(OperandKind kind) {
  return kind == OperandKind::kScalarDst || kind == OperandKind::kRefDst ||
         kind == OperandKind::kScalarDstList || kind == OperandKind::kRefDstList ||
         kind == OperandKind::kSlotDst;
}

// The scalars of a launch's shape list, in this order. The last three are left out where they are the
// kernel's: KernelSpec::scratch_bytes, flops, bytes.
enum class LaunchShapeIndex : uint8_t { kGridX, kGridY, kGridZ, kScratchBytes, kFlops, kBytes };
inline constexpr uint32_t kLaunchGridSize = 3, kLaunchShapeSize = 6;

enum class Effect : uint8_t { kPure, kControl, kCall, kAllocates, kSubmits, kWaits };
std::string_view EffectName(Effect effect);

struct OpcodeInfo {
  Opcode opcode;
  std::string_view name;      // "BranchIf"
  std::string_view mnemonic;  // "branch.if"
  std::span<const OperandKind> operands;
  Effect effect;
  std::string_view meaning;
};

// All opcodes in the order of opcodes.def.
std::span<const OpcodeInfo> Opcodes();
inline const OpcodeInfo& InfoOf(Opcode opcode) { return Opcodes()[static_cast<size_t>(opcode)]; }
std::optional<Opcode> OpcodeFromMnemonic(std::string_view mnemonic);

// One entry of a kBufferList: memory of a reference register, a slot or a constant, plus a byte offset.
struct BufferOperand {
  static constexpr uint32_t kNoOffset = 0xffffffffu;
  static constexpr uint32_t kConstantBit = 0x80000000u;
  static constexpr uint32_t kSlotBit = 0x40000000u;
  uint32_t base = 0;            // the index of a reference register, or, with its bit set, of another kind
  uint32_t offset = kNoOffset;  // a scalar register that holds the byte offset, or kNoOffset for 0

  bool is_constant() const { return (base & kConstantBit) != 0; }
  bool is_slot() const { return (base & (kConstantBit | kSlotBit)) == kSlotBit; }
  bool is_register() const { return (base & (kConstantBit | kSlotBit)) == 0; }
  uint32_t index() const { return base & ~(is_constant() ? kConstantBit : kSlotBit); }
};
constexpr BufferOperand SlotOperand(uint32_t slot, uint32_t offset = BufferOperand::kNoOffset) {
  return {slot | BufferOperand::kSlotBit, offset};
}

}  // namespace tvmvm
