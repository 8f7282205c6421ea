#include "vm/sandbox/runner/companions.h"

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
  static CompanionLibrary regex("regular expressions", TVMVM_REGEX_LIBRARY, "tvmvm_regex_version");
  static CompanionLibrary image("decoding pictures", TVMVM_IMAGE_LIBRARY, "tvmvm_image_version");
  TVMVM_CHECK_OK(regex.Open({}));
  return image.Open({});
}

}  // namespace tvmvm::sandbox
