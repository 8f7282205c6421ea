#include "compiler/codegen/gpu_codegen.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "bytecode/spirv_library.h"
#include "compiler/codegen/c/c_printer.h"
#include "compiler/codegen/c/glsl_to_spirv.h"
#include "compiler/codegen/narrow_indices.h"
#include "compiler/codegen/prepare_kernel.h"
#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::codegen {
namespace {

struct Printed {
  std::string kernel;
  Prelude prelude;
  TextNeeds needs;
};

Expected<Printed> PrintPrepared(const KernelSource& source, tensor::LoopKernel prepared, Dialect dialect) {
  TVMVM_CHECK_OK(tensor::VerifyLoops(prepared));
  if (prepared.small_sizes) prepared = NarrowIndices(prepared);
  std::vector<ir::Dim> scalars =
      source.scalars.empty() ? tensor::LaunchScalars(*source.kernel) : source.scalars;
  CPrinter printer(dialect, prepared, source.symbol, std::move(scalars));
  TVMVM_TRY(std::string text, printer.Print());
  return Printed{std::move(text), printer.prelude(), printer.needs()};
}

// In OpenCL C, kernels whose work-items meet have a second form, where a group is one work-item with loops:
// see DialectHeader. Its compilers unroll as they see fit; texts that are not unrolled build in half the
// time.
Expected<Printed> PrintKernel(const KernelSource& source, Dialect dialect, bool by_subgroups = false) {
  TVMVM_CHECK_OK(tensor::VerifyLoops(*source.kernel));
  const tensor::LoopKernel kernel = tensor::LowerGroupReduce(*source.kernel, by_subgroups);
  TVMVM_TRY(Printed printed, PrintPrepared(source, UnrollLoops(PrepareKernel(kernel)), dialect));
  if (dialect != Dialect::kOpenClC || !ItemsMeet(*source.kernel)) return printed;
  tensor::LoopKernel serialized = tensor::SerializeWorkGroup(*source.kernel);
  serialized.small_sizes = false;  // CPUs compute indices in 64 bits as well
  TVMVM_CHECK_OK(tensor::VerifyLoops(serialized));
  TVMVM_TRY(Printed serial, PrintPrepared(source, PrepareKernel(serialized), dialect));
  printed.kernel = "#ifdef TVMVM_SERIAL\n" + serial.kernel + "#else\n" + printed.kernel + "#endif\n";
  printed.prelude.Add(serial.prelude);
  printed.needs.f64 |= serial.needs.f64;
  return printed;
}

Expected<std::vector<std::byte>> GenerateSpirv(std::span<const KernelSource> kernels, int threads) {
  struct Job {
    const KernelSource* source;
    bool by_subgroups;
    Expected<std::vector<uint32_t>> words;
  };
  std::vector<Job> jobs;
  for (const KernelSource& source : kernels) {
    jobs.push_back({&source, false, {}});
    if (tensor::HasGroupReduce(tensor::LowerGroupReduce(*source.kernel, true)))
      jobs.push_back({&source, true, {}});
  }
  std::atomic<size_t> next = 0;
  auto make = [&](const Job& job) -> Expected<std::vector<uint32_t>> {
    TVMVM_TRY(std::string text, PrintGlsl(*job.source, job.by_subgroups));
    return GlslToSpirv(text, job.source->kernel->name);
  };
  auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++) jobs[i].words = make(jobs[i]);
  };
  std::vector<std::thread> workers;
  for (int i = 1; i < std::min<int>(threads, static_cast<int>(jobs.size())); ++i) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  std::vector<SpirvModule> modules;
  for (Job& job : jobs) {
    TVMVM_TRY(std::vector<uint32_t> words, std::move(job.words));
    std::string symbol = job.source->symbol;
    if (job.by_subgroups) symbol += kBySubgroups;
    modules.push_back({std::move(symbol), std::move(words)});
  }
  return PackSpirvLibrary(std::move(modules));
}

}  // namespace

