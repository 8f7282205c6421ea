// Saving and loading against the file system.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/serializer/sample_program.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::path(::testing::TempDir()) / ("vmexe_" + name);
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  size_t FileCount() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {})); }

  fs::path folder_;
};

// No file of this process may grow beyond so many bytes, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    rlimit limit{bytes, old_limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_limit_{};
  void (*old_handler_)(int) = nullptr;
};

TEST_F(FileTest, FullDiskLeavesNothingBehind) {
  auto program = SampleProgram(true);
  for (rlim_t limit : {0, 1000, 50000}) {
    Status saved;
    {
      FileSizeLimit full(limit);
      saved = SaveProgram(*program, Path("a.vmexe"));
    }
    ASSERT_FALSE(saved) << limit;
    EXPECT_THAT(saved.error().message, StartsWith(Path("a.vmexe") + ": cannot write: "));
    EXPECT_EQ(FileCount(), 0u);
  }
}

TEST_F(FileTest, FullDiskKeepsTheOldFile) {
  auto program = SampleProgram(true);
  ASSERT_TRUE(SaveProgram(*program, Path("a.vmexe")));
  {
    FileSizeLimit full(1000);
    EXPECT_FALSE(SaveProgram(*program, Path("a.vmexe")));
  }
  EXPECT_EQ(FileCount(), 1u);
  EXPECT_TRUE(VerifyFile(Path("a.vmexe")));
}

TEST_F(FileTest, SaveNamesPathAndReason) {
  auto program = SampleProgram(false);
  auto missing = SaveProgram(*program, Path("no/folder/a.vmexe"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_EQ(missing.error().message,
            Path("no/folder/a.vmexe") + ": cannot create the file: No such file or directory");
  auto folder = SaveProgram(*program, folder_.string());
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("it exists and is no regular file"));
  auto device = SaveProgram(*program, "/dev/full");
  ASSERT_FALSE(device);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_EQ(FileCount(), 0u);
}

TEST_F(FileTest, LoadNamesPathAndReason) {
  auto missing = LoadProgram(Path("a.vmexe"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_EQ(missing.error().message, Path("a.vmexe") + ": cannot open the file: No such file or directory");
  auto folder = LoadProgram(folder_.string());
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("no regular file"));
  std::ofstream(Path("empty.vmexe")).flush();
  auto empty = LoadProgram(Path("empty.vmexe"));
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message, HasSubstr("the file is empty"));
  std::ofstream(Path("text.vmexe")) << std::string(100, 'a');
  auto text = LoadProgram(Path("text.vmexe"));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message, Path("text.vmexe") + ": not a .vmexe file: it starts with other bytes");
}

TEST_F(FileTest, LoadingDoesNotTouchTheWeights) {
  constexpr size_t kBytes = 64 << 20;
  std::vector<std::byte> weights(kBytes, std::byte{3});
  Builder builder;
  builder.AddConstant(SampleConstant("weights", weights));
  FunctionSpec spec;
  spec.name = "main";
  FunctionBuilder& body = builder.AddFunction(std::move(spec));
  body.Return({}, {});
  builder.SetEntry(body.id());
  ASSERT_TRUE(SaveProgram(**builder.Finish(), Path("large.vmexe")));

  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_SELF, &before);
  auto program = LoadProgram(Path("large.vmexe"));
  ::getrusage(RUSAGE_SELF, &after);
  ASSERT_TRUE(program) << program.error().message;
  // The kernel maps at most 16 pages with one fault, so reading all would take at least 1024.
  EXPECT_LT(after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt, 500);
  EXPECT_EQ((*program)->constants[0].bytes[kBytes - 1], std::byte{3});
}

}  // namespace
}  // namespace tvmvm
