// A program given as text, with x: i64[1] and y: i64[1], and what runs it, through the C interface.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tvm-vm/assembler.h"
#include "tvm-vm/c_api.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::testing {

// The message of a status, which is freed; "" when all is well.
inline std::string Take(tvmvm_status* status) {
  std::string message = tvmvm_status_message(status);
  if (tvmvm_status_code(status) != TVMVM_OK && message.empty()) message = "no message";
  tvmvm_status_free(status);
  return message;
}

class CSession {
 public:
  static std::vector<std::byte> BytesOf(std::string_view text) {
    auto assembled = Assemble(text);
    EXPECT_TRUE(assembled) << assembled.error().message;
    return assembled ? *SerializeProgram(**assembled) : std::vector<std::byte>();
  }

  explicit CSession(std::string_view text) {
    const std::vector<std::byte> bytes = BytesOf(text);
    EXPECT_EQ(Take(tvmvm_program_load_from_memory(bytes.data(), bytes.size(), &program)), "");
    EXPECT_EQ(Take(tvmvm_vm_create(program, nullptr, &vm)), "");
    EXPECT_EQ(Take(tvmvm_invocation_create(vm, &invocation)), "");
  }
  ~CSession() {
    tvmvm_invocation_free(invocation);
    tvmvm_vm_free(vm);
    tvmvm_program_free(program);
  }
  CSession(const CSession&) = delete;
  CSession& operator=(const CSession&) = delete;

  // What the run says; `y` is the result where all is well.
  std::string Run(int64_t x, const tvmvm_run_options* options = nullptr) {
    const int64_t dims[] = {1};
    tvmvm_tensor* inputs[] = {nullptr};
    tvmvm_tensor* outputs[] = {nullptr};
    EXPECT_EQ(Take(tvmvm_tensor_borrow(TVMVM_I64, dims, 1, &x, inputs)), "");
    const std::string message = Take(tvmvm_invocation_run_with(invocation, options, inputs, 1, outputs, 1));
    if (outputs[0] != nullptr) y = *static_cast<const int64_t*>(tvmvm_tensor_data(outputs[0]));
    tvmvm_tensor_free(inputs[0]);
    tvmvm_tensor_free(outputs[0]);
    return message;
  }

  tvmvm_program* program = nullptr;
  tvmvm_vm* vm = nullptr;
  tvmvm_invocation* invocation = nullptr;
  int64_t y = 0;
};

}  // namespace tvmvm::testing