Status CheckGpuKernel(const tensor::LoopKernel& original, const TargetInfo& target) {
  const tensor::LoopKernel kernel = tensor::LowerGroupReduce(original);
  std::string missing;
  auto want = [&](bool has, const char* what) {
    if (!has && missing.empty()) missing = what;
  };
  auto see = [&](DType dtype, bool is_argument) {
    want(dtype != DType::kF64 || target.has_f64, "f64");
    want(DTypeBits(dtype) != 64 || target.has_i64, "64-bit integers");
    if (!is_argument) return;
    want(DTypeBits(dtype) != 16 || target.has_f16_storage, "loads and stores of 16 bits");
    want(DTypeBits(dtype) > 8 || target.has_i8_storage, "loads and stores of bytes");
  };
  want(target.has_i64, "64-bit integers");
  want(kernel.GroupItems() <= target.max_group_size, "work-groups of that size");
  int64_t shared_bytes = 0;
  const bool has_matrices = tensor::HasMatrices(kernel);
  for (const tensor::BufferInfo& b : kernel.buffers) {
    see(b.dtype, b.is_argument);
    if (b.is_argument) continue;
    want(b.memory != tensor::Memory::kScratch, "scratch memory");
    int64_t bytes = std::max(4, DTypeBits(b.dtype) / 8);
    if (has_matrices && b.dtype == DType::kF16) bytes = 2;
    if (b.memory == tensor::Memory::kShared) shared_bytes += b.size * bytes;
  }
  want(!has_matrices || target.has_matrices, "matrices");
  want(shared_bytes <= target.shared_memory_bytes, "so much shared memory");
  // Some functions compute in f64 on the way.
  if (!target.has_f64 && missing.empty()) {
    tensor::LoopKernel prepared = PrepareKernel(kernel);
    tensor::VisitStatements(prepared.body, [&](const tensor::Stmt& s) {
      for (const tensor::Expr* root : {&s.value, &s.index, &s.mask})
        if (root->valid()) tensor::VisitOnce(*root, [&](const tensor::Expr& e) { see(e.dtype(), false); });
    });
  }
  if (missing.empty()) return {};
  return MakeError(Code::kUnsupported, fmt::format("kernel '{}' needs {}, which {} targets do not have here",
                                                   kernel.name, missing, DeviceKindName(target.device)));
}

Expected<std::string> PrintOpenClC(std::span<const KernelSource> kernels) {
  Prelude prelude(Dialect::kOpenClC);
  std::string text;
  TextNeeds needs;
  for (const KernelSource& source : kernels) {
    TVMVM_TRY(Printed printed, PrintKernel(source, Dialect::kOpenClC));
    prelude.Add(printed.prelude);
    needs.f64 |= printed.needs.f64;
    text += printed.kernel;
  }
  return DialectHeader(Dialect::kOpenClC, needs) + prelude.Text() + text;
}

Expected<std::string> PrintGlsl(const KernelSource& kernel, bool by_subgroups) {
  TVMVM_TRY(Printed printed, PrintKernel(kernel, Dialect::kGlsl, by_subgroups));
  return DialectHeader(Dialect::kGlsl, printed.needs) + printed.prelude.Text() + printed.kernel;
}

Expected<std::string> PrintOpenClKernel(const KernelSource& kernel) {
  TVMVM_TRY(Printed printed, PrintKernel(kernel, Dialect::kOpenClC));
  return printed.kernel;
}

Expected<std::string> PrintGlslKernel(const KernelSource& kernel, bool by_subgroups) {
  TVMVM_TRY(Printed printed, PrintKernel(kernel, Dialect::kGlsl, by_subgroups));
  return printed.kernel;
}

Expected<std::vector<std::byte>> GenerateGpuLibrary(std::span<const KernelSource> kernels,
                                                    const CodegenOptions& options) {
  for (const KernelSource& source : kernels) TVMVM_CHECK_OK(CheckGpuKernel(*source.kernel, options.target));
  if (options.form == KernelForm::kSpirV) return GenerateSpirv(kernels, options.threads);
  if (options.form != KernelForm::kOpenClC)
    return MakeError(Code::kUnsupported, "GPU kernels are OpenCL C or SPIR-V");
  TVMVM_TRY(std::string text, PrintOpenClC(kernels));
  auto* data = reinterpret_cast<const std::byte*>(text.data());
  return std::vector<std::byte>(data, data + text.size());
}

}  // namespace tvmvm::codegen
