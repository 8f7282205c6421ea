#include "devices/cache_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tvmvm {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> Bytes(size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

class CacheFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    path_ = ::testing::TempDir() + "tvmvm_cache_" + std::to_string(getpid()) + "_" + name;
    fs::remove_all(path_);
  }
  void TearDown() override { fs::remove_all(path_); }

  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    if (fs::exists(path_))
      for (const auto& entry : fs::directory_iterator(path_)) files.push_back(entry.path());
    return files;
  }

  std::string path_;
};

TEST_F(CacheFolderTest, GivesBackWhatWasStored) {
  const CacheFolder cache(path_ + "/deep/er");
  EXPECT_FALSE(cache.Load("a"));
  cache.Store("a", Bytes(100, 1));
  cache.Store("b", Bytes(0, 0));
  cache.Store("a", Bytes(50, 2));
  EXPECT_EQ(cache.Load("a"), Bytes(50, 2));
  EXPECT_EQ(cache.Load("b"), Bytes(0, 0));
  EXPECT_FALSE(cache.Load("c"));
  EXPECT_FALSE(CacheFolder("").Load("a"));
  CacheFolder("").Store("a", Bytes(1, 1));
  CacheFolder("/proc/nowhere").Store("a", Bytes(1, 1));
}

TEST_F(CacheFolderTest, TakesDamageForAbsence) {
  const CacheFolder cache(path_);
  cache.Store("key", Bytes(100, 7));
  ASSERT_EQ(Files().size(), 1u);
  const fs::path file = Files()[0];
  const auto size = static_cast<size_t>(fs::file_size(file));
  std::string good(size, 0);
  std::ifstream(file, std::ios::binary).read(good.data(), static_cast<std::streamsize>(size));
  auto write = [&](const std::string& text) { std::ofstream(file, std::ios::binary) << text; };
  for (size_t at = 0; at < size; ++at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    write(damaged);
    EXPECT_FALSE(cache.Load("key")) << at;
  }
  for (size_t length = 0; length < size; length += 9) {
    write(good.substr(0, length));
    EXPECT_FALSE(cache.Load("key")) << length;
  }
  write(good + "x");
  EXPECT_FALSE(cache.Load("key"));
  write(good);
  EXPECT_TRUE(cache.Load("key"));
}

TEST_F(CacheFolderTest, StaysBelowItsLimit) {
  const CacheFolder cache(path_, 2000);
  for (int i = 0; i < 20; ++i) {
    cache.Store("key " + std::to_string(i), Bytes(300, i));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(cache.Load("key 0")) << i;  // what is used stays
  }
  EXPECT_LE(Files().size(), 6u);
  EXPECT_TRUE(cache.Load("key 19"));
  EXPECT_FALSE(cache.Load("key 5"));
  cache.Store("large", Bytes(3000, 1));
  EXPECT_FALSE(cache.Load("large"));
}

TEST_F(CacheFolderTest, ManyWritersLeaveOneWholeFile) {
  const CacheFolder cache(path_);
  std::vector<std::thread> threads;
  std::atomic<int> torn{0};
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      for (int round = 0; round < 50; ++round) {
        cache.Store("key", Bytes(5000, number));
        auto found = cache.Load("key");
        if (!found || *found != Bytes(5000, static_cast<int>((*found)[0]))) ++torn;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(Files().size(), 1u);
}

TEST(DefaultCacheFolder, ObeysTheEnvironment) {
  setenv("TVMVM_CACHE_DIR", "/some/where", 1);
  EXPECT_EQ(DefaultCacheFolder(), "/some/where");
  setenv("TVMVM_CACHE_DIR", "", 1);
  EXPECT_EQ(DefaultCacheFolder(), "");
  unsetenv("TVMVM_CACHE_DIR");
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(DefaultCacheFolder(), "/x/tvm-vm");
  unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace tvmvm
