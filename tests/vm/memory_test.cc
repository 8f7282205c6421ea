// Tensors, arenas, plans, element access, copies.
#include <gmock/gmock.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>

#include "tests/sanitizer.h"
#include "tests/vm/allocation_count.h"
#include "tests/vm/text_program.h"
#include "tvm-vm/memory_pool.h"
#include "vm/interpreter/plan_cache.h"
#include "vm/objects/element_access.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A program over x: i64[k] whose body writes y: i64[1]; i0 = 0, i1 = 1, i2 = 8, r0 = x, r1 = y; i3... and
// r2... are free.
std::string Body(std::string_view body) {
  return "entry @main\nconstant c0 \"w\": i64[2] hex \"05000000000000000600000000000000\"\nplan p0 [0..1 "
         "align 64, 1..2 align 64, 2..3 align 64]\n"
         "func @main(\"x\": i64[k]) -> (\"y\": i64[1]) frame 20, 10 {\n"
         "  i0 = const 0\n  i1 = const 1\n  i2 = const 8\n  r1 = output 0, [i1]\n  node \"/m (M)\"\n" +
         std::string(body) + "  return [], [r1]\n}\n";
}

TEST(Memory, DimsAndRanks) {
  EXPECT_THAT(
      RunInts(
          Body("i3 = dim r0, 0\n i4 = rank r0\n i3 = mul i3, i2\n i3 = add i3, i4\n store r1, i0, i64, i3\n"),
          {Ints({1, 2, 3})}),
      ElementsAre(25));
}

TEST(Memory, ADimensionThatIsNotThereIsAnError) {
  EXPECT_THAT(RunError(Body("r2 = alloc f32, []\n i3 = dim r2, 2\n"), {Ints({1})}),
              HasSubstr("dim: dimension 2 of a tensor of rank 0 (node /m (M))"));
}

TEST(Memory, ConstantsAreTensors) {
  EXPECT_THAT(
      RunInts(Body("r2 = constant c0\n i3 = load r2, i2, i64\n store r1, i0, i64, i3\n"), {Ints({1})}),
      ElementsAre(6));
}

TEST(Memory, ViewsShareStorage) {
  EXPECT_THAT(RunInts(Body(R"---(
  i3 = const 16
  r2 = arena i3
  r3 = view r2, i2, i64, [i1]
  r4 = view r3, i0, i32, [i1, i1]
  i4 = const 77
  store r4, i0, i32, i4
  i5 = load r2, i2, i32
  store r1, i0, i64, i5
)---"),
                      {Ints({1})}),
              ElementsAre(77));
}

TEST(Memory, EveryAccessIsChecked) {
  EXPECT_THAT(RunError(Body("i3 = load r0, i2, i64\n"), {Ints({1})}), HasSubstr("invalid_argument: @main:"));
  EXPECT_THAT(RunError(Body("i3 = load r0, i2, i64\n"), {Ints({1})}),
              HasSubstr("load: 8 bytes at offset 8 of r0, which has 8 bytes (node /m (M))"));
  EXPECT_THAT(RunError(Body("i3 = const -1\n store r1, i3, i64, i0\n"), {Ints({1})}),
              HasSubstr("8 bytes at offset -1"));
  EXPECT_THAT(RunError(Body("r2 = view r0, i1, i64, [i1]\n"), {Ints({1})}), HasSubstr("8 bytes at offset 1"));
  EXPECT_THAT(RunError(Body("copy [r1+i1, r0], i2\n"), {Ints({1})}), HasSubstr("8 bytes at offset 1 of r1"));
  EXPECT_THAT(RunError(Body("copy [r1, c0+i2], i2\n i3 = const 9\n copy [r1, c0+i3], i2\n"), {Ints({1})}),
              HasSubstr("8 bytes at offset 9 of constant 'w', which has 16 bytes"));
  EXPECT_THAT(RunError(Body("i3 = const -8\n fill [r1], i3, 0\n"), {Ints({1})}),
              HasSubstr("-8 bytes at offset 0"));
  EXPECT_THAT(RunError(Body("r1 = release\n r1 = move.ref r1\n i3 = dim r1, 0\n"), {Ints({1})}),
              HasSubstr("r1 holds nothing"));
}

