// Programs whose one kernel is in the library of hostile ones.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "tests/devices/kernel_files.h"
#include "tests/sanitizer.h"
#include "tests/vm/text_program.h"
#include "tvm-vm/sandbox.h"

namespace tvmvm::testing {

// x: i64[8] -> y: i64[8], by the kernel of that name.
inline std::shared_ptr<const Program> HostileProgram(const std::string& kernel,
                                                     const std::string& library = "hostile") {
  auto assembled = Assemble("entry @main\nkernel @k cpu symbol \"" + kernel +
                            "\" scalars 0 buffers [read, write] errors [\"it failed\"]\n" + R"(
func @main("x": i64[8]) -> ("y": i64[8]) frame 3, 2 {
  i0 = const 0
  i1 = const 1
  i2 = const 8
  r1 = output 0, [i2]
  launch @k, 0, [i2, i1, i1, i0, i0, i0], [], [r0, r1]
  return [], [r1]
}
)");
  EXPECT_TRUE(assembled) << assembled.error().message;
  if (!assembled) return nullptr;
  static std::map<std::string, std::vector<std::byte>> libraries;
  std::vector<std::byte>& bytes = libraries[library];
  if (bytes.empty()) bytes = ReadKernelLibrary(library);
  EXPECT_FALSE(bytes.empty()) << library;
  auto program = std::make_shared<Program>(**assembled);
  program->libraries.push_back({DeviceKind::kCpu, KernelForm::kSharedObject, "host", bytes});
  return program;
}

// A sanitizer wants calls and memory that the runner, which has it too, may not have.
#define TVMVM_SKIP_IF_SANITIZED() \
  if (kSanitized) GTEST_SKIP() << "sanitizers do not live in the sandbox"

}  // namespace tvmvm::testing
