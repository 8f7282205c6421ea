// Text to a program, to bytes, to a program, to a result, and back to text.
#include <array>
#include <cstdio>

#include "tvm-vm/assembler.h"
#include "tvm-vm/vm.h"
#include "tvm-vm/vmexe.h"

namespace {

constexpr std::string_view kText = R"---(
entry @main
func @main("x": i64[1]) -> ("y": i64[1]) frame 3, 2 {
  i0 = const 0
  i1 = const 1
  r1 = output 0, [i1]
  i2 = load r0, i0, i64
  i2 = add i2, i1
  store r1, i0, i64, i2
  return [], [r1]
}
)---";

tvmvm::Expected<int64_t> AddOne(int64_t x) {
  TVMVM_TRY(auto assembled, tvmvm::Assemble(kText));
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