// So that whoever reads a tensor's elements reads them where they may lie.
TEST(Memory, TensorsBeginWhereTheirElementsMay) {
  EXPECT_THAT(RunError(Body("i3 = const 64\n r2 = arena i3\n r3 = view r2, i1, i64, [i1]\n"), {Ints({1})}),
              HasSubstr("view: elements of i64 at offset 1 of r2, whose address is no multiple of 8 (node"));
  EXPECT_THAT(RunError(Body("r2 = view r0, i1, u8, [i2]\n i3 = const 3\n r3 = view r2, i3, i32, [i1]\n"
                            "i4 = const 4\n r4 = view r2, i4, f16, [i1]\n"),
                       {Ints({1, 2})}),
              HasSubstr("view: elements of f16 at offset 4 of r2"))
      << "1 + 3 is a multiple of 4, 1 + 4 none of 2";
  EXPECT_THAT(RunError(Body("i3 = const 2\n r3 = view r0, i3, c128, []\n"), {Ints({1, 2, 3})}),
              HasSubstr("elements of c128 at offset 2 of r0, whose address is no multiple of 8"));
}

TEST(Memory, InputsAndConstantsAreNeverWritten) {
  EXPECT_THAT(RunError(Body("store r0, i0, i64, i0\n"), {Ints({1})}),
              HasSubstr("writes to an input or a constant"));
  EXPECT_THAT(RunError(Body("fill [r0], i2, 0\n"), {Ints({1})}),
              HasSubstr("writes to an input or a constant"));
  EXPECT_THAT(RunError(Body("r2 = constant c0\n copy [r2, r0], i2\n"), {Ints({1})}),
              HasSubstr("writes to an input"));
}

TEST(Memory, CopiesAndFills) {
  EXPECT_THAT(RunInts(Body("copy [r1, r0+i2], i2\n"), {Ints({4, 5})}), ElementsAre(5));
  EXPECT_THAT(RunInts(Body("fill [r1], i2, 1\n"), {Ints({4})}), ElementsAre(0x0101010101010101));
}

TEST(Memory, ImpossibleShapesAreErrors) {
  EXPECT_THAT(RunError(Body("i3 = const -2\n r2 = alloc f32, [i3]\n"), {Ints({1})}),
              HasSubstr("shape [-2] cannot be"));
  EXPECT_THAT(RunError(Body("i3 = const 4611686018427387904\n r2 = alloc f32, [i3, i2]\n"), {Ints({1})}),
              HasSubstr("cannot be"));
  EXPECT_THAT(RunError(Body("i3 = const 576460752303423487\n r2 = alloc u8, [i3]\n"), {Ints({1})}),
              HasSubstr("out_of_memory: @main:"));
  EXPECT_THAT(RunError(Body("i3 = const -1\n r2 = arena i3\n"), {Ints({1})}), HasSubstr("out_of_memory"));
  EXPECT_THAT(RunError(Body("i3, [i4, i5, i6] = plan p0, [i1, i1, i1]\n i7 = const -5\n"
                            "i3, [i4, i5, i6] = plan p0, [i1, i7, i1]\n"),
                       {Ints({1})}),
              HasSubstr("plan: value 1 has -5 bytes"));
}

TEST(Memory, PlansGiveOffsets) {
  // Three values of 64 bytes in a chain: two places.
  EXPECT_THAT(RunInts(Body("i3 = const 64\n i4, [i5, i6, i7] = plan p0, [i3, i3, i3]\n i8 = eq i5, i7\n"
                           "i4 = mul i4, i8\n store r1, i0, i64, i4\n"),
                      {Ints({1})}),
              ElementsAre(128));
}

