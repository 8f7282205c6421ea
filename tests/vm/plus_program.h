// Programs with a kernel that adds a scalar, for tests of whose kernels run.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <vector>

#include "tests/vm/text_program.h"

namespace tvmvm::testing {

// buffers[1] = buffers[0] + scalars[0], all i64.
inline int32_t PlusKernel(const KernelArgs* args, int64_t, int64_t) {
  *static_cast<int64_t*>(args->buffers[1]) = *static_cast<int64_t*>(args->buffers[0]) + args->scalars[0];
  return 0;
}

// With libraries that hold no code, for CPUs and for OpenCL: functions of the bitcode are those of a test's
// JIT.
inline std::shared_ptr<Program> ProgramOf(std::string_view text) {
  auto assembled = Assemble(text);
  EXPECT_TRUE(assembled) << assembled.error().message;
  auto program = std::make_shared<Program>(**assembled);
  static const std::vector<std::byte> bitcode(64, std::byte{1}), source(64, std::byte{2});
  program->libraries = {{DeviceKind::kCpu, KernelForm::kBitcode, "host", bitcode},
                        {DeviceKind::kOpenCl, KernelForm::kOpenClC, "opencl", source}};
  return program;
}

}  // namespace tvmvm::testing
