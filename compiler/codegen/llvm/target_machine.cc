#include "compiler/codegen/llvm/target_machine.h"

#include <fmt/format.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <mutex>

#include "compiler/codegen/codegen.h"

namespace tvmvm::codegen {
namespace {

std::string HostFeatures() {
  std::string features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    features +=
        fmt::format("{}{}{}", features.empty() ? "" : ",", feature.second ? '+' : '-', feature.first().str());
  return features;
}

}  // namespace

void InitializeLlvmTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
  });
}

CpuDescription DescribeCpu(const TargetInfo& target) {
  CpuDescription cpu;
  cpu.vector_bits = target.vector_bits;
  cpu.has_vnni = target.has_vnni;
  cpu.triple = "x86_64-unknown-linux-gnu";
  switch (target.cpu_level) {
    case CpuLevel::kX86_64_V3:
      cpu.cpu = "x86-64-v3";
      break;
    case CpuLevel::kX86_64_V4:
      cpu.cpu = "x86-64-v4";
      break;
    case CpuLevel::kX86_64_V4Vnni:
      cpu.cpu = "x86-64-v4";
      cpu.features = "+avx512vnni";
      break;
    case CpuLevel::kAArch64:
      cpu.triple = "aarch64-unknown-linux-gnu";
      cpu.cpu = "generic";
      return cpu;
    case CpuLevel::kHost:
      cpu.triple = llvm::sys::getProcessTriple();
      cpu.cpu = llvm::sys::getHostCPUName().str();
      cpu.features = HostFeatures();
      return cpu;
  }
  return cpu;
}

Expected<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const CpuDescription& cpu) {
  InitializeLlvmTargets();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(cpu.triple, error);
  if (!target)
    return MakeError(Code::kUnsupported, fmt::format("no code generator for {}: {}", cpu.triple, error));
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(cpu.triple, cpu.cpu, cpu.features, llvm::TargetOptions(), llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Less));
  if (!machine)
    return MakeError(Code::kUnsupported, fmt::format("no code generator for {} {}", cpu.triple, cpu.cpu));
  return machine;
}

void SetTargetAttributes(llvm::Module& module, const CpuDescription& cpu) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", cpu.cpu);
    if (!cpu.features.empty()) function.addFnAttr("target-features", cpu.features);
    function.addFnAttr("prefer-vector-width", std::to_string(cpu.vector_bits));
  }
}

TargetInfo HostTarget() {
  auto features = llvm::sys::getHostCPUFeatures();
  auto has = [&](const char* name) { return features.lookup(name); };
  bool is_v4 = has("avx512f") && has("avx512bw") && has("avx512cd") && has("avx512dq") && has("avx512vl");
  TargetInfo info = TargetInfoFor(is_v4 ? CpuLevel::kX86_64_V4 : CpuLevel::kX86_64_V3);
  if (has("neon")) info = TargetInfoFor(CpuLevel::kAArch64);
  info.cpu_level = CpuLevel::kHost;
  info.has_vnni = has("avx512vnni") || has("avxvnni");
  info.has_bf16 = has("avx512bf16");
  info.has_f16 = has("avx512fp16");
  return info;
}

Expected<TargetInfo> TargetFromName(std::string_view name) {
  std::optional<CpuLevel> level = CpuLevelFromName(name);
  if (!level)
    return MakeError(
        Code::kInvalidArgument,
        fmt::format("unknown CPU target '{}'; known: host, x86-64-v3, x86-64-v4, x86-64-v4-vnni, aarch64",
                    name));
  return *level == CpuLevel::kHost ? HostTarget() : TargetInfoFor(*level);
}

}  // namespace tvmvm::codegen
