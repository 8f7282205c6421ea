// Files that somebody cuts while a program is mapped from them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "bytecode/instruction.h"
#include "tests/serializer/sample_program.h"
#include "tvm-vm/c_api.h"
#include "tvm-vm/vm.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int64_t kBytes = 1 << 20;

// Gives its constant.
std::shared_ptr<const Program> WeightsProgram() {
  Builder builder;
  const std::vector<std::byte> weights(kBytes, std::byte{7});
  const ConstantId constant = builder.AddConstant(SampleConstant("weights", weights));
  FunctionSpec main;
  main.name = "main";
  main.outputs = {{"y", SampleTensor(DType::kU8, {{.value = kBytes}})}};
  FunctionBuilder& body = builder.AddFunction(std::move(main));
  const ScalarReg bytes = body.Immediate(kBytes);
  const RefReg y = body.Output(0, std::array{bytes});
  body.Copy({y.index}, {constant.index | BufferOperand::kConstantBit}, bytes);
  body.Return({}, std::array{y});
  builder.SetEntry(body.id());
  auto program = builder.Finish();
  EXPECT_TRUE(program) << program.error().message;
  return program ? *program : nullptr;
}

class CutFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "cut_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    ASSERT_TRUE(SaveProgram(*WeightsProgram(), path_));
  }
  void TearDown() override { fs::remove(path_); }

  std::shared_ptr<Vm> Loaded() const {
    auto program = LoadProgram(path_);
    EXPECT_TRUE(program) << program.error().message;
    return *Vm::Create(*program, {.threads = 1});
  }
  static Status Run(Vm& vm, std::byte* last = nullptr) {
    Invocation invocation = vm.NewInvocation();
    std::vector<Tensor> outputs(1);
    Status status = invocation.Run(std::span<const Tensor>(), outputs);
    if (status && last != nullptr) *last = static_cast<std::byte*>(outputs[0].data())[kBytes - 1];
    return status;
  }

  std::string path_;
};

TEST_F(CutFile, EndsTheRunsOfItsProgram) {
  ASSERT_TRUE(CatchCutFiles());
  ASSERT_TRUE(CatchCutFiles());  // once more is no harm
  std::string other = path_ + ".other";
  fs::copy_file(path_, other);
  const auto vm = Loaded(), unread = Loaded();
  ASSERT_TRUE(Run(*vm));
  fs::resize_file(path_, kBytes / 2);
  for (int run = 0; run < 2; ++run) {
    Status status = Run(*vm);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kInvalidProgram);
    EXPECT_THAT(status.error().message, HasSubstr("was cut"));
  }
  std::thread([&] { EXPECT_FALSE(Run(*unread)); }).join();
  EXPECT_FALSE(LoadProgram(path_));
  path_.swap(other);
  std::byte last{0};
  ASSERT_TRUE(Run(*Loaded(), &last));
  EXPECT_EQ(last, std::byte{7});
  fs::remove(other);
}

TEST_F(CutFile, IsFoundWhileItIsLoaded) {
  ASSERT_EQ(tvmvm_catch_cut_files(), nullptr);
  LoadOptions options;
  options.check_constants = true;
  for (int cut = 1; cut < 40; ++cut) {
    std::thread cutter([&] { fs::resize_file(path_, 4096); });
    auto program = LoadProgram(path_, options);
    cutter.join();
    EXPECT_TRUE(program || !program.error().message.empty());
    ASSERT_TRUE(SaveProgram(*WeightsProgram(), path_));
  }
}

// Reads behind the end of a file of the caller's.
void ReadBehindTheEnd(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY);
  auto* bytes = static_cast<volatile char*>(mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, file, 0));
  fs::resize_file(path, 0);
  (void)bytes[kBytes / 2];
}

TEST_F(CutFile, OthersStayWithWhoHandledThem) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto with_handler = [&] {
    std::signal(SIGBUS, [](int) { _exit(7); });
    if (!CatchCutFiles()) _exit(1);
    ReadBehindTheEnd(path_);
    _exit(2);
  };
  EXPECT_EXIT(with_handler(), ::testing::ExitedWithCode(7), "");
  const auto without = [&] {
    std::signal(SIGBUS, SIG_DFL);
    if (!CatchCutFiles()) _exit(1);
    ReadBehindTheEnd(path_);
    _exit(2);
  };
  EXPECT_EXIT(without(), ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace tvmvm
