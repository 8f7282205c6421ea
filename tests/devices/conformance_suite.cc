// The conformance suite: what every device does. Linked with each device by a file that says what to skip and
// why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/devices/conformance.h"
#include "tests/require.h"

namespace tvmvm::testing {

namespace {

using ::testing::HasSubstr;

KernelSpec Kernel(const std::string& name, uint32_t buffers, uint32_t scalars) {
  KernelSpec kernel;
  kernel.name = "test." + name;
  kernel.symbol = name;
  kernel.device = ClassOf(DeviceUnderTest().kind);
  kernel.scalar_count = scalars;
  kernel.buffers.assign(buffers, Access::kReadWrite);
  if (name == "axpy" || name == "advance") kernel.buffers[0] = Access::kRead;
  if (name == "advance" || name == "mark") kernel.buffers.back() = Access::kWrite;
  return kernel;
}

enum KernelIndex : uint32_t { kAxpy, kMark, kMany, kCheck, kAdvance };

std::vector<KernelSpec> Kernels() {
  return {Kernel("axpy", 2, 2), Kernel("mark", 1, 0), Kernel("many", 11, 10), Kernel("check", 1, 1),
          Kernel("advance", 2, 1)};
}

std::vector<KernelLibrarySpec> Libraries(const std::vector<std::byte>& bytes) {
  KernelLibrarySpec library;
  library.device = DeviceUnderTest().kind;
  library.form = DeviceUnderTest().form;
  library.target = DeviceUnderTest().target;
  library.bytes = bytes;
  return {library};
}

std::string ScratchFolder() {
  static std::atomic<int> count{0};
  return ::testing::TempDir() + "tvmvm_device_cache_" + std::to_string(getpid()) + "_" +
         std::to_string(count++);
}

class Conformance : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto& skipped = DeviceUnderTest().skipped;
    const char* name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    if (auto found = skipped.find(name); found != skipped.end()) GTEST_SKIP() << found->second;
    auto device = DeviceUnderTest().create({});
    if (!device && device.error().code == Code::kNotFound)
      TVMVM_SKIP_WITHOUT(DeviceKindName(DeviceUnderTest().kind), device.error().message);
    ASSERT_TRUE(device) << device.error().message;
    device_ = std::move(*device);
    auto queue = device_->NewQueue();
    ASSERT_TRUE(queue) << queue.error().message;
    queue_ = std::move(*queue);
  }

  void TearDown() override {
    if (!queue_) return;
    auto last = queue_->Wait(nullptr);
    EXPECT_TRUE(last) << last.error().message;
    queue_.reset();
    for (const DeviceMemory& memory : memory_) device_->Free(memory);
    kernels_.reset();
    EXPECT_EQ(device_->statistics().live_bytes, idle_bytes_);
  }

  void LoadKernels() {
    auto kernels = device_->LoadKernels(Kernels(), Libraries(DeviceUnderTest().library));
    ASSERT_TRUE(kernels) << kernels.error().message;
    kernels_ = std::move(*kernels);
  }

  DeviceMemory Allocate(int64_t bytes) {
    auto memory = device_->Allocate(bytes);
    EXPECT_TRUE(memory) << memory.error().message;
    if (!memory) return {};
    memory_.push_back(*memory);
    return *memory;
  }

  template <class T>
  DeviceMemory Upload(const std::vector<T>& values) {
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
    DeviceMemory memory = Allocate(bytes);
    ExpectOk(queue_->CopyIn({memory, 0}, values.data(), bytes));
    return memory;
  }

  template <class T>
  std::vector<T> Download(const DeviceSpan& from, size_t count) {
    std::vector<T> values(count);
    ExpectOk(queue_->CopyOut(values.data(), from, static_cast<int64_t>(count * sizeof(T))));
    ExpectFine();
    return values;
  }

  static void ExpectOk(const Status& status) { EXPECT_TRUE(status) << status.error().message; }

