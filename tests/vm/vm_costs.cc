// vm_costs PROGRAM TURNS: runs one of bench/vm_programs.h, to be looked at by a tool that counts
// instructions.
#include <cstdlib>

#include "bench/vm_programs.h"

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const int64_t turns = std::atoll(arguments[2]);
  for (const tvmvm::bench::VmProgram& program : tvmvm::bench::VmPrograms()) {
    if (program.name != arguments[1]) continue;
    tvmvm::bench::VmRun run(program, turns);
    const int64_t runs = program.has_loop ? 1 : turns;
    for (int64_t i = 0; i < runs; ++i)
      if (!run.Run()) return 1;
    return 0;
  }
  return 2;
}
