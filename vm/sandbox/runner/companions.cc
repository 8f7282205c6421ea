#include "vm/sandbox/runner/companions.h"

#include <string>

#include "bytecode/companion_library.h"
#include "bytecode/encoding.h"
#include "bytecode/host_functions.h"

namespace tvmvm::sandbox {

bool NeedsCompanions(const Program& program) {
  bool needs = false;
  for (const FunctionSpec& function : program.functions)
    ForEachInstruction(function.code, [&](const DecodedInstruction& instruction) {
      if (instruction.info->opcode != Opcode::kHostCall) return;
      const auto called = static_cast<HostFunctionId>(instruction.operand(0).value);
      needs |= called == HostFunctionId::kStringMatch || called == HostFunctionId::kImageDecode;
    });
  return needs;
}

// The runtime opens them by the same paths then, and finds them open.
Status OpenCompanions() {
  std::string error = OpenCompanion(TVMVM_REGEX_LIBRARY, "tvmvm_regex_version", {});
  if (error.empty()) error = OpenCompanion(TVMVM_IMAGE_LIBRARY, "tvmvm_image_version", {});
  if (error.empty()) return {};
  return MakeError(Code::kUnsupported,
                   "the sandboxed process lacks a library that the program needs (" + error + ")");
}

}  // namespace tvmvm::sandbox