  // All work ends well.
  void ExpectFine() {
    auto failure = queue_->Wait(nullptr);
    ASSERT_TRUE(failure) << failure.error().message;
    EXPECT_FALSE(*failure) << "code " << (*failure)->code;
  }

  // The kernel's code where the device runs it at once.
  Expected<int32_t> Launch(Queue& queue, KernelIndex kernel, int64_t points, std::vector<DeviceSpan> buffers,
                           std::vector<int64_t> scalars, uint64_t tag = 0) {
    std::vector<void*> addresses;
    for (const DeviceSpan& buffer : buffers)
      addresses.push_back(static_cast<char*>(buffer.memory.host) + buffer.offset);
    LaunchRequest request;
    request.kernels = kernels_.get();
    request.kernel = kernel;
    request.grid[0] = points;
    request.buffers = buffers;
    request.addresses = addresses;
    request.scalars = scalars;
    request.tag = tag;
    return queue.Launch(request, nullptr);
  }
  void ExpectLaunch(KernelIndex kernel, int64_t points, std::vector<DeviceSpan> buffers,
                    std::vector<int64_t> scalars) {
    auto code = Launch(*queue_, kernel, points, std::move(buffers), std::move(scalars));
    ASSERT_TRUE(code) << code.error().message;
    EXPECT_EQ(*code, 0);
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<KernelSet> kernels_;
  std::vector<DeviceMemory> memory_;
  int64_t idle_bytes_ = 0;
};

std::vector<uint8_t> Bytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 251);
  return bytes;
}

TEST_F(Conformance, DescribesItself) {
  EXPECT_FALSE(device_->name().empty());
  EXPECT_EQ(device_->target().device, DeviceUnderTest().kind);
  EXPECT_FALSE(device_->description().hardware.empty());
  EXPECT_FALSE(device_->description().api.empty());
}

// Drivers are not loaded anew for each device: some have room for a few times only.
TEST_F(Conformance, OpensAndClosesManyTimes) {
  for (int i = 0; i < 40; ++i) {
    auto device = DeviceUnderTest().create({});
    ASSERT_TRUE(device) << i << ": " << device.error().message;
    auto queue = (*device)->NewQueue();
    ASSERT_TRUE(queue) << i << ": " << queue.error().message;
    EXPECT_EQ((*device)->name(), device_->name());
  }
}

TEST_F(Conformance, MemoryIsAlignedAndCounted) {
  const DeviceStatistics before = device_->statistics();
  for (int64_t bytes : {0, 1, 63, 64, 1000, 1 << 20}) {
    const DeviceMemory memory = Allocate(bytes);
    EXPECT_GE(memory.bytes, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.host) % 64, 0u);
  }
  const DeviceStatistics after = device_->statistics();
  EXPECT_EQ(after.live_bytes - before.live_bytes, 1 + 63 + 64 + 1000 + (1 << 20));
  EXPECT_GE(after.peak_bytes, after.live_bytes);
  EXPECT_GE(after.held_bytes, after.live_bytes);
}

TEST_F(Conformance, PiecesOfMemoryAreApart) {
  std::vector<DeviceMemory> pieces;
  for (int i = 0; i < 40; ++i) {
    pieces.push_back(Allocate(100 + i));
    ExpectOk(queue_->Fill({pieces.back(), 0}, static_cast<uint8_t>(i), 100 + i));
  }
  for (int i = 0; i < 40; ++i)
    EXPECT_THAT(Download<uint8_t>({pieces[static_cast<size_t>(i)], 0}, static_cast<size_t>(100 + i)),
                ::testing::Each(i));
}

