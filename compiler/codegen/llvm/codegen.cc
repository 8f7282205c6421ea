#include "compiler/codegen/codegen.h"

#include <fmt/format.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "compiler/codegen/llvm/link.h"
#include "compiler/codegen/llvm/llvm_module.h"

namespace tvmvm::codegen {
namespace {

using Object = std::vector<char>;

Expected<Object> CompileObject(std::span<const KernelSource> kernels, const CpuDescription& cpu) {
  llvm::LLVMContext context;
  TVMVM_TRY(std::unique_ptr<llvm::TargetMachine> machine, MakeTargetMachine(cpu));
  TVMVM_TRY(std::unique_ptr<llvm::Module> module, MakeModule(context, kernels, cpu, machine.get()));
  return EmitObject(*module, *machine);
}

// Contiguous parts, a few for each thread, so that an expensive kernel does not hold up the end.
std::vector<std::span<const KernelSource>> Split(std::span<const KernelSource> kernels, int threads) {
  size_t count = threads <= 1 ? 1 : std::min<size_t>(kernels.size(), static_cast<size_t>(threads) * 4);
  std::vector<std::span<const KernelSource>> parts;
  for (size_t i = 0; i < count; ++i) {
    size_t begin = kernels.size() * i / count, end = kernels.size() * (i + 1) / count;
    parts.push_back(kernels.subspan(begin, end - begin));
  }
  return parts;
}

Expected<std::vector<Object>> CompileObjects(std::span<const KernelSource> kernels,
                                             const CodegenOptions& options) {
  CpuDescription cpu = DescribeCpu(options.target);
  std::vector<std::span<const KernelSource>> parts = Split(kernels, options.threads);
  std::vector<Expected<Object>> results(parts.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < parts.size(); i = next++) results[i] = CompileObject(parts[i], cpu);
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(parts.size(), static_cast<size_t>(std::max(1, options.threads))); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::vector<Object> objects;
  for (Expected<Object>& result : results) {
    TVMVM_TRY(Object object, std::move(result));
    objects.push_back(std::move(object));
  }
  return objects;
}

// Compiled later for whatever machine loads it: no cpu, no features, vector widths as printed.
Expected<std::vector<std::byte>> GenerateBitcode(std::span<const KernelSource> kernels,
                                                 const CodegenOptions& options) {
  llvm::LLVMContext context;
  CpuDescription cpu = DescribeCpu(options.target);
  TVMVM_TRY(std::unique_ptr<llvm::TargetMachine> machine, MakeTargetMachine(cpu));
  TVMVM_TRY(std::unique_ptr<llvm::Module> module, MakeModule(context, kernels, cpu, nullptr));
  module->setDataLayout(machine->createDataLayout());
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  llvm::WriteBitcodeToFile(*module, stream);
  auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  return std::vector<std::byte>(data, data + bytes.size());
}

}  // namespace

Expected<std::vector<std::byte>> GenerateCpuLibrary(std::span<const KernelSource> kernels,
                                                    const CodegenOptions& options) {
  if (options.form == KernelForm::kBitcode) return GenerateBitcode(kernels, options);
  if (options.form != KernelForm::kSharedObject)
    return MakeError(Code::kUnsupported, "CPU kernels are shared objects or bitcode");
  TVMVM_TRY(std::vector<Object> objects, CompileObjects(kernels, options));
  return LinkSharedObject(objects, DescribeCpu(options.target).triple);
}

Expected<std::string> PrintLlvm(const KernelSource& kernel, const CodegenOptions& options) {
  llvm::LLVMContext context;
  CpuDescription cpu = DescribeCpu(options.target);
  TVMVM_TRY(std::unique_ptr<llvm::TargetMachine> machine, MakeTargetMachine(cpu));
  TVMVM_TRY(std::unique_ptr<llvm::Module> module, MakeModule(context, {&kernel, 1}, cpu, machine.get()));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

}  // namespace tvmvm::codegen
