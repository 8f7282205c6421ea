// What a call of a SandboxedVm costs, in C++ and in C, beside one of a Vm: a program that does next to
// nothing, with inputs of several sizes. Prints the median and the 99th percentile of each.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "tvm-vm/assembler.h"
#include "tvm-vm/c_sandbox.h"
#include "tvm-vm/sandbox.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

constexpr int kCalls = 5000;

// x itself.
constexpr std::string_view kSame = R"(
entry @main
func @main("x": f32[n]) -> ("y": f32[n]) frame 1, 1 {
  return [], [r0]
}
)";

struct Times {
  double median = 0, late = 0;  // microseconds
};

template <class Run>
Times Measure(int64_t calls, const Run& run) {
  std::vector<double> times;
  for (int64_t i = 0; i < calls; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (Status status = run(); !status) {
      std::fprintf(stderr, "%s\n", status.error().message.c_str());
      return {};
    }
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::sort(times);
  return {times[times.size() / 2], times[times.size() * 99 / 100]};
}

// A call in C, with a tensor that lasts and one that receives.
class CCall {
 public:
  explicit CCall(const Program& program) {
    const auto bytes = SerializeProgram(program);
    tvmvm_program* loaded = nullptr;
    tvmvm_status_free(bytes ? tvmvm_program_load_from_memory(bytes->data(), bytes->size(), &loaded)
                            : nullptr);
    tvmvm_status_free(tvmvm_sandboxed_vm_create_from_program(loaded, nullptr, &vm_));
    tvmvm_program_free(loaded);
  }
  ~CCall() { tvmvm_sandboxed_vm_free(vm_); }
  CCall(const CCall&) = delete;
  CCall& operator=(const CCall&) = delete;

  Times Measure(int64_t calls, const Tensor& input, const Tensor& output) {
    const int64_t dims[] = {input.element_count()};
    tvmvm_tensor *x = nullptr, *y = nullptr;
    tvmvm_status_free(tvmvm_tensor_borrow(TVMVM_F32, dims, 1, input.data(), &x));
    tvmvm_status_free(tvmvm_tensor_borrow(TVMVM_F32, dims, 1, output.data(), &y));
    const Times times = tvmvm::Measure(calls, [&]() -> Status {
      tvmvm_status* status = tvmvm_sandboxed_vm_run(vm_, nullptr, &x, 1, &y, 1);
      if (status == nullptr) return {};
      auto error = MakeError(static_cast<Code>(tvmvm_status_code(status)), tvmvm_status_message(status));
      tvmvm_status_free(status);
      return error;
    });
    tvmvm_tensor_free(x);
    tvmvm_tensor_free(y);
    return times;
  }

 private:
  tvmvm_sandboxed_vm* vm_ = nullptr;
};

int Main() {
  auto program = Assemble(kSame);
  auto vm = Vm::Create(*program);
  auto sandboxed = SandboxedVm::Create(*program);
  if (!vm || !sandboxed) {
    std::fprintf(stderr, "%s\n", (vm ? sandboxed.error() : vm.error()).message.c_str());
    return 1;
  }
  Invocation invocation = (*vm)->NewInvocation();
  CCall from_c(**program);
  std::printf("%12s %12s %12s %12s %12s %12s %12s   us\n", "bytes", "here", "99 %", "sandboxed", "99 %",
              "from C", "99 %");
  for (int64_t elements = 1; elements <= 1 << 22; elements *= 64) {
    const std::vector<Tensor> inputs = {*Tensor::Allocate(DType::kF32, {elements})};
    std::vector<Tensor> outputs = {*Tensor::Allocate(DType::kF32, {elements})};
    const int64_t calls = std::min<int64_t>(kCalls, (int64_t{1} << 32) / (elements * 64) + 20);
    const Times here = Measure(calls, [&] { return invocation.Run(inputs, outputs); });
    const Times there = Measure(calls, [&] { return (*sandboxed)->Run(inputs, outputs); });
    const Times in_c = from_c.Measure(calls, inputs[0], outputs[0]);
    std::printf("%12lld %12.2f %12.2f %12.2f %12.2f %12.2f %12.2f\n", static_cast<long long>(elements * 4),
                here.median, here.late, there.median, there.late, in_c.median, in_c.late);
  }
  const Times start = Measure(50, [&]() -> Status {
    TVMVM_TRY(auto another, SandboxedVm::Create(*program));
    return {};
  });
  std::printf("a new process: %.0f us, 99 %%: %.0f us\n", start.median, start.late);
  return 0;
}

}  // namespace
}  // namespace tvmvm

int main() { return tvmvm::Main(); }
