#include "cli/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/scratch.h"

namespace tvmvm::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OutputFileTest, TheOldFileStaysUntilCommit) {
  ScratchFolder scratch;
  WriteBytes(scratch / "f", "old");
  {
    auto file = OutputFile::Create(scratch / "f");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Write("new"));
    EXPECT_EQ(ReadBytes(scratch / "f"), "old");
    ASSERT_TRUE(file->Commit());
  }
  EXPECT_EQ(ReadBytes(scratch / "f"), "new");
  EXPECT_THAT(scratch.Names(), ElementsAre("f"));
}

TEST(OutputFileTest, WithoutCommitNothingIsLeft) {
  ScratchFolder scratch;
  {
    auto file = OutputFile::Create(scratch / "f");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Write("half"));
  }
  EXPECT_THAT(scratch.Names(), ElementsAre());
}

TEST(OutputFileTest, PipesAndDevicesAreWrittenToAndNotReplaced) {
  ScratchFolder scratch;
  const std::string pipe = scratch / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  auto file = OutputFile::Create(pipe);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Write("x"));
  ASSERT_TRUE(file->Commit());
  char read_back = 0;
  EXPECT_EQ(read(reader, &read_back, 1), 1);
  EXPECT_EQ(read_back, 'x');
  close(reader);
  EXPECT_TRUE(IsSpecialFile(pipe));
  EXPECT_THAT(scratch.Names(), ElementsAre("pipe"));
}

TEST(InputFileTest, SaysWhichFileAndWhy) {
  ScratchFolder scratch;
  EXPECT_THAT(ReadFile(scratch / "none").error().message, HasSubstr("none': No such file or directory"));
  EXPECT_EQ(ReadFile(scratch / "none").error().code, Code::kNotFound);
  EXPECT_THAT(ReadFile(scratch.path()).error().message, HasSubstr("Is a directory"));
  WriteBytes(scratch / "f", "abc");
  std::byte bytes[4];
  EXPECT_THAT(InputFile::Open(scratch / "f")->ReadAt(2, bytes).error().message, HasSubstr("ends at byte 3"));
}

}  // namespace
}  // namespace tvmvm::cli
