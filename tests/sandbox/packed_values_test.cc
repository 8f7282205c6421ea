// Values in shared memory, and whatever else may lie there.
#include "vm/sandbox/packed_values.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "tests/vm/test_kernels.h"

namespace tvmvm::sandbox {
namespace {

using namespace tvmvm::testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kPlace = 128;

struct Packed {
  std::vector<std::byte> storage;
  std::span<std::byte> memory;  // aligned
  uint64_t records = 0;
};

Packed Pack(std::span<const Value> values) {
  auto packer = ValuePacker::Create(values, "value");
  EXPECT_TRUE(packer) << packer.error().message;
  Packed packed;
  packed.records = packer->record_count();
  packed.storage.resize(kPlace + packer->bytes() + 64);
  const auto begin = reinterpret_cast<uintptr_t>(packed.storage.data());
  packed.memory = std::span(packed.storage).subspan((64 - begin % 64) % 64, kPlace + packer->bytes());
  packer->WriteTo(packed.memory.data(), kPlace);
  return packed;
}

std::vector<Value> AllKinds() {
  return {Ints({1, 2, 3}),
          Value(),
          Tensor::FromStrings({2}, {"a", "longer than a small buffer is"}),
          Value::Sequence({Floats({1.5F}), Value::Tuple(7, {Value(), Ints({4})}), Value::Sequence({})}),
          Floats({}),
          Value::Tuple(-1, {})};
}

TEST(PackedValues, ComeOutAsTheyWere) {
  const Packed packed = Pack(AllKinds());
  for (const Unpacking unpacking : {Unpacking::kBorrow, Unpacking::kCopy}) {
    auto values = UnpackValues(packed.memory, kPlace, packed.records, unpacking);
    ASSERT_TRUE(values) << values.error().message;
    ASSERT_EQ(values->size(), 6u);
    EXPECT_THAT(ToInts((*values)[0].tensor()), ElementsAre(1, 2, 3));
    const auto at = reinterpret_cast<const std::byte*>((*values)[0].tensor().data());
    const bool is_inside = at >= packed.memory.data() && at < packed.memory.data() + packed.memory.size();
    EXPECT_EQ(is_inside, unpacking == Unpacking::kBorrow);
    EXPECT_TRUE((*values)[1].is_none());
    EXPECT_THAT((*values)[2].tensor().strings(), ElementsAre("a", "longer than a small buffer is"));
    const std::vector<Value>& elements = (*values)[3].elements();
    ASSERT_EQ(elements.size(), 3u);
    EXPECT_EQ(elements[1].tag(), 7);
    EXPECT_THAT(ToInts(elements[1].elements()[1].tensor()), ElementsAre(4));
    EXPECT_TRUE(elements[2].is_sequence());
    EXPECT_EQ((*values)[4].tensor().element_count(), 0);
    EXPECT_TRUE((*values)[5].is_tuple());
  }
}

TEST(PackedValues, GoIntoMemoryThatIsGiven) {
  const std::vector<Value> values = {Ints({1, 2}), Tensor::FromStrings({1}, {"x"})};
  const Packed packed = Pack(values);
  std::vector<Value> given = {Ints({0, 0}), *Tensor::Allocate(DType::kString, {1})};
  auto result = UnpackValues(packed.memory, kPlace, packed.records, Unpacking::kCopy, given);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(ToInts(given[0].tensor()), ElementsAre(1, 2));
  EXPECT_THAT(given[1].tensor().strings(), ElementsAre("x"));
  given[0] = Ints({0});
  result = UnpackValues(packed.memory, kPlace, packed.records, Unpacking::kCopy, given);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "output 0: memory for i64[1] given, the result is i64[2]");
}

TEST(PackedValues, AMillionInOneAnotherComeOut) {
  Value value = Ints({1});
  for (int i = 0; i < 1'000'000; ++i) value = Value::Tuple(i, {std::move(value)});
  const std::vector<Value> values = {std::move(value)};
  const Packed packed = Pack(values);
  auto result = UnpackValues(packed.memory, kPlace, packed.records, Unpacking::kCopy);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ((*result)[0].tag(), 999'999);
}

TEST(PackedValues, WhatCannotBePackedIsNamed) {
  const std::vector<Value> null = {Ints({1}), Tensor::Borrow(DType::kF32, {2}, nullptr)};
  EXPECT_EQ(ValuePacker::Create(null, "input").error().message, "input 1: its memory is null");
  const std::vector<Value> strings = {Tensor::FromStrings({3}, {"x"})};
  EXPECT_THAT(ValuePacker::Create(strings, "input").error().message, HasSubstr("as many strings"));
}

TEST(PackedValues, RecordsOutsideOfTheMemoryAreRefused) {
  const Packed packed = Pack(AllKinds());
  for (const auto& [place, records] : {std::pair<uint64_t, uint64_t>{kPlace, UINT64_MAX},
                                       {packed.memory.size() + 1, 0},
                                       {UINT64_MAX, 1},
                                       {packed.memory.size(), 1},
                                       {kPlace, packed.memory.size() / sizeof(PackedRecord) + 1}})
    EXPECT_FALSE(UnpackValues(packed.memory, place, records, Unpacking::kCopy)) << place << " " << records;
  EXPECT_FALSE(UnpackValues(packed.memory, kPlace, 4, Unpacking::kCopy)) << "a sequence that does not end";
}

// Any bytes at all give values or an error, under a sanitizer, too.
TEST(PackedValues, AnyBytesGiveValuesOrAnError) {
  const Packed packed = Pack(AllKinds());
  std::mt19937_64 random(1);
  int values = 0, errors = 0;
  const uint64_t interesting[] = {0, 1, 64, UINT64_MAX, INT64_MAX, uint64_t{1} << 63, packed.memory.size()};
  for (int round = 0; round < 200'000; ++round) {
    std::vector<std::byte> saved(packed.memory.begin(), packed.memory.end());
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < changes; ++i) {
      const uint64_t word = random() % ((packed.memory.size() - kPlace) / 8);
      const uint64_t value = random() % 2 == 0 ? interesting[random() % 7] : random() % 300;
      const size_t bytes = random() % 2 == 0 ? 8 : 4;
      std::memcpy(packed.memory.data() + kPlace + word * 8, &value, bytes);
    }
    UnpackValues(packed.memory, kPlace, packed.records, Unpacking::kCopy) ? ++values : ++errors;
    std::ranges::copy(saved, packed.memory.begin());
  }
  EXPECT_GT(values, 1000);
  EXPECT_GT(errors, 1000);
}

}  // namespace
}  // namespace tvmvm::sandbox
