#include "compiler/codegen/llvm/llvm_module.h"

#include <fmt/format.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "compiler/codegen/llvm/kernel_printer.h"
#include "compiler/codegen/prepare_kernel.h"
#include "compiler/loops/outline.h"

namespace tvmvm::codegen {
namespace {

ByteDots ByteDotsOf(const CpuDescription& cpu, const llvm::TargetMachine* machine) {
  if (machine == nullptr || !machine->getTargetTriple().isX86()) return {};
  return {cpu.has_vnni ? ByteDots::Form::kVnni : ByteDots::Form::kPairs, cpu.vector_bits};
}

CpuForms FormsOf(const CpuDescription& cpu, const llvm::TargetMachine* machine) {
  CpuForms forms{ByteDotsOf(cpu, machine), {}};
  if (machine != nullptr && machine->getTargetTriple().isX86()) {
    const bool has_avx512 = machine->getMCSubtargetInfo()->checkFeatures("+avx512f,+avx512dq,+avx512vl");
    forms.math.has_scale = has_avx512;
    // Twice as fast as moving each place out of its vector; AVX2's are up to a third slower than that.
    forms.has_fast_gathers = has_avx512;
    forms.has_fast_masked_stores = has_avx512;  // AVX2's take AMD's processors some 40 operations each
    forms.asks_keep_registers = true;
  }
  return forms;
}

// Which arguments a launch may be given one memory for: what is read and what is written in its place.
std::vector<bool> SharedArguments(const tensor::LoopKernel& kernel) {
  std::vector<bool> shared(kernel.argument_count, false);
  for (uint32_t read = 0; read < kernel.argument_count; ++read)
    for (uint32_t written = 0; written < kernel.argument_count; ++written) {
      if (IsWritten(kernel.buffers[read].access) || !IsWritten(kernel.buffers[written].access)) continue;
      if (tensor::CanUpdateInPlace(kernel, read, written) ||
          tensor::CanUpdateRowsInPlace(kernel, read, written))
        shared[read] = shared[written] = true;
    }
  return shared;
}

Status PrintKernel(llvm::Module& module, const KernelSource& source, const CpuForms& forms) {
  TVMVM_CHECK_OK(tensor::VerifyLoops(*source.kernel));
  tensor::LoopKernel prepared = PrepareKernel(*source.kernel, forms.math);
  TVMVM_CHECK_OK(tensor::VerifyLoops(prepared));
  std::vector<ir::Dim> scalars =
      source.scalars.empty() ? tensor::LaunchScalars(*source.kernel) : source.scalars;
  return KernelPrinter(module, prepared, source.symbol, std::move(scalars), SharedArguments(*source.kernel),
                       forms)
      .Print();
}

// Strength reduction weighs all addresses of a loop against each other, those of the loops within too; around
// several loops that takes much of the time of a kernel's compilation and saves next to nothing. A frozen
// counter is to it a number like any other.
size_t InstructionsOf(const llvm::Loop& loop) {
  size_t count = 0;
  for (const llvm::BasicBlock* block : loop.blocks()) count += block->size();
  return count;
}

void FreezeOuterCounters(const llvm::LoopInfo& loops) {
  constexpr size_t kMany = 400;  // instructions, around at least one loop
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    llvm::BasicBlock* latch = loop->getLoopLatch();
    if (latch == nullptr || loop->isInnermost() || InstructionsOf(*loop) < kMany) continue;
    llvm::BasicBlock* header = loop->getHeader();
    for (llvm::PHINode& counter : header->phis()) {
      if (!counter.getType()->isIntegerTy()) continue;
      const llvm::Value* next = counter.getIncomingValueForBlock(latch);
      auto* frozen = new llvm::FreezeInst(&counter, counter.getName(), header->getFirstInsertionPt());
      counter.replaceUsesWithIf(
          frozen, [&](const llvm::Use& use) { return use.getUser() != next && use.getUser() != frozen; });
    }
  }
}

}  // namespace

Expected<std::unique_ptr<llvm::Module>> MakeModule(llvm::LLVMContext& context,
                                                   std::span<const KernelSource> kernels,
                                                   const CpuDescription& cpu, llvm::TargetMachine* machine) {
  auto module = std::make_unique<llvm::Module>("kernels", context);
  module->setTargetTriple(cpu.triple);
  if (machine) module->setDataLayout(machine->createDataLayout());
  module->setPICLevel(llvm::PICLevel::BigPIC);
  CpuForms forms = FormsOf(cpu, machine);
  for (const KernelSource& source : kernels) TVMVM_CHECK_OK(PrintKernel(*module, source, forms));
  for (llvm::Function& function : *module)
    if (!function.isDeclaration()) function.addFnAttr("no-builtins");
  std::string defect;
  llvm::raw_string_ostream stream(defect);
  if (llvm::verifyModule(*module, &stream)) {
    std::string names;
    for (const KernelSource& source : kernels) names += (names.empty() ? "" : ", ") + source.kernel->name;
    return MakeError(Code::kInternal,
                     fmt::format("malformed LLVM IR in one of the kernels {}: {}", names, defect));
  }
  Optimize(*module, machine);
  if (machine) SetTargetAttributes(*module, cpu);
  return module;
}

void Optimize(llvm::Module& module, llvm::TargetMachine* machine) {
  llvm::PassBuilder builder(machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  // Nothing may become a call: kernels import nothing.
  llvm::TargetLibraryInfoImpl library((llvm::Triple(module.getTargetTriple())));
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
  passes.addPass(llvm::EarlyCSEPass(true));
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) {
      functions.invalidate(function, passes.run(function, functions));
      FreezeOuterCounters(functions.getResult<llvm::LoopAnalysis>(function));
    }
}

Expected<std::vector<char>> EmitObject(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl library((llvm::Triple(module.getTargetTriple())));
  library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return MakeError(Code::kInternal, "the LLVM target cannot write object files");
  passes.run(module);
  return std::vector<char>(object.begin(), object.end());
}

}  // namespace tvmvm::codegen