TEST(Memory, ALoopReusesItsArena) {
  auto vm = VmFromText(Body(R"---(
  i3 = const 1000
  i4 = const 4096
again:
  r2 = arena i4
  store r2, i0, i64, i3
  i3 = sub i3, i1
  branch.if i3, again
  store r1, i0, i64, i3
)---"));
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::array outputs{Tensor()};
  ASSERT_EQ(TextOf(invocation.Run(std::array{Ints({1})}, outputs)), "");
  EXPECT_EQ(invocation.arena_bytes(), 4096);
}

TEST(Memory, AViewOfACalleesArenaStaysValid) {
  EXPECT_THAT(RunInts(R"---(
entry @main
func @inner() -> ("": i64[1]) frame 4, 2 {
  i0 = const 64
  i1 = const 0
  i2 = const 1
  i3 = const 99
  r0 = arena i0
  store r0, i1, i64, i3
  r1 = view r0, i1, i64, [i2]
  return [], [r1]
}
func @main("x": i64[1]) -> ("y": i64[1]) frame 4, 3 {
  [], [r1] = call @inner, [], []
  i0 = const 64
  i1 = const 0
  i2 = const -1
  r2 = arena i0
  store r2, i1, i64, i2
  return [], [r1]
}
)---",
                      {Ints({1})}),
              ElementsAre(99));
}