TEST_F(Conformance, CopiesAtOddPlaces) {
  const std::vector<uint8_t> bytes = Bytes(1000);
  const DeviceMemory memory = Allocate(3000), other = Allocate(3000);
  ExpectOk(queue_->Fill({memory, 0}, 0xee, 3000));
  ExpectOk(queue_->CopyIn({memory, 13}, bytes.data(), 1000));
  ExpectOk(queue_->Fill({other, 0}, 0xdd, 3000));
  ExpectOk(queue_->Copy({other, 777}, {memory, 13}, 999));
  ExpectOk(queue_->Copy({memory, 2001}, {memory, 14}, 7));
  ExpectOk(queue_->CopyIn({memory, 3000}, bytes.data(), 0));
  const auto first = Download<uint8_t>({memory, 0}, 3000), second = Download<uint8_t>({other, 0}, 3000);
  for (size_t i = 0; i < 3000; ++i) {
    uint8_t wanted = i >= 13 && i < 1013 ? bytes[i - 13] : 0xee;
    if (i >= 2001 && i < 2008) wanted = bytes[i - 2000];
    ASSERT_EQ(first[i], wanted) << i;
    ASSERT_EQ(second[i], i >= 777 && i < 1776 ? bytes[i - 777] : 0xdd) << i;
  }
  EXPECT_EQ(Download<uint8_t>({memory, 15}, 1)[0], bytes[2]);
}

TEST_F(Conformance, FillsAnyRange) {
  const DeviceMemory memory = Allocate(256);
  for (int64_t offset : {0, 1, 2, 3, 4, 7, 64}) {
    for (int64_t bytes : {0, 1, 3, 4, 5, 16, 17, 18, 19, 64, 101}) {
      ExpectOk(queue_->Fill({memory, 0}, 0, 256));
      ExpectOk(queue_->Fill({memory, offset}, 0xab, bytes));
      const auto found = Download<uint8_t>({memory, 0}, 256);
      for (int64_t i = 0; i < 256; ++i)
        ASSERT_EQ(found[static_cast<size_t>(i)], i >= offset && i < offset + bytes ? 0xab : 0)
            << bytes << " bytes at " << offset << ", byte " << i;
    }
  }
}

TEST_F(Conformance, CopiesMuch) {
  const std::vector<uint8_t> bytes = Bytes((90 << 20) + 5);
  const DeviceMemory memory = Upload(bytes);
  EXPECT_TRUE(Download<uint8_t>({memory, 0}, bytes.size()) == bytes);
}

// The host's memory is its own again when a call has returned, and work sees what was written in its order.
TEST_F(Conformance, TheHostMayChangeWhatItGave) {
  const DeviceMemory memory = Allocate(64 * 4);
  for (int32_t i = 0; i < 64; ++i) {
    int32_t value = i * i;
    ExpectOk(queue_->CopyIn({memory, i * 4}, &value, 4));
    value = -1;
  }
  const auto found = Download<int32_t>({memory, 0}, 64);
  for (int32_t i = 0; i < 64; ++i) EXPECT_EQ(found[static_cast<size_t>(i)], i * i);
}

TEST_F(Conformance, RefusesPlacesOutside) {
  const DeviceMemory memory = Allocate(64), other = Allocate(64);
  char data[128] = {};
  const Status failures[] = {
      queue_->CopyIn({memory, 1}, data, 64),     queue_->CopyIn({memory, -1}, data, 2),
      queue_->CopyOut(data, {memory, 65}, 0),    queue_->CopyOut(data, {memory, 0}, -1),
      queue_->Copy({memory, 0}, {other, 1}, 64), queue_->Copy({memory, INT64_MAX}, {other, 0}, 1),
      queue_->Fill({memory, 60}, 0, 5),          queue_->Fill({memory, 0}, 0, INT64_MAX),
  };
  for (const Status& status : failures) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kInvalidArgument) << status.error().message;
  }
}

TEST_F(Conformance, RefusesTooMuchMemory) {
  for (int64_t bytes : {INT64_MAX, INT64_MAX / 2, int64_t{1} << 50}) {
    auto memory = device_->Allocate(bytes);
    ASSERT_FALSE(memory) << bytes;
    EXPECT_EQ(memory.error().code, Code::kOutOfMemory) << memory.error().message;
    EXPECT_THAT(memory.error().message, HasSubstr(std::to_string(bytes)));
  }
  EXPECT_NE(Allocate(1000).bytes, 0);
}

