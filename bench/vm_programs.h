// Programs that show what the machine itself costs, for the bench of its times and the test of its
// instructions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bytecode/kernel_abi.h"
#include "tests/vm/text_program.h"

namespace tvmvm::bench {

// Over x: i64[1], the number of turns of its loop. In each turn `per_turn` things happen besides what the
// loop itself needs.
struct VmProgram {
  std::string name;
  std::string text;
  int64_t turns = 0;  // of the bench
  int64_t per_turn = 1;
  bool has_loop = true;  // false: each run is one thing
};

// `declarations` stand in front of the function; `before` and `turn` are instructions. i0 is 0, i1 is 1, i2
// counts down, r1 is the output.
inline VmProgram LoopProgram(std::string name, const std::string& frame, const std::string& before,
                             const std::string& turn, int64_t turns, int64_t per_turn,
                             const std::string& declarations = "") {
  std::string text =
      "entry @main\n" + declarations + "func @main(\"x\": i64[1]) -> (\"y\": i64[1]) frame " + frame +
      " {\n i0 = const 0\n i1 = const 1\n i2 = load r0, i0, i64\n r1 = output 0, [i1]\n" + before +
      "again:\n" + turn + " i2 = sub i2, i1\n branch.if i2, again\n return [], [r1]\n}\n";
  return {std::move(name), std::move(text), turns, per_turn};
}

inline std::vector<VmProgram> VmPrograms() {
  const std::string kernel = "kernel @nothing cpu symbol \"nothing\" scalars 2 buffers [read, write]\n";
  const std::string launch = " launch @nothing, 0, [i1, i1, i1, i0, i0, i0], [i0, i1], ";
  // Launches as they are of kernels of a compiled model, with the same numbers, with two sets of them in
  // turns and with another one each time.
  const std::string checked =
      "kernel @checked cpu symbol \"nothing\" scalars 2 buffers [read, write] contract \"0; s1*8; s1*8; "
      "eq(x, 1); eq(y, 1); eq(z, 1); le(0, s1); le(0, s0); le(s0*s1, 1000000)\"\n";
  const std::string checked_launch = " launch @checked, 0, [i1, i1, i1, i0, i0, i0], ";
  return {
      {"empty_invocation",
       "entry @main\nfunc @main(\"x\": i64[1]) -> (\"y\": i64[1]) frame 1, 2 {\n"
       " i0 = const 1\n r1 = output 0, [i0]\n return [], [r1]\n}\n",
       1, 1, false},
      LoopProgram("loop_turn", "3, 2", "", "", 100'000, 1),
      LoopProgram("scalar_instruction", "12, 2", "",
                  " i3 = mul i2, i1\n i4 = max i3, i2\n i5 = min i4, i3\n i6 = add i5, i1\n"
                  " i7 = select i6, i4, i3\n i8 = lt i7, i0\n",
                  100'000, 6),
      LoopProgram("call", "3, 2", "", " [i2], [] = call @one, [i2], []\n", 10'000, 1,
                  "func @one() -> () scalars 1 -> 1 frame 1, 0 {\n return [i0], []\n}\n"),
      LoopProgram("launch", "3, 2", "", launch + "[r0, r1]\n", 10'000, 1, kernel),
      LoopProgram("launch_checked", "3, 2", "", checked_launch + "[i0, i1], [r0, r1]\n", 10'000, 1, checked),
      LoopProgram("launch_checked_in_turns", "3, 2", "",
                  checked_launch + "[i0, i1], [r0, r1]\n" + checked_launch + "[i1, i1], [r0, r1]\n", 10'000,
                  2, checked),
      LoopProgram("launch_checked_anew", "3, 2", "", checked_launch + "[i2, i1], [r0, r1]\n", 10'000, 1,
                  checked),
      LoopProgram("launch_on_slots", "3, 3, 2", " r2, s0 = slots p0, 0, [i1, i1]\n",
                  launch + "[s0, s1]\n slot.swap s0, s1\n", 10'000, 1,
                  kernel + "plan p0 [0..1 align 64, 0..1 align 64]\n"),
  };
}

// A program made ready on one thread, its input and output in place.
class VmRun {
 public:
  VmRun(const VmProgram& program, int64_t turns) : x_(turns) {
    VmOptions options;
    options.threads = 1;
    options.jit =
        std::make_shared<testing::TestJit>(std::map<std::string, KernelFunction>{{"nothing", &Nothing}});
    if (auto vm = testing::VmFromText(program.text, options)) invocation_.emplace(vm->NewInvocation());
  }
  // False where the program is wrong or the run failed.
  bool Run() { return invocation_ && invocation_->Run(inputs_, outputs_); }

 private:
  static int32_t Nothing(const KernelArgs*, int64_t, int64_t) { return 0; }

  int64_t x_, y_ = 0;
  std::array<Tensor, 1> inputs_{Tensor::Borrow(DType::kI64, Shape{1}, &x_)};
  std::array<Tensor, 1> outputs_{Tensor::Borrow(DType::kI64, Shape{1}, &y_)};
  std::optional<Invocation> invocation_;
};

}  // namespace tvmvm::bench
