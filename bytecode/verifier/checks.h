// The verifier's parts, in the order in which they run: each may rely on what the earlier ones proved.
#pragma once

#include <string>
#include <vector>

#include "bytecode/encoding.h"
#include "bytecode/format_text.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"

namespace tvmvm::verifier {

template <class... Args>
Status Refuse(TextFormat<sizeof...(Args)> format, const Args&... args) {
  return MakeError(Code::kInvalidProgram, FormatText(format, args...));
}

// One function on its way through the checks.
struct FunctionContext {
  const Program& program;
  const FunctionSpec& function;
  std::vector<uint32_t> starts;  // first word of each instruction, ascending; filled by VerifyLayout

  // "@main:12 launch: <what> (node ...)"
  Status Fail(const DecodedInstruction& instruction, std::string_view what) const;
  // The instruction at position `index` of `starts`; only after VerifyLayout.
  DecodedInstruction At(size_t index) const { return *DecodeInstruction(function.code, starts[index]); }
};

// Everything outside code: names, types, kernels, libraries, constants, plans, entry.
Status VerifyTables(const Program& program);
// Frame sizes, and the line table.
Status VerifyFrame(const FunctionContext& context);
// Instructions tile the code; jumps go to instruction starts; the last one does not fall off the end; the
// frame holds no more registers than there are parameters and destinations, unless it is small.
Status VerifyLayout(FunctionContext* context);
// Operands of one instruction by kind and range.
Status VerifyOperands(const FunctionContext& context, const DecodedInstruction& instruction);
// What one opcode demands of its operands together: signatures, list sizes, axes.
Status VerifyUse(const FunctionContext& context, const DecodedInstruction& instruction);
// Every register is assigned before it is read, on all paths.
Status VerifyAssignment(const FunctionContext& context);

}  // namespace tvmvm::verifier