TEST_F(Conformance, RunsKernelsAtRaggedSizes) {
  LoadKernels();
  for (int64_t n : {1, 63, 64, 65, 1000, 100'003}) {
    std::vector<float> x(static_cast<size_t>(n)), y(static_cast<size_t>(n) + 3, 0.5f);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1000);
    const DeviceMemory dx = Upload(x), dy = Upload(y);
    ExpectLaunch(kAxpy, (n + 63) / 64, {{dx, 0}, {dy, 4}}, {n, -3});
    const auto found = Download<float>({dy, 0}, y.size());
    EXPECT_EQ(found.front(), 0.5f);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(found[i + 1], 0.5f - 3 * x[i]) << i << " of " << n;
    EXPECT_EQ(found.back(), 0.5f) << n;
  }
}

TEST_F(Conformance, RunsLargeGrids) {
  LoadKernels();
  constexpr int64_t kPoints = 200'001;  // more than one dimension of groups has on many devices
  const DeviceMemory y = Allocate(kPoints * 4 + 4);
  ExpectOk(queue_->Fill({y, 0}, 0xff, kPoints * 4 + 4));
  ExpectLaunch(kMark, kPoints, {{y, 0}}, {});
  const auto found = Download<int32_t>({y, 0}, kPoints + 1);
  for (int32_t i = 0; i < kPoints; ++i) ASSERT_EQ(found[static_cast<size_t>(i)], i);
  EXPECT_EQ(found.back(), -1);
}

TEST_F(Conformance, TakesManyArguments) {
  LoadKernels();
  for (int64_t round = 0; round < 100; ++round) {
    std::vector<int64_t> values(10), scalars;
    for (int64_t i = 0; i < 10; ++i) {
      values[static_cast<size_t>(i)] = i + 17;
      scalars.push_back(round * 10 + i - 3);
    }
    const DeviceMemory y = Allocate(80), x = Upload(values);
    std::vector<DeviceSpan> buffers = {{y, 0}};
    for (int64_t i = 0; i < 10; ++i) buffers.push_back({x, i * 8});
    ExpectLaunch(kMany, 1, buffers, scalars);
    const auto found = Download<int64_t>({y, 0}, 10);
    for (size_t i = 0; i < 10; ++i) ASSERT_EQ(found[i], 1000 * scalars[i] + values[i]) << i;
  }
}

TEST_F(Conformance, GridsOfNothingRunNothing) {
  LoadKernels();
  const int64_t launches = device_->statistics().launches;
  const DeviceMemory y = Upload(std::vector<int32_t>{7});
  ExpectLaunch(kMark, 0, {{y, 0}}, {});
  EXPECT_EQ(Download<int32_t>({y, 0}, 1)[0], 7);
  EXPECT_EQ(device_->statistics().launches, launches);
  EXPECT_EQ(Launch(*queue_, kMark, -1, {{y, 0}}, {}).error().code, Code::kInvalidArgument);
}

// Each launch reads what the one before it wrote, in more launches than any batch holds.
TEST_F(Conformance, RunsInOrder) {
  LoadKernels();
  constexpr int64_t kCount = 5000;
  std::vector<int32_t> start(kCount);
  for (size_t i = 0; i < start.size(); ++i) start[i] = static_cast<int32_t>(i);
  const DeviceMemory a = Upload(start), b = Allocate(kCount * 4);
  std::vector<uint32_t> wanted(start.begin(), start.end());
  constexpr int kRounds = 600;
  for (int round = 0; round < kRounds; ++round) {
    ExpectLaunch(kAdvance, (kCount + 63) / 64, {{a, 0}, {b, 0}}, {kCount});
    ExpectLaunch(kAdvance, (kCount + 63) / 64, {{b, 0}, {a, 0}}, {kCount});
  }
  for (uint32_t& value : wanted)
    for (int step = 0; step < 2 * kRounds; ++step) value = 3 * value + 1;
  EXPECT_EQ(Download<uint32_t>({a, 0}, kCount), wanted);
}

