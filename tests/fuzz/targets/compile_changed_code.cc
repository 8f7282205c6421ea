// Programs of the compiler, whose code and metadata strangers have changed, run with their kernels: contracts
// keep these within their buffers. The bytes choose a model, what is changed, and the inputs, which end where
// nothing may be read. Rows of kernels stay as they were, as they do where a signature covers them.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/verifier.h"
#include "tests/fuzz/change_program.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/kernel_models.h"
#include "tests/fuzz/targets/seal_file.h"
#include "tests/fuzz/targets/target.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::fuzz {
namespace {

using ProgramPointer = std::shared_ptr<const Program>;

struct Compiled {
  ProgramPointer program;
  std::vector<std::byte> file;
};

const std::vector<Compiled>& Originals() {
  static const std::vector<Compiled> originals = [] {
    std::vector<Compiled> all;
    for (std::string_view model : kKernelModels) {
      CompileOptions options;
      options.targets = {"host"};
      auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(model)), options);
      Require(compiled.has_value(), "no program:", compiled ? "" : compiled.error().message.c_str());
      for (const KernelSpec& kernel : compiled->program->kernels)
        Require(!kernel.contract.empty(), "no contract:", kernel.name.c_str());
      auto file = SerializeProgram(*compiled->program);
      Require(file.has_value(), "no file");
      all.push_back({compiled->program, *std::move(file)});
    }
    return all;
  }();
  return originals;
}

// Pages that end where the bytes end, but for what the alignment takes, between pages that nobody may touch.
Tensor GuardedTensor(DType dtype, const Shape& shape) {
  const auto page = static_cast<size_t>(getpagesize());
  int64_t count = 1;
  for (const int64_t dim : shape.dims()) count *= dim;
  const auto bytes = static_cast<size_t>(DTypeBytes(dtype, count));
  const size_t room = (bytes + page - 1) / page * page, all = room + 2 * page;
  auto* memory = static_cast<std::byte*>(
      mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  Require(memory != MAP_FAILED, "no pages");
  Require(room == 0 || mprotect(memory + page, room, PROT_READ | PROT_WRITE) == 0, "no memory");
  std::shared_ptr<void> owner(memory, [all](void* begin) { munmap(begin, all); });
  return Tensor::Share(dtype, shape, memory + page + (room - bytes) / 64 * 64, std::move(owner));
}

// The words of the code, or bytes of code and metadata in the file.
Expected<ProgramPointer> Change(const Compiled& original, Choices& choices) {
  const uint32_t changes = choices.Below(4);
  if (choices.Below(2) == 0) {
    auto program = std::make_shared<Program>(*original.program);
    for (uint32_t left = changes; left > 0; --left) ChangeWord(program.get(), choices);
    TVMVM_CHECK_OK(VerifyProgram(*program));
    return program;
  }
  std::vector<std::byte> file = original.file;
  const FileTable table(file);
  for (const wire::SectionEntry& entry : table.entries) {
    const std::string_view name(entry.name.data());
    if (name != "metadata" && name != "code") continue;
    for (uint32_t left = changes; left > 0; --left) {
      const uint32_t telling[] = {0, 1, 2, 0x7f, 0x80, 0xff, choices.Below(256)};
      file[entry.offset + choices.Below(entry.bytes)] =
          static_cast<std::byte>(telling[choices.Below(std::size(telling))]);
    }
  }
  Seal(file);
  return LoadProgramFromMemory(file);
}

// As the model takes them, of two sizes, of bytes that are any number and any index.
std::vector<Tensor> InputsOf(const FunctionSpec& main, Choices& choices) {
  const int64_t sizes[] = {1 + choices.Below(9), 2 + choices.Below(40)};
  const uint32_t kind = choices.Below(3);
  std::vector<Tensor> inputs;
  for (const ParameterSpec& input : main.inputs) {
    Shape shape;
    for (const DimSpec& dim : input.type.dims)
      shape.push_back(dim.value >= 0 ? dim.value : sizes[dim.symbol == "n" ? 0 : 1]);
    inputs.push_back(GuardedTensor(input.type.dtype, shape));
    auto* bytes = static_cast<uint8_t*>(inputs.back().data());
    for (int64_t i = 0; i < inputs.back().byte_count(); ++i)
      bytes[i] = kind == 0 && i % 8 != 0 ? 0 : static_cast<uint8_t>(choices.Below(256));
  }
  return inputs;
}

}  // namespace
}  // namespace tvmvm::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  Choices choices(BytesOf(data, size));
  const Compiled& original = Originals()[choices.Below(Originals().size())];
  auto program = Change(original, choices);
  if (!program) return RequireProper(program), 0;
  VmOptions options;
  options.threads = 1 + choices.Below(2);
  auto vm = Vm::Create(*program, options);
  if (!vm) return RequireProper(vm), 0;
  Invocation invocation = (*vm)->NewInvocation();
  Limits limits{.max_bytes = 64 << 20, .max_steps = 100'000, .timeout = std::chrono::seconds(2)};
  limits.max_call_depth = 100;
  RequireProper(invocation.SetLimits(limits));
  for (int run = 0; run < 2; ++run) {
    const std::vector<Tensor> inputs = InputsOf(original.program->main(), choices);
    std::vector<Tensor> outputs((*program)->main().outputs.size());
    if (Status status = invocation.Run(inputs, outputs); !status) RequireProper(status.error());
  }
  return 0;
}
