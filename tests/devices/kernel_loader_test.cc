#include "devices/cpu/kernel_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bytecode/kernel_abi.h"
#include "devices/cpu/elf_check.h"
#include "tests/devices/kernel_files.h"

namespace tvmvm {
namespace {

using ::testing::HasSubstr;
using testing::ReadKernelLibrary;

// The number that the library's kernel writes.
int64_t ValueOf(const LoadedKernels& kernels) {
  KernelFunction fill = kernels.Find("fill");
  EXPECT_NE(fill, nullptr);
  int64_t value = 0;
  void* buffer = &value;
  const int64_t scalars[] = {0, 0};
  KernelArgs args{&buffer, scalars, nullptr};
  EXPECT_EQ(fill(&args, 0, 1), 0);
  return value;
}

std::string ErrorOf(const std::vector<std::byte>& object) {
  auto kernels = LoadedKernels::Load(object);
  if (kernels) return "loaded";
  EXPECT_EQ(kernels.error().code, Code::kInvalidProgram);
  return kernels.error().message;
}

TEST(KernelLoader, LoadsAndFindsKernels) {
  auto kernels = LoadedKernels::Load(ReadKernelLibrary("fill_one"));
  ASSERT_TRUE(kernels) << kernels.error().message;
  EXPECT_EQ(ValueOf(**kernels), 1);
  EXPECT_EQ((*kernels)->Find("absent"), nullptr);
}

TEST(KernelLoader, ReadsBothKindsOfSymbolHash) {
  auto kernels = LoadedKernels::Load(ReadKernelLibrary("fill_sysv_hash"));
  ASSERT_TRUE(kernels) << kernels.error().message;
  EXPECT_EQ(ValueOf(**kernels), 3);
}

TEST(KernelLoader, ALaterLibraryIsNeverAnEarlierOne) {
  const std::vector<std::byte> one = ReadKernelLibrary("fill_one"), two = ReadKernelLibrary("fill_two");
  auto kept = LoadedKernels::Load(one);
  for (int round = 0; round < 20; ++round) {
    auto first = LoadedKernels::Load(round % 2 == 0 ? one : two);
    auto second = LoadedKernels::Load(round % 2 == 0 ? two : one);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(ValueOf(**first), round % 2 == 0 ? 1 : 2);
    EXPECT_EQ(ValueOf(**second), round % 2 == 0 ? 2 : 1);
  }
  EXPECT_EQ(ValueOf(**kept), 1);
}

TEST(KernelLoader, RefusesWhatIsNoKernelLibrary) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("not an ELF file"));
  EXPECT_THAT(ErrorOf(std::vector<std::byte>(4096)), HasSubstr("not an ELF file"));
  EXPECT_THAT(ErrorOf(ReadKernelLibrary("imports")), HasSubstr("it imports 'expf'"));
  EXPECT_THAT(ErrorOf(ReadKernelLibrary("constructor")), HasSubstr("it runs code when loaded"));
  EXPECT_THAT(ErrorOf(ReadKernelLibrary("needs_library")), HasSubstr("it needs another library"));
}

TEST(KernelLoader, RefusesAnotherMachine) {
  std::vector<std::byte> object = ReadKernelLibrary("fill_one");
  object[18] = std::byte{8};  // MIPS
  EXPECT_THAT(ErrorOf(object), HasSubstr("made for ELF machine 8"));
  object = ReadKernelLibrary("fill_one");
  object[16] = std::byte{1};  // a relocatable file
  EXPECT_THAT(ErrorOf(object), HasSubstr("wanted a shared object"));
}

TEST(KernelLoader, ChecksEveryTruncationAndBitFlipWithoutReadingBeyondTheEnd) {
  const std::vector<std::byte> object = ReadKernelLibrary("fill_one");
  for (size_t size = 0; size < object.size(); size += size < 4096 ? 1 : 37) {
    // Memory of exactly this size, so that a sanitizer sees a read beyond it.
    std::vector<std::byte> part(object.begin(), object.begin() + static_cast<std::ptrdiff_t>(size));
    Status status = CheckKernelObject(part);
    if (size < 1024) {
      EXPECT_FALSE(status);
    }
  }
  int refused = 0;
  for (size_t bit = 0; bit < std::min<size_t>(object.size(), 1024) * 8; ++bit) {
    std::vector<std::byte> flipped = object;
    flipped[bit / 8] ^= std::byte{static_cast<uint8_t>(1 << (bit % 8))};
    if (!CheckKernelObject(flipped)) ++refused;
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace tvmvm
