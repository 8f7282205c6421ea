// Models compiled for GPUs, each with inputs, for tests that make calls of drivers fail.
#pragma once

#include "tests/faults/faulty_models.h"

namespace tvmvm::testing {

// `device`: a kind of GPUs ("vulkan"). Null after a test failure.
FaultyModel MakeGpuModel(const std::string& name, const std::string& device);
std::vector<std::string> GpuModelNames();  // none where this build has no compiler

}  // namespace tvmvm::testing
