// Files made by another version: newer ones, sections that are not known, and none where one may be missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/serializer/editable_file.h"
#include "tests/serializer/sample_file.h"
#include "tvm-vm/assembler.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

TEST(Versions, NewerMajorIsRefusedAndNewerMinorIsRead) {
  Bytes file = SampleFile();
  EditableFile newer(file);
  newer.header.major = 2;
  newer.header.minor = 3;
  newer.Seal(&file);
  auto program = LoadProgramFromMemory(file);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, Code::kUnsupported);
  EXPECT_EQ(program.error().message, "the file has format version 2.3, this build reads version 1.4");
  newer.header.major = 1;
  newer.Seal(&file);
  EXPECT_EQ(LoadError(file), "");
}

TEST(Versions, UnknownSections) {
  EditableFile optional(SampleFile());
  optional.Add("notes", false, Bytes(10));
  EXPECT_EQ(LoadError(optional.Build()), "");
  EditableFile required(SampleFile());
  required.Add("notes", true, Bytes(10));
  EXPECT_EQ(LoadError(required.Build()), "the file needs section 'notes', which this build does not know");
}

TEST(Versions, DebugSectionIsOptional) {
  EditableFile parts(SampleFile());
  parts.Remove("debug");
  auto program = LoadProgramFromMemory(parts.Build());
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE((*program)->main().lines.empty());
  // What instructions use is not in the debug section.
  EXPECT_THAT(Disassemble(**program), HasSubstr("n is {0}, at most 512"));
}

}  // namespace
}  // namespace tvmvm
