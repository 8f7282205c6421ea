// Calls of the system for files fail, at each place where they can: that is an error with its own code, and
// what stood in the folder still stands there, alone.
#include <cerrno>
#include <filesystem>

#include "tests/faults/fail_each.h"
#include "tests/faults/faulty_models.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::testing {
namespace {

namespace fs = std::filesystem;

class FilesFail : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanFail(kFiles)) GTEST_SKIP() << "a sanitizer takes the place of the system's calls";
    program_ = MakeFaultyModel("calls").program;
    ASSERT_TRUE(program_);
    folder_ = ::testing::TempDir() + "files_fail_" + std::to_string(getpid());
    path_ = folder_ + "/a.vmexe";
    fs::create_directory(folder_);
    ASSERT_EQ(TextOf(SaveProgram(*program_, path_)), "");
    bytes_ = *SerializeProgram(*program_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The folder holds the whole file, and nothing else.
  void ExpectTheFileAlone() {
    for (const auto& entry : fs::directory_iterator(folder_)) EXPECT_EQ(entry.path(), path_);
    ASSERT_TRUE(fs::exists(path_));
    EXPECT_EQ(fs::file_size(path_), bytes_.size());
    EXPECT_EQ(TextOf(VerifyFile(path_)), "");
  }
  void FailSaving(const char* name, int error, Code code) {
    FailEach(
        std::string("save, ") + name, {name, kFiles, Then::kOnce, error},
        [&] { return SaveProgram(*program_, path_); }, [&](const Error& found) { return found.code == code; },
        [&] { ExpectTheFileAlone(); });
  }

  std::shared_ptr<const Program> program_;
  std::string folder_, path_;
  std::vector<std::byte> bytes_;
};

TEST_F(FilesFail, WhileSaving) {
  FailSaving("a broken disk", EIO, Code::kIo);
  FailSaving("a full disk", ENOSPC, Code::kIo);
  FailSaving("no memory for the system", ENOMEM, Code::kOutOfMemory);
}

TEST_F(FilesFail, WhileLoading) {
  const Fault fault{"a broken disk", kFiles, Then::kOnce, EIO};
  ASSERT_EQ(TextOf(LoadProgram(path_) ? Status() : Status(MakeError(Code::kInternal, "not loaded"))), "");
  Status status;
  const Held before = HeldNow();
  {
    const Failing failing(fault.kinds, 0, fault.then, fault.error);
    const auto loaded = LoadProgram(path_);
    if (!loaded) status = tl::unexpected(loaded.error());
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kIo);
  status = {};
  EXPECT_EQ(HeldNow(), before);
}

// Where a signal comes in between, the system writes nothing and says so: it is asked again.
TEST_F(FilesFail, WritesThatAreInterruptedGoOn) {
  int interrupted = 0;
  bool has_failed = true;
  for (int64_t number = 0; has_failed; ++number) {
    Status status;
    {
      const Failing failing(kWrites, number, Then::kOnce, EINTR);
      status = SaveProgram(*program_, path_);
      has_failed = failing.has_failed();
    }
    EXPECT_EQ(TextOf(status), "") << "write " << number;
    interrupted += has_failed;
    ExpectTheFileAlone();
  }
  EXPECT_GT(interrupted, 2);
}

}  // namespace
}  // namespace tvmvm::testing
