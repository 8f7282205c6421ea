// The conformance suite, its other half: kernels and their order among all work.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/devices/conformance_fixture.h"

namespace tvmvm::testing {
namespace {

using ::testing::HasSubstr;

std::string ScratchFolder() {
  static std::atomic<int> count{0};
  return ::testing::TempDir() + "tvmvm_device_cache_" + std::to_string(getpid()) + "_" +
         std::to_string(count++);
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
  ExpectOk(queue_->Fill({y, 0}, 0xff, kPoints * 4 + 4, nullptr));
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
    ExpectOk(queue_->CopyIn({a, 0}, values.data(), 256, nullptr));
    ExpectLaunch(kAdvance, 1, {{a, 0}, {b, 0}}, {64});
    ExpectOk(queue_->Copy({a, 0}, {b, 0}, 128, nullptr));
    ExpectOk(queue_->CopyOut(found[static_cast<size_t>(i)].data(), {a, 0}, 256, nullptr));
    ExpectOk(queue_->Fill({a, 0}, 0, 256, nullptr));
  }
  ExpectFine();
  for (int32_t i = 0; i < 20; ++i)
    for (size_t k = 0; k < 64; ++k)
      ASSERT_EQ(found[static_cast<size_t>(i)][k], k < 32 ? 3 * i + 1 : i) << i << " " << k;
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
    ExpectOk(queue_->CopyIn({a, 0}, values.data(), 256, nullptr));
    ExpectOk(queue_->CopyIn({x, 0}, ones.data(), 80, nullptr));
    for (int step = 0; step < 10; ++step) {
      ExpectLaunch(kAdvance, 1, {{a, 0}, {b, 0}}, {64});
      ExpectLaunch(kAdvance, 1, {{b, 0}, {a, 0}}, {round % 4 == 3 ? 32 : 64});
    }
    std::vector<DeviceSpan> buffers = {{many, 0}};
    for (int64_t i = 0; i < 10; ++i) buffers.push_back({x, i * 8});
    ExpectLaunch(kMany, 1, buffers, scalars);
    ExpectOk(queue_->CopyOut(found.data(), {a, 0}, 256, nullptr));
    ExpectOk(queue_->CopyOut(found_many.data(), {many, 0}, 80, nullptr));
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
    auto memory = device_->Allocate(100'000, nullptr);
    ASSERT_TRUE(memory) << memory.error().message;
    ExpectLaunch(kAdvance, 1, {{in, 0}, {*memory, 0}}, {64});
    ExpectLaunch(kAdvance, 1, {{*memory, 0}, {sum, 0}}, {64});
    queue_->FreeAfterWork(*memory);
  }
  EXPECT_THAT(Download<int32_t>({sum, 0}, 64), ::testing::Each(22));
  EXPECT_EQ(device_->statistics().live_bytes, before);
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
      auto a = device_->Allocate(4000, nullptr), b = device_->Allocate(4000, nullptr);
      if (!a || !b) return void(++failures);
      std::vector<int32_t> values(1000, number), found(1000);
      bool fine = (*queue)->CopyIn({*a, 0}, values.data(), 4000, nullptr).has_value();
      fine = fine && Launch(**queue, kAdvance, 16, {{*a, 0}, {*b, 0}}, {1000}) == 0;
      fine = fine && Launch(**queue, kAdvance, 16, {{*b, 0}, {*a, 0}}, {1000}) == 0;
      fine = fine && (*queue)->CopyOut(found.data(), {*a, 0}, 4000, nullptr).has_value();
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
  ExpectOk(queue_->Fill({a, 0}, 0, kCount * 4, nullptr));
  for (int i = 0; i < 20; ++i)
    ExpectLaunch(kAdvance, kCount / 64, {{a, 0}, {i % 2 == 0 ? b : a, 0}}, {kCount});
  auto stopped = queue_->Wait(&token);
  if (!stopped) {
    EXPECT_EQ(stopped.error().code, Code::kCancelled) << stopped.error().message;
  }
  ExpectFine();
}

// Nothing ends such a wait, and the launch may take long.
TEST_F(Conformance, PiecesOfCopiesDoNotWaitForLaunches) {
  LoadKernels();
  constexpr int64_t kBytes = 4 << 20, kCount = 1000;
  const DeviceMemory a = Allocate(kCount * 4), b = Allocate(kCount * 4), c = Allocate(kBytes);
  const std::vector<char> ones(kBytes, 1);
  std::vector<char> found(kBytes);
  ExpectOk(queue_->Fill({a, 0}, 0, kCount * 4, nullptr));
  ExpectLaunch(kAdvance, kCount / 64 + 1, {{a, 0}, {b, 0}}, {kCount});
  const int64_t waits = device_->statistics().waits;
  ExpectOk(queue_->CopyIn({c, 0}, ones.data(), kBytes, nullptr));
  EXPECT_EQ(device_->statistics().waits, waits);
  ExpectOk(queue_->CopyOut(found.data(), {c, 0}, kBytes, nullptr));
  ExpectFine();
  EXPECT_EQ(found, ones);
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

}  // namespace
}  // namespace tvmvm::testing
