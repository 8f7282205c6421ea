#include "compiler/jit/jit.h"

#include <fmt/format.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Verifier.h>

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/llvm/target_machine.h"

namespace tvmvm::jit {
namespace {

tl::unexpected<Error> Refused(llvm::Error error, const char* what) {
  return MakeError(Code::kInvalidProgram, fmt::format("{}: {}", what, llvm::toString(std::move(error))));
}

Expected<std::shared_ptr<llvm::orc::LLJIT>> MakeLlJit() {
  codegen::InitializeLlvmTargets();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder) return Refused(builder.takeError(), "detecting the host CPU");
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);
  builder->setRelocationModel(llvm::Reloc::PIC_);
  // Kernels import nothing, so the process has nothing for them, and they need no run-time support either.
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(*builder))
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .create();
  if (!jit) return Refused(jit.takeError(), "starting the JIT");
  return std::shared_ptr<llvm::orc::LLJIT>(std::move(*jit));
}

Expected<llvm::orc::ThreadSafeModule> ParseModule(std::span<const std::byte> bitcode,
                                                  const llvm::DataLayout& layout) {
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::StringRef bytes(reinterpret_cast<const char*>(bitcode.data()), bitcode.size());
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bytes, "kernels"), *context);
  if (!module) return Refused(module.takeError(), "reading kernel bitcode");
  (*module)->setDataLayout(layout);
  std::string defect;
  llvm::raw_string_ostream stream(defect);
  if (llvm::verifyModule(**module, &stream))
    return MakeError(Code::kInvalidProgram, fmt::format("malformed kernel bitcode: {}", defect));
  codegen::SetTargetAttributes(**module, codegen::DescribeCpu(codegen::HostTarget()));
  return llvm::orc::ThreadSafeModule(std::move(*module), std::move(context));
}

class OrcJit final : public KernelJit {
 public:
  // Each library gets a JIT of its own, so that its code goes away with its owner.
  Expected<Compiled> Compile(std::span<const std::byte> bitcode,
                             std::span<const std::string> symbols) override {
    TVMVM_TRY(std::shared_ptr<llvm::orc::LLJIT> jit, MakeLlJit());
    TVMVM_TRY(llvm::orc::ThreadSafeModule module, ParseModule(bitcode, jit->getDataLayout()));
    // What the session finds wrong it would print.
    auto found = std::make_shared<std::string>();
    jit->getExecutionSession().setErrorReporter([found](llvm::Error error) {
      *found += (found->empty() ? "" : "; ") + llvm::toString(std::move(error));
    });
    if (llvm::Error error = jit->addIRModule(std::move(module)))
      return Refused(std::move(error), "compiling kernels");
    Compiled compiled;
    for (const std::string& symbol : symbols) {
      auto address = jit->lookup(symbol);
      if (!address) {
        std::string why = llvm::toString(address.takeError());
        if (!found->empty()) why += ": " + *found;
        return MakeError(Code::kInvalidProgram, fmt::format("finding a kernel: {}", why));
      }
      compiled.functions.push_back(address->toPtr<KernelFunction>());
    }
    compiled.owner = std::move(jit);
    return compiled;
  }
};

}  // namespace

std::unique_ptr<KernelJit> MakeJit() { return std::make_unique<OrcJit>(); }

}  // namespace tvmvm::jit