TEST_F(Conformance, CopiesAndKernelsAreInOrder) {
  LoadKernels();
  const DeviceMemory a = Allocate(256), b = Allocate(256);
  std::vector<std::vector<int32_t>> found(20, std::vector<int32_t>(64));
  for (int32_t i = 0; i < 20; ++i) {
    const std::vector<int32_t> values(64, i);
    ExpectOk(queue_->CopyIn({a, 0}, values.data(), 256));
    ExpectLaunch(kAdvance, 1, {{a, 0}, {b, 0}}, {64});
    ExpectOk(queue_->Copy({a, 0}, {b, 0}, 128));
    ExpectOk(queue_->CopyOut(found[static_cast<size_t>(i)].data(), {a, 0}, 256));
    ExpectOk(queue_->Fill({a, 0}, 0, 256));
  }
  ExpectFine();
  for (int32_t i = 0; i < 20; ++i)
    for (size_t k = 0; k < 64; ++k)
      ASSERT_EQ(found[static_cast<size_t>(i)][k], k < 32 ? 3 * i + 1 : i) << i << " " << k;
}

// Whatever happens to the memory afterwards: overwritten, given back and taken by another queue.
TEST_F(Conformance, CopiesToTheHostGiveWhatWasThere) {
  const DeviceMemory ones = Upload(std::vector<int32_t>(64, 1)), twos = Upload(std::vector<int32_t>(64, 2));
  auto other = device_->NewQueue();
  ASSERT_TRUE(other) << other.error().message;
  for (int64_t bytes : {4, 64, 256}) {
    for (bool flushes : {false, true}) {
      auto memory = device_->Allocate(256);
      ASSERT_TRUE(memory) << memory.error().message;
      std::vector<int32_t> before(64), after(64), freed(64);
      ExpectOk(queue_->Fill({*memory, 0}, 0, 256));
      ExpectOk(queue_->Copy({*memory, 0}, {ones, 0}, 256));
      ExpectOk(queue_->CopyOut(before.data(), {*memory, 0}, bytes));
      ExpectOk(queue_->Copy({*memory, 0}, {twos, 0}, 256));
      ExpectOk(queue_->CopyOut(after.data(), {*memory, 0}, bytes));
      ExpectOk(queue_->CopyOut(freed.data(), {*memory, 0}, bytes));
      if (flushes) ExpectOk(queue_->Flush());
      queue_->FreeAfterWork(*memory);
      const DeviceMemory next = Allocate(256);
      ExpectOk((*other)->Fill({next, 0}, 0x55, 256));
      ASSERT_TRUE((*other)->Wait(nullptr));
      ExpectFine();
      const auto count = static_cast<size_t>(bytes / 4);
      for (size_t i = 0; i < 64; ++i) {
        ASSERT_EQ(before[i], i < count ? 1 : 0) << i;
        ASSERT_EQ(after[i], i < count ? 2 : 0) << i;
        ASSERT_EQ(freed[i], after[i]) << i;
      }
    }
  }
}

TEST_F(Conformance, IndependentLaunchesMayRunTogether) {
  LoadKernels();
  std::vector<DeviceMemory> out;
  const DeviceMemory in = Upload(std::vector<int32_t>(64, 5));
  for (int i = 0; i < 30; ++i) {
    out.push_back(Allocate(256));
    ExpectLaunch(kAdvance, 1, {{in, 0}, {out.back(), 0}}, {64});
  }
  const DeviceMemory end = Allocate(256);
  ExpectLaunch(kAdvance, 1, {{out[29], 0}, {end, 0}}, {64});
  for (const DeviceMemory& memory : out) EXPECT_THAT(Download<int32_t>({memory, 0}, 64), ::testing::Each(16));
  EXPECT_THAT(Download<int32_t>({end, 0}, 64), ::testing::Each(49));
}

