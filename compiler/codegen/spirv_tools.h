// SPIRV-Tools, where the build has it: modules are checked in debug builds and made smaller and faster in all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bytecode/status.h"

namespace tvmvm::codegen {

// What spirv-opt -O makes of a module for Vulkan 1.1; the module itself in a build without SPIRV-Tools.
// Thread-safe. Errors: kInternal with `name` and the tool's message.
Expected<std::vector<uint32_t>> OptimizeSpirv(std::vector<uint32_t> words, const std::string& name);

}  // namespace tvmvm::codegen
