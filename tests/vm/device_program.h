// Programs whose entry for GPUs runs on the null device, which keeps bytes and computes nothing.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "devices/null/null_device.h"
#include "tests/vm/text_program.h"

namespace tvmvm::testing {

inline VmOptions WithNull(NullDeviceOptions options = {}) {
  VmOptions vm = TestOptions();
  vm.devices = {CreateNullDevice(options)};
  return vm;
}

// A program over x: i64[2] whose entry for GPUs writes y: i64[2]; there i0 = 0, i1 = 1, i2 = 8, i3 = 16, r0 =
// x, r1 = y; i4... and r2... are free. Its entry for the CPU gives [1, 1].
// `frame`: behind the numbers of registers.
inline std::string Body(std::string_view body, const std::string& frame = "") {
  const std::string signature = "(\"x\": i64[2]) -> (\"y\": i64[2]) frame 20, 10" + frame + " {\n";
  return "entry @main\nentry [1, 0] @gpu\n"
         "kernel @k gpu symbol \"k\" scalars 0 buffers [read, write] errors [\"an index is out of range\"]\n"
         "kernel @whole gpu symbol \"w\" scalars 0 buffers [read, write] aligned [8, 8]\n"
         "kernel @aligned gpu symbol \"a\" scalars 0 buffers [read_aligned, write]\n"
         "kernel @on_cpu cpu symbol \"add\" scalars 1 buffers [read, write]\n"
         "constant c0 \"w\": i64[2] hex \"05000000000000000600000000000000\"\n"
         "func @main" +
         signature +
         "  i0 = const 0\n  i1 = const 1\n  i2 = const 8\n  i3 = const 2\n  r1 = output 0, [i3]\n"
         "  store r1, i0, i64, i1\n  store r1, i2, i64, i1\n  return [], [r1]\n}\n"
         "func @gpu" +
         signature +
         "  i0 = const 0\n  i1 = const 1\n  i2 = const 8\n  i3 = const 16\n  i4 = const 2\n"
         "  r1 = output 0, [i4]\n  node \"/m (M)\"\n" +
         std::string(body) + "  return [], [r1]\n}\n";
}

inline std::string RunOn(const VmOptions& options, const std::string& text,
                         std::vector<int64_t>* numbers = nullptr) {
  auto vm = VmFromText(text, options);
  if (!vm) return "no vm";
  std::array inputs{Ints({3, 4})};
  std::array outputs{Tensor()};
  Status status = vm->NewInvocation().Run(inputs, outputs);
  if (status && numbers != nullptr) *numbers = ToInts(outputs[0]);
  return TextOf(status);
}

inline std::vector<int64_t> Numbers(std::string_view body, const VmOptions& options = WithNull()) {
  std::vector<int64_t> numbers;
  EXPECT_EQ(RunOn(options, Body(body), &numbers), "");
  return numbers;
}

inline std::string ErrorOf(std::string_view body, const VmOptions& options = WithNull()) {
  return RunOn(options, Body(body));
}

inline constexpr const char* kThere = "r2 = arena.on 1, i3\n copy [r2, r0], i3\n";

}  // namespace tvmvm::testing