// Values of one block whose sizes are known: launches on some wait, others need not.
TEST_F(Conformance, LaunchesOnPartsOfABlock) {
  LoadKernels();
  constexpr int64_t kBytes = 256, kParts = 24;
  std::vector<int32_t> start(64 * kParts);
  for (size_t i = 0; i < start.size(); ++i) start[i] = static_cast<int32_t>(i);
  const DeviceMemory memory = Upload(start);
  auto part = [&](int64_t i) { return DeviceSpan{memory, (i % kParts) * kBytes, kBytes}; };
  std::vector<std::vector<uint32_t>> wanted(kParts, std::vector<uint32_t>(64));
  for (size_t i = 0; i < start.size(); ++i) wanted[i / 64][i % 64] = static_cast<uint32_t>(i);
  for (int64_t step = 0; step < 500; ++step) {
    const int64_t from = step * 7, to = step * 5 + step / 3 + 1;
    if (from % kParts == to % kParts) continue;
    ExpectLaunch(kAdvance, 1, {part(from), part(to)}, {64});
    for (size_t k = 0; k < 64; ++k)
      wanted[static_cast<size_t>(to % kParts)][k] = 3 * wanted[static_cast<size_t>(from % kParts)][k] + 1;
    if (step % 97 == 0) ExpectFine();
  }
  for (int64_t i = 0; i < kParts; ++i)
    EXPECT_EQ(Download<uint32_t>(part(i), 64), wanted[static_cast<size_t>(i)]) << i;
}

// What a device keeps of a call that it has seen serves the next one, with other bytes.
TEST_F(Conformance, RepeatsCallsWithOtherNumbers) {
  LoadKernels();
  const DeviceMemory a = Allocate(256), b = Allocate(256), many = Allocate(80), x = Allocate(80);
  for (int64_t round = 0; round < 12; ++round) {
    const std::vector<int32_t> values(64, static_cast<int32_t>(round));
    const std::vector<int64_t> ones(10, round), scalars(10, round % 3);
    std::vector<int32_t> found(64);
    std::vector<int64_t> found_many(10);
    ExpectOk(queue_->CopyIn({a, 0}, values.data(), 256));
    ExpectOk(queue_->CopyIn({x, 0}, ones.data(), 80));
    for (int step = 0; step < 10; ++step) {
      ExpectLaunch(kAdvance, 1, {{a, 0}, {b, 0}}, {64});
      ExpectLaunch(kAdvance, 1, {{b, 0}, {a, 0}}, {round % 4 == 3 ? 32 : 64});
    }
    std::vector<DeviceSpan> buffers = {{many, 0}};
    for (int64_t i = 0; i < 10; ++i) buffers.push_back({x, i * 8});
    ExpectLaunch(kMany, 1, buffers, scalars);
    ExpectOk(queue_->CopyOut(found.data(), {a, 0}, 256));
    ExpectOk(queue_->CopyOut(found_many.data(), {many, 0}, 80));
    ExpectFine();
    uint32_t wanted = static_cast<uint32_t>(round);
    for (int step = 0; step < 20; ++step) wanted = 3 * wanted + 1;
    EXPECT_EQ(static_cast<uint32_t>(found[0]), wanted) << round;
    EXPECT_THAT(found_many, ::testing::Each(1000 * (round % 3) + round));
  }
}

TEST_F(Conformance, TellsWhichLaunchFailed) {
  LoadKernels();
  const DeviceMemory good = Upload(std::vector<int32_t>(100, 1)), bad = Upload(std::vector<int32_t>(100, -1));
  for (int round = 0; round < 3; ++round) {
    std::optional<KernelFailure> found;
    for (uint64_t tag = 0; tag < 10; ++tag) {
      auto code = Launch(*queue_, kCheck, 2, {{tag == 4 || tag == 7 ? bad : good, 0}}, {100}, tag + 1);
      ASSERT_TRUE(code) << code.error().message;
      if (*code != 0 && !found) found = KernelFailure{tag + 1, kCheck, *code};
    }
    auto failure = queue_->Wait(nullptr);
    ASSERT_TRUE(failure) << failure.error().message;
    if (*failure) found = **failure;
    ASSERT_TRUE(found);
    EXPECT_EQ(found->tag, 5u);
    EXPECT_EQ(found->kernel, kCheck);
    EXPECT_EQ(found->code, 3);
    ExpectFine();  // a failure is told once
  }
}

