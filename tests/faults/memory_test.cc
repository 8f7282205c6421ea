// The host's memory ends, at each place where it can: that is an error with its own code, nothing is lost,
// and all goes on where memory is back.
#include <filesystem>
#include <optional>

#include "tests/faults/fail_each.h"
#include "tests/faults/faulty_models.h"
#include "tvm-vm/assembler.h"
#include "tvm-vm/forecast.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::testing {
namespace {

class MemoryEnds : public ::testing::TestWithParam<std::tuple<std::string, Fault>> {
 protected:
  void SetUp() override {
    model_ = MakeFaultyModel(std::get<0>(GetParam()));
    ASSERT_TRUE(model_.program);
    auto vm = Vm::Create(model_.program, model_.options);
    ASSERT_TRUE(vm) << vm.error().message;
    vm_ = *vm;
    wanted_.resize(model_.program->main().outputs.size());
    ASSERT_EQ(TextOf(vm_->NewInvocation().Run(model_.inputs, wanted_)), "");
    path_ = TempPath();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  static std::string TempPath() {
    return ::testing::TempDir() + "memory_ends_" + std::to_string(getpid()) + ".vmexe";
  }
  void FailEach(
      const std::string& what, const std::function<Status()>& step,
      const std::function<void()>& recover = [] {}) {
    Fault fault = std::get<1>(GetParam());
    fault.loses_memory = model_.loses_memory;
    testing::FailEach(model_.name + ", " + what, fault, step, IsOutOfMemory, recover);
  }
  void ExpectRuns(Invocation& invocation) {
    for (int i = 0; i < 2; ++i) {
      std::vector<Value> outputs(wanted_.size());
      ASSERT_EQ(TextOf(invocation.Run(model_.inputs, outputs)), "");
      for (size_t k = 0; k < outputs.size(); ++k)
        EXPECT_TRUE(IsSame(outputs[k], wanted_[k])) << "output " << k;
    }
  }

  FaultyModel model_;
  std::shared_ptr<Vm> vm_;
  std::vector<Value> wanted_;
  std::string path_;
};

template <class T>
Status StatusOf(const Expected<T>& result) {
  return result ? Status() : Status(tl::unexpected(result.error()));
}

TEST_P(MemoryEnds, WhileLoading) {
  ASSERT_EQ(TextOf(SaveProgram(*model_.program, path_)), "");
  const std::vector<std::byte> bytes = *SerializeProgram(*model_.program);
  FailEach("load", [&] { return StatusOf(LoadProgram(path_)); });
  FailEach("load from memory", [&] { return StatusOf(LoadProgramFromMemory(bytes)); });
  FailEach("verify", [&] { return VerifyFile(path_); });
  FailEach("list", [&] { return StatusOf(ListSections(path_)); });
}

TEST_P(MemoryEnds, WhileBinding) {
  FailEach("bind", [&] { return StatusOf(Vm::Create(model_.program, model_.options)); });
  std::vector<Value> outputs(wanted_.size());
  FailEach("new invocation", [&] {
    Invocation invocation = vm_->NewInvocation();
    return invocation ? Status() : invocation.Run(model_.inputs, outputs);
  });
}

TEST_P(MemoryEnds, WhileRunning) {
  std::optional<Invocation> invocation;
  std::vector<Value> outputs(wanted_.size());
  auto run = [&] { return invocation->Run(model_.inputs, outputs); };
  auto recover = [&](auto prepare) {
    return [this, &invocation, &outputs, prepare] {
      outputs.assign(wanted_.size(), Value());
      ExpectRuns(*invocation);
      invocation.emplace(vm_->NewInvocation());
      prepare();
    };
  };
  invocation.emplace(vm_->NewInvocation());
  FailEach("first run", run, recover([] {}));
  FailEach("second run", run, recover([&] { ExpectRuns(*invocation); }));
  auto trim = [&] {
    ExpectRuns(*invocation);
    (void)invocation->Trim();
  };
  FailEach("run after trim", run, recover(trim));
}

TEST_P(MemoryEnds, WhileTrimming) {
  Invocation invocation = vm_->NewInvocation();
  ExpectRuns(invocation);
  std::vector<Value> outputs(wanted_.size());
  FailEach(
      "trim and run",
      [&]() -> Status {
        TVMVM_CHECK_OK(invocation.Trim());
        return invocation.Run(model_.inputs, outputs);
      },
      [&] {
        outputs.assign(wanted_.size(), Value());
        ExpectRuns(invocation);
      });
}

TEST_P(MemoryEnds, WhileSaving) {
  const std::vector<std::byte> bytes = *SerializeProgram(*model_.program);
  const std::string folder = path_ + ".folder";
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/a.vmexe";
  FailEach(
      "save", [&] { return SaveProgram(*model_.program, path); },
      [&] {
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
          EXPECT_EQ(entry.path().filename(), "a.vmexe");
          EXPECT_EQ(std::filesystem::file_size(entry.path()), bytes.size());
        }
        std::filesystem::remove(path);
      });
  FailEach("serialize", [&] { return StatusOf(SerializeProgram(*model_.program)); });
  std::filesystem::remove_all(folder);
}

TEST_P(MemoryEnds, WhilePlanning) {
  DimRanges dims;
  for (const std::string& name : ForecastDims(*model_.program)) dims[name] = {1, 8};
  if (!vm_->Plan(dims)) GTEST_SKIP() << "the program is not followed";
  FailEach("plan", [&] { return StatusOf(vm_->Plan(dims)); });
}

TEST_P(MemoryEnds, WhileAssembling) {
  const std::string text = Disassemble(*model_.program, {.constant_bytes = true});
  if (!Assemble(text)) GTEST_SKIP() << "the text has not all of the program";
  FailEach("assemble", [&] { return StatusOf(Assemble(text)); });
}

// An account is a limit, not an allocation: all that a run takes is asked for there.
TEST_P(MemoryEnds, WhereTheAccountSaysSo) {
  Invocation full = vm_->NewInvocation();
  ExpectRuns(full);
  const int64_t most = full.held_bytes() + full.peak_bytes();
  for (int64_t step = 0; step <= 64; ++step) {
    Invocation invocation = vm_->NewInvocation();
    Limits limits;
    limits.max_bytes = std::max<int64_t>(1, most * step / 64);
    (void)invocation.SetLimits(limits);
    std::vector<Value> outputs(wanted_.size());
    const Status status = invocation.Run(model_.inputs, outputs);
    EXPECT_TRUE(status || IsOutOfMemory(status.error())) << TextOf(status);
    (void)invocation.SetLimits({});
    ExpectRuns(invocation);
    EXPECT_EQ(invocation.held_bytes(), full.held_bytes()) << limits.max_bytes << " bytes allowed";
  }
}

INSTANTIATE_TEST_SUITE_P(, MemoryEnds,
                         ::testing::Combine(::testing::ValuesIn(FaultyModelNames()),
                                            ::testing::ValuesIn(MemoryFaults())),
                         &NameOfFault);

}  // namespace
}  // namespace tvmvm::testing
