#include "compiler/jit/jit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "bytecode/kernel_abi.h"
#include "compiler/codegen/codegen.h"

namespace tvmvm::jit {
namespace {

using namespace tensor;  // NOLINT

LoopKernel Doubled() {
  LoopKernel kernel;
  kernel.name = "doubled";
  uint32_t a = kernel.AddArgument("a", DType::kF32, Access::kRead),
           out = kernel.AddArgument("out", DType::kF32, Access::kWrite);
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  kernel.grid_size[0] = 10;
  Expr i = Variable(kernel.grid[0]);
  kernel.body = Store(out, i, Load(a, DType::kF32, i) * FloatConstant(2));
  return kernel;
}

std::vector<std::byte> Bitcode(const LoopKernel& kernel) {
  codegen::KernelSource sources[] = {{"doubled.0", &kernel}, {"doubled.1", &kernel}};
  codegen::CodegenOptions options;
  options.target = codegen::HostTarget();
  options.form = KernelForm::kBitcode;
  return codegen::GenerateCpuLibrary(sources, options).value();
}

TEST(Jit, RunsBitcode) {
  LoopKernel kernel = Doubled();
  std::vector<std::string> symbols = {"doubled.1", "doubled.0"};
  Expected<KernelJit::Compiled> compiled = MakeJit()->Compile(Bitcode(kernel), symbols);
  ASSERT_TRUE(compiled) << compiled.error().message;
  ASSERT_EQ(compiled->functions.size(), 2u);
  float a[10], out[10];
  for (int i = 0; i < 10; ++i) a[i] = static_cast<float>(i);
  void* buffers[] = {a, out};
  KernelArgs arguments{buffers, nullptr, nullptr};
  ASSERT_EQ(compiled->functions[0](&arguments, 0, 10), 0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(out[i], 2 * i);
}

// int doubled() that calls `callee` of the process.
std::vector<std::byte> CallerOf(const char* callee) {
  llvm::LLVMContext context;
  llvm::Module module("hostile", context);
  llvm::Type* number = llvm::Type::getInt32Ty(context);
  auto* type = llvm::FunctionType::get(number, false);
  auto* outside = llvm::Function::Create(type, llvm::Function::ExternalLinkage, callee, module);
  auto* kernel = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "doubled", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", kernel));
  builder.CreateRet(builder.CreateCall(outside));
  llvm::SmallVector<char> bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  const auto* bytes = reinterpret_cast<const std::byte*>(bitcode.data());
  return {bytes, bytes + bitcode.size()};
}

TEST(Jit, CodeFindsNothingOfTheProcess) {
  std::vector<std::string> symbols = {"doubled"};
  for (const char* callee : {"getpid", "system", "malloc", "dlopen"}) {
    Expected<KernelJit::Compiled> compiled = MakeJit()->Compile(CallerOf(callee), symbols);
    ASSERT_FALSE(compiled) << callee;
    EXPECT_EQ(compiled.error().code, Code::kInvalidProgram);
    EXPECT_THAT(compiled.error().message, testing::HasSubstr(callee));
  }
}

TEST(Jit, RefusesWhatIsNotBitcodeAndUnknownSymbols) {
  LoopKernel kernel = Doubled();
  std::vector<std::string> symbols = {"missing"};
  Expected<KernelJit::Compiled> missing = MakeJit()->Compile(Bitcode(kernel), symbols);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, testing::HasSubstr("missing"));
  std::vector<std::byte> noise(100, std::byte{7});
  EXPECT_EQ(MakeJit()->Compile(noise, symbols).error().code, Code::kInvalidProgram);
}

}  // namespace
}  // namespace tvmvm::jit
