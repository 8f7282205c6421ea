#include "bytecode/spirv_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace tvmvm {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<uint32_t> Module(uint32_t last) { return {0x07230203, 0x00010300, 0, 1, 0, last}; }

std::vector<std::byte> Sample() {
  auto blob = PackSpirvLibrary({{"matmul_1", Module(1)}, {"add", Module(2)}, {"zzz", Module(3)}});
  EXPECT_TRUE(blob) << blob.error().message;
  return blob ? *blob : std::vector<std::byte>();
}

void SetWord(std::vector<std::byte>& blob, size_t word, uint32_t value) {
  std::memcpy(blob.data() + word * 4, &value, 4);
}

TEST(SpirvLibrary, GivesModulesBySymbol) {
  const std::vector<std::byte> blob = Sample();
  auto library = SpirvLibrary::Open(blob);
  ASSERT_TRUE(library) << library.error().message;
  ASSERT_EQ(library->size(), 3u);
  EXPECT_EQ(library->symbol(0), "add");
  EXPECT_THAT(library->Find("add"), ElementsAreArray(Module(2)));
  EXPECT_THAT(library->Find("matmul_1"), ElementsAreArray(Module(1)));
  EXPECT_THAT(library->Find("zzz"), ElementsAreArray(Module(3)));
  for (const char* missing : {"", "a", "adda", "matmul", "zzzz"})
    EXPECT_THAT(library->Find(missing), IsEmpty()) << missing;
}

TEST(SpirvLibrary, MayHoldNothing) {
  auto blob = PackSpirvLibrary({});
  ASSERT_TRUE(blob);
  auto library = SpirvLibrary::Open(*blob);
  ASSERT_TRUE(library);
  EXPECT_THAT(library->Find("add"), IsEmpty());
}

TEST(SpirvLibrary, RefusesModulesThatAreNone) {
  EXPECT_THAT(PackSpirvLibrary({{"a", Module(1)}, {"a", Module(2)}}).error().message,
              HasSubstr("two SPIR-V"));
  EXPECT_THAT(PackSpirvLibrary({{"", Module(1)}}).error().message, HasSubstr("without symbol"));
  EXPECT_EQ(PackSpirvLibrary({{"a", {1, 2, 3, 4, 5}}}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(PackSpirvLibrary({{"a", {0x07230203}}}).error().code, Code::kInvalidArgument);
}

TEST(SpirvLibrary, SaysWhatIsMalformed) {
  struct Case {
    size_t word;
    uint32_t value;
    const char* message;
  };
  // Words 4 to 7 are the first entry, 8 to 11 the second.
  const Case cases[] = {
      {0, 7, "header"},
      {2, 1000, "table is cut off"},
      {2, UINT32_MAX, "table is cut off"},
      {4, 8, "symbol outside"},
      {4, 0xfffffffc, "symbol"},
      {5, 0, "symbol outside"},
      {5, 0xffffffff, "symbol"},
      {6, 6, "module outside"},
      {6, 8, "module outside"},
      {6, 0xfffffff0, "module"},
      {7, 0xffffffff, "module"},
      {7, 4, "is no SPIR-V module"},
      {6, 68, "no SPIR-V module"},
      {9, 1, "entry 2 of 3 is out of order"},
  };
  for (const Case& c : cases) {
    std::vector<std::byte> blob = Sample();
    if (c.word == 9) {  // the third symbol becomes that of the second
      std::memcpy(blob.data() + 12 * 4, blob.data() + 8 * 4, 16);
    } else {
      SetWord(blob, c.word, c.value);
    }
    auto library = SpirvLibrary::Open(blob);
    ASSERT_FALSE(library) << c.word << " = " << c.value;
    EXPECT_EQ(library.error().code, Code::kInvalidProgram);
    EXPECT_THAT(library.error().message, HasSubstr(c.message)) << c.word << " = " << c.value;
  }
  std::vector<std::byte> newer = Sample();
  SetWord(newer, 1, 2);
  EXPECT_EQ(SpirvLibrary::Open(newer).error().code, Code::kUnsupported);
  EXPECT_FALSE(SpirvLibrary::Open(std::span<const std::byte>(newer).subspan(1)));
}

// Whatever the damage, what can be opened can be read: sanitizers watch.
TEST(SpirvLibrary, SurvivesDamage) {
  const std::vector<std::byte> sample = Sample();
  size_t opened = 0;
  for (size_t size = 0; size <= sample.size(); ++size) {
    const std::vector<std::byte> cut(sample.begin(), sample.begin() + static_cast<ptrdiff_t>(size));
    opened += SpirvLibrary::Open(cut).has_value();
  }
  EXPECT_EQ(opened, 1u);
  for (size_t at = 0; at < sample.size(); ++at) {
    for (int value : {0, 1, 0x7f, 0x80, 0xff}) {
      std::vector<std::byte> damaged = sample;
      damaged[at] = static_cast<std::byte>(value);
      auto library = SpirvLibrary::Open(damaged);
      if (!library) continue;
      uint32_t sum = 0;
      for (size_t i = 0; i < library->size(); ++i) {
        for (uint32_t word : library->Find(library->symbol(i))) sum += word;
        for (char letter : library->symbol(i)) sum += static_cast<uint32_t>(letter);
      }
      EXPECT_NE(sum, 1u);
    }
  }
}

}  // namespace
}  // namespace tvmvm
