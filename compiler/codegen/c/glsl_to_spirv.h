// GLSL -> SPIR-V 1.3 for Vulkan 1.1, by glslang where the build has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tvm-vm/status.h"

namespace tvmvm::codegen {

// A compute shader's module with the entry point "main". Thread-safe. Errors: kUnsupported in a build without
// glslang; kInternal with `name` and the compiler's message.
Expected<std::vector<uint32_t>> GlslToSpirv(const std::string& text, const std::string& name);

}  // namespace tvmvm::codegen