TEST(Memory, ReleaseGivesBack) {
  auto vm = VmFromText(Body(R"---(
  i3 = const 100
  i4 = const 1000
again:
  r2 = alloc u8, [i4]
  r3 = move.ref r2
  r2 = release
  r3 = release
  i3 = sub i3, i1
  branch.if i3, again
  store r1, i0, i64, i3
)---"));
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::array outputs{Tensor()};
  ASSERT_EQ(TextOf(invocation.Run(std::array{Ints({1})}, outputs)), "");
  EXPECT_EQ(invocation.peak_bytes(), 1008);
}

// Of all that is held: 3584 bytes of registers, the output, a block for the arena.
TEST(Memory, HasALimit) {
  const std::string text =
      Body("i3 = const 4000\n r2 = arena i3\n r3 = alloc u8, [i3]\n store r1, i0, i64, i3\n");
  Limits limits;
  limits.max_bytes = 9000;
  EXPECT_THAT(
      RunError(text, {Ints({1})}, limits),
      HasSubstr("alloc: tensor needs 4000 bytes; 7624 bytes are in use and the limit is 9000 (node /m (M))"));
  limits.max_bytes = 7000;
  EXPECT_THAT(
      RunError(text, {Ints({1})}, limits),
      HasSubstr("arena: arena needs 4032 bytes; 3592 bytes are in use and the limit is 7000 (node /m (M))"));
  limits.max_bytes = 3000;
  EXPECT_THAT(RunError(text, {Ints({1})}, limits),
              HasSubstr("no memory for the registers of @main at depth 1: "));
  limits.max_bytes = 11624;
  EXPECT_EQ(RunError(text, {Ints({1})}, limits), "");
}

// Every byte that is held comes back to every account above it.
TEST(Memory, AccountsFormAChain) {
  auto pool = MemoryPool::Create(20'000, "the service's pool");
  VmOptions options = TestOptions();
  options.memory = pool;
  const std::string text =
      Body("i3 = const 4000\n r2 = arena i3\n r3 = alloc u8, [i3]\n store r1, i0, i64, i3\n");
  {
    auto vm = VmFromText(text, options), other = VmFromText(text, options);
    ASSERT_TRUE(vm && other);
    Invocation first = vm->NewInvocation(), second = vm->NewInvocation(), third = other->NewInvocation();
    auto run = [](Invocation& invocation) {
      std::array outputs{Tensor()};
      return TextOf(invocation.Run(std::array{Ints({1})}, outputs));
    };
    EXPECT_EQ(run(first), "");
    EXPECT_EQ(first.held_bytes(), 3584 + 4032) << "the tensor is gone, the output the caller's";
    EXPECT_EQ(vm->held_bytes(), first.held_bytes());
    EXPECT_EQ(pool->held_bytes(), first.held_bytes());
    EXPECT_EQ(pool->peak_bytes(), 3584 + 8 + 4032 + 4000);
    EXPECT_EQ(run(second), "");
    EXPECT_EQ(vm->held_bytes(), 2 * first.held_bytes());
    EXPECT_THAT(run(third),
                HasSubstr("arena needs 4032 bytes; 18824 bytes are in use by the service's pool and "
                          "the limit is 20000"));
    EXPECT_EQ(other->held_bytes(), 3584);
    ASSERT_TRUE(second.Trim());
    EXPECT_EQ(second.held_bytes(), 0);
    EXPECT_EQ(run(third), "") << "what one gives back another has";
    EXPECT_EQ(pool->held_bytes(), vm->held_bytes() + other->held_bytes());
  }
  EXPECT_EQ(pool->held_bytes(), 0);
}

TEST(Memory, PlansAreHeld) {
  auto vm = VmFromText(
      "entry @main\nplan p0 [0..1 align 64, 0..1 align 64]\nfunc @main(\"x\": i64[k]) -> (\"y\": i64[]) "
      "frame 4, 3 "
      "{\n i0 = dim r0, 0\n i1, [i2, i3] = plan p0, [i0, i0]\n r1 = output 0, []\n return [], [r1]\n}\n");
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::vector<int64_t> held;
  for (int64_t n = 1; n <= 3 * static_cast<int64_t>(PlanCache::kPlansKept); ++n) {
    std::array outputs{Tensor()};
    ASSERT_EQ(TextOf(invocation.Run(std::array{Ints(std::vector<int64_t>(static_cast<size_t>(n)))}, outputs)),
              "");
    held.push_back(vm->held_bytes());
  }
  EXPECT_GT(held[1], held[0]);
  EXPECT_EQ(held[SharedPlans::kPlansKept + PlanCache::kPlansKept], held.back()) << "so many, and no more";
  ASSERT_TRUE(invocation.Trim());
  EXPECT_EQ(invocation.held_bytes(), 0);
  EXPECT_GT(vm->held_bytes(), 0) << "what others may use, too";
}

TEST(Memory, LargeValuesOfAStoppedRunGoWhenTheNextBegins) {
  // Makes a tensor of x[0] elements, then counts for ever where x[1] says so.
  auto vm = VmFromText(Body(R"---(
  i3 = load r0, i0, i64
  i4 = load r0, i2, i64
  r2 = alloc i64, [i3]
again:
  branch.if i4, again
)---"));
  ASSERT_TRUE(vm);
  constexpr int64_t kElements = 8 << 20;
  Invocation invocation = vm->NewInvocation();
  std::array outputs{Tensor()};
  ASSERT_TRUE(invocation.SetLimits({.max_steps = 1000}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(TextOf(invocation.Run(std::array{Ints({kElements, 1})}, outputs)),
                HasSubstr("deadline_exceeded"));
    EXPECT_GE(invocation.held_bytes(), 8 * kElements) << "there was no time";
    EXPECT_LT(invocation.held_bytes(), 9 * kElements) << "what was kept before is gone";
  }
  ASSERT_EQ(TextOf(invocation.Run(std::array{Ints({1, 0})}, outputs)), "");
  EXPECT_LT(invocation.held_bytes(), kElements);
  EXPECT_FALSE(invocation.Run(std::array{Ints({kElements, 1})}, outputs));
  ASSERT_TRUE(invocation.Trim());
  EXPECT_EQ(invocation.held_bytes(), 0);
}

// Bytes of this process that are no mapped file's.
int64_t OwnBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::atoll(line.c_str() + 8) * 1024;
  return 0;
}

TEST(Memory, WhatIsTrimmedLeavesTheProcess) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer keeps what is freed";
  // r2 is a copy of x in the arena.
  auto vm = VmFromText(Body("  i3 = dim r0, 0\n  i4 = mul i3, i2\n  r2 = arena i4\n  copy [r2, r0], i4\n"));
  ASSERT_TRUE(vm);
  const Tensor input = Ints(std::vector<int64_t>(3 << 19, 1));  // at both ends pages may be others', too
  Invocation invocation = vm->NewInvocation();
  ASSERT_TRUE(invocation.Trim());  // of what other tests left
  const int64_t before = OwnBytes();
  std::array outputs{Tensor()};
  ASSERT_EQ(TextOf(invocation.Run(std::array{input}, outputs)), "");
  EXPECT_GT(OwnBytes() - before, int64_t{8} << 20);
  ASSERT_TRUE(invocation.Trim());
  EXPECT_LT(OwnBytes() - before, int64_t{1} << 20);
}

TEST(Memory, ALongPlanEndsAtTheDeadline) {
  std::string lifetimes, sizes, offsets;
  uint32_t random = 1;
  for (int k = 0; k < 65536; ++k) {
    random = random * 1664525 + 1013904223;
    const uint32_t first = random >> 16, last = first + (random & 0xffff);
    lifetimes += (k == 0 ? "" : ", ") + std::to_string(first) + ".." + std::to_string(last) + " align 64";
    sizes += k == 0 ? "i0" : k % 3 == 0 ? ", i0" : k % 3 == 1 ? ", i2" : ", i3";
    offsets += k == 0 ? "i1" : ", i1";
  }
  Limits limits;
  limits.timeout = std::chrono::milliseconds(2);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(
      RunError("entry @main\nplan p0 [" + lifetimes +
                   "]\nfunc @main() -> (\"y\": i64[]) frame 4, 1 {\n i0 = const 1\n i2 = const 5000\n"
                   " i3 = const 77\n i1, [" +
                   offsets + "] = plan p0, [" + sizes + "]\n r0 = output 0, []\n return [], [r0]\n}\n",
               {}, limits),
      HasSubstr("deadline_exceeded: @main:12 plan: the limit of 2000 microseconds is reached"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kHang);
}

double Round(DType dtype, double value) {
  char element[8] = {};
  StoreElement(dtype, element, std::bit_cast<int64_t>(value));
  return std::bit_cast<double>(LoadElement(dtype, element));
}

TEST(ElementAccess, Integers) {
  struct Case {
    DType dtype;
    int64_t stored, loaded;
  };
  for (const Case& c : std::initializer_list<Case>{{DType::kI8, -1, -1},
                                                   {DType::kU8, -1, 255},
                                                   {DType::kI16, 0x18000, -32768},
                                                   {DType::kU16, 0x18000, 0x8000},
                                                   {DType::kI32, -5, -5},
                                                   {DType::kU32, -1, 0xffffffff},
                                                   {DType::kI64, INT64_MIN, INT64_MIN},
                                                   {DType::kU64, -1, -1},
                                                   {DType::kBool, 256, 1},
                                                   {DType::kBool, 0, 0}}) {
    char element[9] = {};
    StoreElement(c.dtype, element + 1, c.stored);
    EXPECT_EQ(LoadElement(c.dtype, element + 1), c.loaded) << DTypeName(c.dtype);
  }
  EXPECT_FALSE(HasScalarForm(DType::kString));
  EXPECT_FALSE(HasScalarForm(DType::kI4));
}

TEST(ElementAccess, Floats) {
  EXPECT_EQ(Round(DType::kF64, 0.1), 0.1);
  EXPECT_EQ(Round(DType::kF32, 0.1), static_cast<double>(0.1f));
  EXPECT_EQ(Round(DType::kF16, 1.0 / 3), 0.333251953125);
  EXPECT_EQ(Round(DType::kF16, 65504), 65504);
  EXPECT_EQ(Round(DType::kF16, 65519.9), 65504);
  EXPECT_EQ(Round(DType::kF16, 65520), INFINITY);
  EXPECT_EQ(Round(DType::kF16, 0x1p-24), 0x1p-24);
  EXPECT_EQ(Round(DType::kF16, 0x1p-25), 0);
  EXPECT_EQ(Round(DType::kF16, 0x1.8p-25), 0x1p-24);
  EXPECT_EQ(Round(DType::kF16, 2047.5), 2048);
  EXPECT_TRUE(std::isnan(Round(DType::kF16, NAN)));
  EXPECT_TRUE(std::signbit(Round(DType::kF16, -0.0)));
  EXPECT_EQ(Round(DType::kBF16, 3.14159), 3.140625);
  EXPECT_EQ(Round(DType::kBF16, -INFINITY), -INFINITY);
  EXPECT_TRUE(std::isnan(Round(DType::kBF16, NAN)));
  // Exactly between two bf16 numbers but for a bit that f32 cannot hold.
  EXPECT_EQ(Round(DType::kBF16, 1 + 0x1p-8), 1);
  EXPECT_EQ(Round(DType::kBF16, 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
}

}  // namespace
}  // namespace tvmvm