// More launches than there is room to note failures of, without a wait in between.
TEST_F(Conformance, RemembersAFailureThroughManyLaunches) {
  LoadKernels();
  const DeviceMemory good = Upload(std::vector<int32_t>(64, 1)), bad = Upload(std::vector<int32_t>(64, -1));
  int32_t first = 0;
  for (uint64_t tag = 0; tag < 10'000; ++tag) {
    auto code = Launch(*queue_, kCheck, 1, {{tag == 100 || tag == 9000 ? bad : good, 0}}, {64}, tag);
    ASSERT_TRUE(code) << code.error().message;
    if (first == 0) first = *code;
  }
  auto failure = queue_->Wait(nullptr);
  ASSERT_TRUE(failure) << failure.error().message;
  if (*failure) {
    EXPECT_EQ((*failure)->tag, 100u);
    first = (*failure)->code;
  }
  EXPECT_EQ(first, 3);
}

TEST_F(Conformance, FreesMemoryAfterItsWork) {
  LoadKernels();
  const DeviceMemory in = Upload(std::vector<int32_t>(64, 2)), sum = Upload(std::vector<int32_t>(64, 0));
  const int64_t before = device_->statistics().live_bytes;
  for (int i = 0; i < 300; ++i) {
    auto memory = device_->Allocate(100'000);
    ASSERT_TRUE(memory) << memory.error().message;
    ExpectLaunch(kAdvance, 1, {{in, 0}, {*memory, 0}}, {64});
    ExpectLaunch(kAdvance, 1, {{*memory, 0}, {sum, 0}}, {64});
    queue_->FreeAfterWork(*memory);
  }
  EXPECT_THAT(Download<int32_t>({sum, 0}, 64), ::testing::Each(22));
  EXPECT_EQ(device_->statistics().live_bytes, before);
}

// What is on one of the two is nothing to the other, which outlives it.
TEST_F(Conformance, IsOpenedAnew) {
  const DeviceMemory old = Upload(std::vector<int32_t>(64, 1));
  auto again = device_->Reopen();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->name(), device_->name());
  EXPECT_EQ((*again)->description().hardware, device_->description().hardware);
  EXPECT_EQ((*again)->statistics().live_bytes, 0);
  EXPECT_THAT(Download<int32_t>({old, 0}, 64), ::testing::Each(1));
  TearDown();
  memory_.clear();
  device_ = std::move(*again);
  queue_ = std::move(device_->NewQueue().value());
  const DeviceMemory fresh = Upload(std::vector<int32_t>(64, 2));
  EXPECT_THAT(Download<int32_t>({fresh, 0}, 64), ::testing::Each(2));
}

TEST_F(Conformance, NamesUnknownKernels) {
  std::vector<KernelSpec> kernels = Kernels();
  kernels[2].symbol = "nowhere";
  auto set = device_->LoadKernels(kernels, Libraries(DeviceUnderTest().library));
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Code::kInvalidProgram);
  EXPECT_THAT(set.error().message, HasSubstr("kernel 'test.many'"));
  EXPECT_THAT(set.error().message, HasSubstr("'nowhere'"));
}

TEST_F(Conformance, RefusesProgramsWithoutItsForm) {
  auto set = device_->LoadKernels(Kernels(), {});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Code::kUnsupported) << set.error().message;
}

TEST_F(Conformance, RefusesMalformedLibraries) {
  std::vector<std::byte> nothing, noise(4096, std::byte{0x5a}), cut = DeviceUnderTest().library;
  cut.resize(cut.size() * 2 / 3);
  for (const std::vector<std::byte>& bytes : {nothing, noise, cut}) {
    auto set = device_->LoadKernels(Kernels(), Libraries(bytes));
    ASSERT_FALSE(set) << bytes.size();
    EXPECT_EQ(set.error().code, Code::kInvalidProgram) << set.error().message;
  }
  LoadKernels();  // the device goes on
}

