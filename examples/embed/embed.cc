// The VM inside a program: load once, then run at any shape, with results in the program's own memory.
//
// usage: embed demo.vmexe      (the model of examples/make_demo_model, x[batch, length, 64] -> y of the same
// shape)
#include <tvm-vm/vm.h>
#include <tvm-vm/vmexe.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

constexpr int64_t kWidth = 64;

// Runs one batch. The Invocation keeps its memory from call to call; a call with dims seen before allocates
// nothing.
tvmvm::Status RunOnce(tvmvm::Invocation& invocation, int64_t batch, int64_t length) {
  const tvmvm::Shape shape{batch, length, kWidth};
  std::vector<float> x(static_cast<size_t>(batch * length * kWidth)), y(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));

  const std::array inputs = {tvmvm::Tensor::Borrow(tvmvm::DType::kF32, shape, x.data())};
  std::array outputs = {tvmvm::Tensor::Borrow(tvmvm::DType::kF32, shape, y.data())};
  TVMVM_CHECK_OK(invocation.Run(inputs, outputs));
  std::printf("y%s = [%.4f, %.4f, ...], peak memory %lld bytes\n", shape.ToString().c_str(), y[0], y[1],
              static_cast<long long>(invocation.peak_bytes()));
  return {};
}

tvmvm::Status Run(const char* path) {
  TVMVM_TRY(auto program, tvmvm::LoadProgram(path));   // mapped and verified; share it between threads
  TVMVM_TRY(auto vm, tvmvm::Vm::Create(program));      // bound to this machine; share it between threads
  tvmvm::Invocation invocation = vm->NewInvocation();  // one for each thread
  TVMVM_CHECK_OK(RunOnce(invocation, 1, 16));
  TVMVM_CHECK_OK(RunOnce(invocation, 4, 100));

  // A wrong input is an error value that says what is wrong; the Invocation can be used again.
  float number = 0;
  const std::array wrong = {tvmvm::Tensor::Borrow(tvmvm::DType::kF32, {1}, &number)};
  std::array<tvmvm::Tensor, 1> output;
  if (auto status = invocation.Run(wrong, output); !status)
    std::printf("as it should: %s\n", status.error().message.c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed demo.vmexe\n");
    return 2;
  }
  if (auto status = Run(argv[1]); !status) {
    std::fprintf(stderr, "embed: %s\n", status.error().message.c_str());
    return 1;
  }
  return 0;
}
