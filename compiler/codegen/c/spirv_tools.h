// SPIRV-Tools, where the build has it: debug builds check every module, and that its optimizer takes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tvm-vm/status.h"

namespace tvmvm::codegen {

// Whether a module is valid for Vulkan 1.1, as it is and after spirv-opt -O. Drivers get the module as it is:
// they optimize it themselves, no slower code came of it on NVIDIA's. Thread-safe. Errors: kInternal with
// `name` and the tool's message; none in a build without SPIRV-Tools.
Status CheckSpirv(const std::vector<uint32_t>& words, const std::string& name);

}  // namespace tvmvm::codegen
