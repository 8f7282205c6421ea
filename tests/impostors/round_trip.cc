// Text to a program, to bytes, to a program, to a result, and back to text.
#include <array>
#include <cstdio>

#include "tests/program_texts.h"
#include "tvm-vm/assembler.h"
#include "tvm-vm/vm.h"
#include "tvm-vm/vmexe.h"

namespace {

tvmvm::Expected<int64_t> AddOne(int64_t x) {
  TVMVM_TRY(auto assembled, tvmvm::Assemble(tvmvm::testing::kAddOne));
  TVMVM_TRY(const std::vector<std::byte> bytes, tvmvm::SerializeProgram(*assembled));
  TVMVM_TRY(auto program, tvmvm::LoadProgramFromMemory(bytes));
  TVMVM_TRY(auto vm, tvmvm::Vm::Create(program, {.threads = 1}));
  int64_t y = 0;
  const std::array inputs = {tvmvm::Tensor::Borrow(tvmvm::DType::kI64, {1}, &x)};
  std::array outputs = {tvmvm::Tensor::Borrow(tvmvm::DType::kI64, {1}, &y)};
  TVMVM_CHECK_OK(vm->NewInvocation().Run(inputs, outputs));
  if (tvmvm::Disassemble(*program) != tvmvm::Disassemble(*assembled))
    return tvmvm::MakeError(tvmvm::Code::kInternal, "the program's text changed");
  return y;
}

}  // namespace

int main() {
  const tvmvm::Expected<int64_t> sum = AddOne(41);
  if (!sum) std::puts(sum.error().message.c_str());
  return sum && *sum == 42 ? 0 : 1;
}
