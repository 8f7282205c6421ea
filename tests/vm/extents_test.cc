#include "vm/binding/extents.h"

#include <gtest/gtest.h>

#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

// The extents of a function with 12 scalar and 4 reference registers and this body.
std::vector<Extent> Extents(std::string_view body) {
  auto program =
      Assemble("entry @main\nplan p0 [0..1 align 64, 1..2 align 64]\nfunc @main() -> () frame 12, 4 {\n" +
               std::string(body) + "  return [], []\n}\n");
  EXPECT_TRUE(program) << program.error().message;
  return program ? ExtentsOf((*program)->functions[0]) : std::vector<Extent>();
}

constexpr const char* kPlan = "i0 = const 64\n i1 = const 128\n i2, [i3, i4] = plan p0, [i0, i1]\n";

TEST(Extents, AreThoseOfThePlansValues) {
  const std::vector<Extent> extents = Extents(std::string(kPlan) + "r1 = arena.on 1, i2\n");
  ASSERT_EQ(extents.size(), 12u);
  EXPECT_EQ(extents[3].arena, 1u);
  EXPECT_EQ(extents[3].size, 0u);
  EXPECT_EQ(extents[4].arena, 1u);
  EXPECT_EQ(extents[4].size, 1u);
  for (size_t reg : {0, 1, 2, 5}) EXPECT_EQ(extents[reg].arena, Extent::kUnknown) << reg;
}

TEST(Extents, AreUnknownWhereARegisterIsWrittenAgain) {
  const std::string arena = "r1 = arena.on 1, i2\n";
  EXPECT_EQ(Extents(kPlan + arena + "i0 = const 1\n")[3].arena, Extent::kUnknown);
  EXPECT_EQ(Extents(kPlan + arena + "i0 = const 1\n")[4].arena, 1u);
  EXPECT_EQ(Extents(kPlan + arena + "i4 = add i4, i0\n")[4].arena, Extent::kUnknown);
  EXPECT_EQ(Extents(kPlan + arena + "i2 = const 1\n")[3].arena, Extent::kUnknown);
  EXPECT_EQ(Extents(kPlan + arena + "r1 = arena.on 1, i1\n")[3].arena, Extent::kUnknown);
}

TEST(Extents, AreOfMemoryOnTheDevice) {
  EXPECT_EQ(Extents(std::string(kPlan) + "r1 = arena i2\n")[3].arena, Extent::kUnknown);
  EXPECT_EQ(Extents(std::string(kPlan) + "r1 = arena.on 0, i2\n")[3].arena, Extent::kUnknown);
  EXPECT_EQ(Extents(std::string(kPlan) + "r1 = arena.on 1, i1\n")[3].arena, Extent::kUnknown);
}

}  // namespace
}  // namespace tvmvm
