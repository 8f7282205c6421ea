// kernel_costs FOLDER NAME...: runs FOLDER/NAME.vmexe, each on random inputs of the dims in FOLDER/NAME.dims
// (a line for each input), warm, in RunOnce(), to be looked at by a tool that counts instructions.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/random_data.h"
#include "tvm-vm/vm.h"
#include "tvm-vm/vmexe.h"

namespace {

using namespace tvmvm;

struct Run {
  Invocation* invocation;
  std::vector<Value> inputs, outputs;
  Status status;
};

Expected<std::vector<Value>> MakeInputs(const Program& program, const std::string& path) {
  std::ifstream file(path);
  std::vector<Value> inputs;
  std::string line;
  for (const ParameterSpec& parameter : program.main().inputs) {
    std::getline(file, line);
    std::istringstream numbers(line);
    std::vector<int64_t> dims;
    for (int64_t dim = 0; numbers >> dim;) dims.push_back(dim);
    TVMVM_TRY(const Shape shape, Shape::Create(dims));
    TVMVM_TRY(Tensor tensor, cli::MakeRandomTensor(parameter.type.dtype, shape, 1 + inputs.size()));
    inputs.emplace_back(std::move(tensor));
  }
  return inputs;
}

}  // namespace

// The counting tool is told this name.
extern "C" __attribute__((noinline)) void RunOnce(Run* run) {
  run->status = run->invocation->Run(run->inputs, run->outputs);
}

namespace {

Status Measure(const std::string& path) {
  TVMVM_TRY(auto program, LoadProgram(path + ".vmexe"));
  VmOptions options;
  options.threads = 1;
  TVMVM_TRY(const std::shared_ptr<Vm> vm, Vm::Create(program, options));
  Invocation invocation = vm->NewInvocation();
  Run run{&invocation, {}, std::vector<Value>(program->main().outputs.size()), {}};
  TVMVM_TRY(run.inputs, MakeInputs(*program, path + ".dims"));
  for (int i = 0; i < 2; ++i) TVMVM_CHECK_OK(invocation.Run(run.inputs, run.outputs));
  RunOnce(&run);
  return run.status;
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 2; i < count; ++i) {
    if (tvmvm::Status status = Measure(std::string(arguments[1]) + "/" + arguments[i]); !status) {
      std::fprintf(stderr, "%s: %s\n", arguments[i], status.error().message.c_str());
      return 1;
    }
  }
  return 0;
}
