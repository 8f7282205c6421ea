// Definite assignment. A register is assigned before every read exactly when it is not live at the function's
// entry, so reads are followed backwards, register by register, until assignments stop them. The cost is the
// number of blocks that registers are alive in, which is small: most registers live in one block or are set
// in the entry block.
#include <algorithm>

#include "bytecode/format_text.h"
#include "bytecode/verifier/checks.h"
#include "bytecode/verifier/control_flow.h"

namespace tvmvm::verifier {
namespace {

// Blocks visited for all registers of one function; far above what compiled code needs, it bounds hostile
// files.
constexpr uint64_t kMaxVisits = uint64_t{1} << 26;
constexpr uint32_t kNever = 0xffffffffu;

// Registers of both files and slots in one numbering: scalars first, slots last.
struct RegisterNumbers {
  uint32_t scalars = 0;
  uint32_t references = 0;
  uint32_t slots = 0;
  uint32_t count() const { return scalars + references + slots; }
  uint32_t Slot(int64_t slot) const { return scalars + references + static_cast<uint32_t>(slot); }
  std::string Name(uint32_t reg) const {
    if (reg < scalars) return FormatText("scalar register i{}", reg);
    if (reg < scalars + references) return FormatText("reference register r{}", reg - scalars);
    return FormatText("slot s{}", reg - scalars - references);
  }
};

// Calls `visit(register)` for each register and slot that the operand reads or writes.
template <class Visit>
void ForEachRegister(const DecodedInstruction& instruction, const DecodedOperand& operand,
                     const RegisterNumbers& numbers, Visit visit) {
  switch (operand.kind) {
    case OperandKind::kScalarDst:
    case OperandKind::kScalarSrc:
      visit(static_cast<uint32_t>(operand.value));
      break;
    case OperandKind::kRefDst:
    case OperandKind::kRefSrc:
      visit(numbers.scalars + static_cast<uint32_t>(operand.value));
      break;
    case OperandKind::kScalarList:
    case OperandKind::kScalarDstList:
      for (uint32_t reg : operand.list) visit(reg);
      break;
    case OperandKind::kRefList:
    case OperandKind::kRefDstList:
      for (uint32_t reg : operand.list) visit(numbers.scalars + reg);
      break;
    case OperandKind::kBufferList:
      for (size_t i = 0; i < operand.list_size(); ++i) {
        BufferOperand buffer = operand.buffer(i);
        if (buffer.is_register()) visit(numbers.scalars + buffer.base);
        if (buffer.is_slot()) visit(numbers.Slot(buffer.index()));
        if (buffer.offset != BufferOperand::kNoOffset) visit(buffer.offset);
      }
      break;
    case OperandKind::kSlotDst:
      for (size_t k = 0; k < SlotsSet(instruction); ++k)
        visit(numbers.Slot(operand.value + static_cast<int64_t>(k)));
      break;
    case OperandKind::kSlotSrc:
      visit(numbers.Slot(operand.value));
      break;
    default:
      break;
  }
}

struct Read {
  uint32_t reg, block;
  uint32_t position;  // of the instruction
};
struct Assignment {
  uint32_t reg, block;
};

class AssignmentChecker {
 public:
  explicit AssignmentChecker(const FunctionContext& context)
      : context_(context),
        flow_(context),
        numbers_{context.function.scalar_registers, context.function.ref_registers, context.function.slots} {}

  Status Check() {
    CollectReadsAndAssignments();
    auto by_register = [](const auto& a, const auto& b) { return a.reg < b.reg; };
    std::stable_sort(reads_.begin(), reads_.end(), by_register);
    std::stable_sort(assignments_.begin(), assignments_.end(), by_register);
    visited_.assign(flow_.blocks().size(), kNever);
    assigned_.assign(flow_.blocks().size(), kNever);

    auto assignment = assignments_.begin();
    for (auto read = reads_.begin(); read != reads_.end();) {
      uint32_t reg = read->reg;
      while (assignment != assignments_.end() && assignment->reg < reg) ++assignment;
      for (; assignment != assignments_.end() && assignment->reg == reg; ++assignment)
        assigned_[assignment->block] = reg;
      for (; read != reads_.end() && read->reg == reg; ++read) TVMVM_CHECK_OK(FollowBack(*read));
    }
    return {};
  }

 private:
  bool IsParameter(uint32_t reg) const {
    if (reg < numbers_.scalars) return reg < context_.function.scalar_inputs;
    return reg < numbers_.Slot(0) && reg - numbers_.scalars < context_.function.inputs.size();
  }

  // Reads that no assignment earlier in their block covers, once for each register and block; and which
  // blocks assign which registers.
  void CollectReadsAndAssignments() {
    std::vector<uint32_t> read_in(numbers_.count(), kNever);
    std::vector<uint32_t> assigned_in(numbers_.count(), kNever);
    for (uint32_t block = 0; block < flow_.blocks().size(); ++block) {
      for (uint32_t position = flow_.blocks()[block].begin; position < flow_.blocks()[block].end;
           ++position) {
        DecodedInstruction instruction = context_.At(position);
        for (const DecodedOperand& operand : instruction.operands()) {
          if (IsDestination(operand.kind)) continue;
          ForEachRegister(instruction, operand, numbers_, [&](uint32_t reg) {
            if (assigned_in[reg] == block || read_in[reg] == block || IsParameter(reg)) return;
            read_in[reg] = block;
            reads_.push_back({reg, block, position});
          });
        }
        for (const DecodedOperand& operand : instruction.operands()) {
          if (!IsDestination(operand.kind)) continue;
          ForEachRegister(instruction, operand, numbers_, [&](uint32_t reg) {
            if (assigned_in[reg] == block) return;
            assigned_in[reg] = block;
            assignments_.push_back({reg, block});
          });
        }
      }
    }
  }

  // Walks from a read to all blocks from which it can be reached without an assignment.
  Status FollowBack(const Read& read) {
    if (read.block == 0) return Unassigned(read);
    if (assigned_[0] == read.reg || visited_[read.block] == read.reg) return {};
    visited_[read.block] = read.reg;
    pending_.assign(1, read.block);
    while (!pending_.empty()) {
      uint32_t block = pending_.back();
      pending_.pop_back();
      for (uint32_t from : flow_.predecessors(block)) {
        if (++visits_ > kMaxVisits)
          return Refuse("@{}: its control flow is too large to verify", context_.function.name);
        if (assigned_[from] == read.reg || visited_[from] == read.reg) continue;
        if (from == 0) return Unassigned(read);
        visited_[from] = read.reg;
        pending_.push_back(from);
      }
    }
    return {};
  }

  Status Unassigned(const Read& read) const {
    return context_.Fail(context_.At(read.position),
                         FormatText("{} may be read before it is assigned", numbers_.Name(read.reg)));
  }

  const FunctionContext& context_;
  ControlFlow flow_;
  RegisterNumbers numbers_;
  std::vector<Read> reads_;
  std::vector<Assignment> assignments_;
  std::vector<uint32_t> visited_;   // by block: the last register whose walk came here
  std::vector<uint32_t> assigned_;  // by block: the last register known to be assigned in it
  std::vector<uint32_t> pending_;
  uint64_t visits_ = 0;
};

}  // namespace

Status VerifyAssignment(const FunctionContext& context) { return AssignmentChecker(context).Check(); }

}  // namespace tvmvm::verifier
