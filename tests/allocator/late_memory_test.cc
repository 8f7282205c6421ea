#include "allocator/late_memory.h"

#include <gtest/gtest.h>

#include "allocator/host_memory.h"

namespace tvmvm {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

// A run that is stopped after so many questions.
struct StoppedRun final : MemoryWaiter {
  bool GivesUp() const override { return questions-- <= 0; }
  mutable int questions = 0;
};

class LateMemoryTest : public testing::Test {
 protected:
  void SetUp() override { late.set_run(&run); }
  void Free(int64_t bytes) {
    ASSERT_TRUE(budget.Reserve(bytes, "tensor"));
    void* memory = TryAllocateHost(bytes);
    ASSERT_NE(memory, nullptr);
    late.Free(memory, bytes);
  }
  int64_t held() { return budget.account().held_bytes(); }

  StoppedRun run;
  Budget budget;
  LateMemory late{&budget};
};

TEST_F(LateMemoryTest, GoesAtOnceWhereThereIsTime) {
  run.questions = 6;
  Free(100 * kMegabyte);
  EXPECT_EQ(held(), 0);
  late.set_run(nullptr);
  Free(100 * kMegabyte);
  EXPECT_EQ(held(), 0);
}

TEST_F(LateMemoryTest, IsHeldUntilItIsGivenBack) {
  Free(100 * kMegabyte);
  Free(40 * kMegabyte + 64);
  EXPECT_EQ(held(), 140 * kMegabyte + 64);
  EXPECT_EQ(budget.live_bytes(), 0) << "nobody uses it";
  EXPECT_FALSE(late.GiveBack()) << "the run is stopped still";
  EXPECT_EQ(held(), 140 * kMegabyte + 64);
  late.Trim();
  EXPECT_EQ(held(), 0);
  EXPECT_TRUE(late.GiveBack());
}

TEST_F(LateMemoryTest, GoesInPartsAsLongAsThereIsTime) {
  Free(100 * kMegabyte);
  int runs = 0;
  for (bool is_done = false; !is_done; ++runs) {
    run.questions = 2;
    is_done = late.GiveBack();
    EXPECT_EQ(held(), is_done ? 0 : 100 * kMegabyte);
    ASSERT_LT(runs, 100);
  }
  EXPECT_EQ(runs, 3) << "six parts of 16 MB, two a run, and the rest";
}

TEST_F(LateMemoryTest, StaysInPartWhereTheTimeEndsMeanwhile) {
  run.questions = 3;
  Free(100 * kMegabyte);
  EXPECT_EQ(held(), 100 * kMegabyte) << "three parts of 16 MB went, the rest is kept";
  run.questions = 3;
  EXPECT_TRUE(late.GiveBack());
  EXPECT_EQ(held(), 0);
}

TEST_F(LateMemoryTest, TextsGoInParts) {
  ASSERT_TRUE(budget.Reserve(2 * kMegabyte, "texts"));
  late.Free(std::make_shared<std::vector<std::string>>(3 * 64, std::string(1000, 'x')), 2 * kMegabyte);
  EXPECT_EQ(held(), 2 * kMegabyte);
  run.questions = 2;
  EXPECT_FALSE(late.GiveBack());
  EXPECT_EQ(held(), 2 * kMegabyte);
  run.questions = 1;
  EXPECT_TRUE(late.GiveBack());
  EXPECT_EQ(held(), 0);
}

TEST_F(LateMemoryTest, LongTextsGoOneByOne) {
  ASSERT_TRUE(budget.Reserve(2 * kMegabyte, "texts"));
  late.Free(std::make_shared<std::vector<std::string>>(3, std::string(1 << 19, 'x')), 2 * kMegabyte);
  run.questions = 2;
  EXPECT_FALSE(late.GiveBack());
  run.questions = 1;
  EXPECT_TRUE(late.GiveBack());
  EXPECT_EQ(held(), 0);
}

TEST_F(LateMemoryTest, FewTextsGoAtOnce) {
  ASSERT_TRUE(budget.Reserve(96, "texts"));
  late.Free(std::make_shared<std::vector<std::string>>(3, std::string(1000, 'x')), 96);
  EXPECT_EQ(held(), 0);
}

TEST_F(LateMemoryTest, TextsOfOthersAreNotKept) {
  const auto others = std::make_shared<std::vector<std::string>>(3);
  ASSERT_TRUE(budget.Reserve(2 * kMegabyte, "texts"));
  late.Free(others, 2 * kMegabyte);
  EXPECT_EQ(held(), 0);
  EXPECT_EQ(others.use_count(), 1);
}

}  // namespace
}  // namespace tvmvm
