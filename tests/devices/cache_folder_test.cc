#include "devices/driver/cache_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
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

TEST_F(CacheFolderTest, IsMadeForThisUserAlone) {
  const mode_t before = umask(0);
  CacheFolder(path_ + "/deep/er").Store("key", Bytes(1, 1));
  umask(before);
  for (const std::string& folder : {path_, path_ + "/deep", path_ + "/deep/er"}) {
    struct stat info {};
    ASSERT_EQ(stat(folder.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u) << folder;
  }
}

TEST_F(CacheFolderTest, IsNotUsedWhereOthersMayWrite) {
  const CacheFolder cache(path_);
  EXPECT_EQ(cache.Problem(), "");
  cache.Store("key", Bytes(100, 7));
  EXPECT_EQ(cache.Problem(), "");
  for (mode_t mode : {0770, 0702}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    EXPECT_EQ(cache.Problem(), "others than its owner may write to '" + path_ + "'");
    EXPECT_FALSE(cache.Load("key"));
    cache.Store("other", Bytes(1, 1));
    EXPECT_EQ(Files().size(), 1u);
  }
  ASSERT_EQ(chmod(path_.c_str(), 0755), 0);
  EXPECT_TRUE(cache.Load("key"));
  if (geteuid() != 0) {
    EXPECT_EQ(CacheFolder("/usr").Problem(),
              "'/usr' belongs to user 0, not to user " + std::to_string(geteuid()));
  }
  EXPECT_EQ(CacheFolder(Files()[0].string()).Problem(),
            "'" + Files()[0].string() + "' cannot be opened: Not a directory");
}

TEST_F(CacheFolderTest, TakesFilesOfOthersForAbsence) {
  const CacheFolder cache(path_);
  cache.Store("key", Bytes(100, 7));
  const std::string file = Files()[0].string(), kept = path_ + "_kept";
  ASSERT_EQ(chmod(file.c_str(), 0620), 0);
  EXPECT_FALSE(cache.Load("key")) << "others may have written to it";
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  EXPECT_TRUE(cache.Load("key"));
  fs::rename(file, kept);
  fs::create_symlink(kept, file);
  EXPECT_FALSE(cache.Load("key")) << "a link";
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(cache.Load("key")) << "a pipe that nobody writes to";
  fs::remove(file);
  fs::rename(kept, file);
  EXPECT_TRUE(cache.Load("key"));
  // A header that tells of more than there may ever be, in a file of that size without any blocks.
  const uint64_t bytes = uint64_t{1} << 40;
  std::fstream header(file, std::ios::binary | std::ios::in | std::ios::out);
  header.seekp(16).write(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  header.close();
  fs::resize_file(file, 48 + 3 + bytes);
  EXPECT_FALSE(cache.Load("key"));
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