TEST_F(Conformance, QueuesWorkSideBySide) {
  LoadKernels();
  std::atomic<int> failures{0};
  auto work = [&](int32_t number) {
    auto queue = device_->NewQueue();
    if (!queue) return void(++failures);
    for (int round = 0; round < 20; ++round) {
      auto a = device_->Allocate(4000), b = device_->Allocate(4000);
      if (!a || !b) return void(++failures);
      std::vector<int32_t> values(1000, number), found(1000);
      bool fine = (*queue)->CopyIn({*a, 0}, values.data(), 4000).has_value();
      fine = fine && Launch(**queue, kAdvance, 16, {{*a, 0}, {*b, 0}}, {1000}) == 0;
      fine = fine && Launch(**queue, kAdvance, 16, {{*b, 0}, {*a, 0}}, {1000}) == 0;
      fine = fine && (*queue)->CopyOut(found.data(), {*a, 0}, 4000).has_value();
      auto failure = (*queue)->Wait(nullptr);
      fine = fine && failure && !*failure && found == std::vector<int32_t>(1000, 9 * number + 4);
      if (!fine) ++failures;
      device_->Free(*a);
      (*queue)->FreeAfterWork(*b);
    }
  };
  std::vector<std::thread> threads;
  for (int32_t number = 0; number < 6; ++number) threads.emplace_back(work, number);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

// A wait can be left; a later one waits for the same work.
TEST_F(Conformance, WaitsCanBeCancelled) {
  struct Token final : CancelToken {
    bool cancelled() const override { return true; }
  } token;
  LoadKernels();
  constexpr int64_t kCount = 1 << 18;
  const DeviceMemory a = Allocate(kCount * 4), b = Allocate(kCount * 4);
  ExpectOk(queue_->Fill({a, 0}, 0, kCount * 4));
  for (int i = 0; i < 20; ++i)
    ExpectLaunch(kAdvance, kCount / 64, {{a, 0}, {i % 2 == 0 ? b : a, 0}}, {kCount});
  auto stopped = queue_->Wait(&token);
  if (!stopped) {
    EXPECT_EQ(stopped.error().code, Code::kCancelled) << stopped.error().message;
  }
  ExpectFine();
}

TEST_F(Conformance, CachesSurviveDamage) {
  DeviceOptions options;
  options.cache_folder = ScratchFolder();
  for (int round = 0; round < 4; ++round) {
    auto device = DeviceUnderTest().create(options);
    ASSERT_TRUE(device) << device.error().message;
    auto set = (*device)->LoadKernels(Kernels(), Libraries(DeviceUnderTest().library), [](size_t) {});
    ASSERT_TRUE(set) << set.error().message;
    std::error_code error;
    EXPECT_FALSE(std::filesystem::is_empty(options.cache_folder, error) || error);
    for (const auto& entry : std::filesystem::directory_iterator(options.cache_folder, error)) {
      const auto size = std::filesystem::file_size(entry.path());
      FILE* file = std::fopen(entry.path().c_str(), "r+b");
      ASSERT_NE(file, nullptr);
      std::fseek(file, static_cast<long>(size / 2), SEEK_SET);
      if (round == 0) std::fwrite("damaged", 1, 7, file);
      std::fclose(file);
      if (round == 1) std::filesystem::resize_file(entry.path(), size / 2);
      if (round == 2) std::filesystem::resize_file(entry.path(), 0);
    }
  }
  std::filesystem::remove_all(options.cache_folder);
}

TEST_F(Conformance, ObeysItsBudget) {
  DeviceOptions options;
  options.max_bytes = 10 << 20;
  auto device = DeviceUnderTest().create(options);
  ASSERT_TRUE(device) << device.error().message;
  auto small = (*device)->Allocate(6 << 20);
  ASSERT_TRUE(small) << small.error().message;
  auto large = (*device)->Allocate(6 << 20);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Code::kOutOfMemory);
  (*device)->Free(*small);
}

}  // namespace
}  // namespace tvmvm::testing
