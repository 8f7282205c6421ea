#include "devices/driver/cache_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "bytecode/digest.h"

namespace tvmvm {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'T', 'V', 'M', 'V', 'M', 'C', '0', '1'};
constexpr const char* kSuffix = ".bin";
constexpr auto kAbandoned = std::chrono::hours(1);  // after it, a temporary file is nobody's

struct Header {
  char magic[8] = {};
  uint64_t key_bytes = 0;
  uint64_t bytes = 0;
  Digest digest;  // of key and bytes
};

// Whether it is this user's and nobody else may write to it.
bool IsPrivate(const struct stat& info) {
  return info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// A descriptor that is closed.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  bool Read(void* to, size_t bytes) const {
    for (auto* at = static_cast<char*>(to); bytes > 0;) {
      const ssize_t got = read(descriptor_, at, bytes);
      if (got <= 0) return false;
      at += got;
      bytes -= static_cast<size_t>(got);
    }
    return true;
  }
  bool Write(const void* from, size_t bytes) const {
    for (auto* at = static_cast<const char*>(from); bytes > 0;) {
      const ssize_t put = write(descriptor_, at, bytes);
      if (put <= 0) return false;
      at += put;
      bytes -= static_cast<size_t>(put);
    }
    return true;
  }

 private:
  int descriptor_;
};

Digest DigestOfBoth(std::string_view key, std::span<const std::byte> bytes) {
  DigestStream stream;
  stream.Update(std::as_bytes(std::span(key)));
  stream.Update(bytes);
  return stream.Finish();
}

std::string FileOf(std::string_view key) { return DigestOf(std::as_bytes(std::span(key))).Hex() + kSuffix; }

File OpenFolder(const std::string& path) {
  return File(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Why files in the open folder are not to be trusted; "" where they are.
std::string ProblemOf(const File& folder, const std::string& path) {
  struct stat info {};
  if (fstat(folder.descriptor(), &info) != 0) return "'" + path + "' cannot be looked at";
  if (info.st_uid != geteuid())
    return "'" + path + "' belongs to user " + std::to_string(info.st_uid) + ", not to user " +
           std::to_string(geteuid());
  return IsPrivate(info) ? "" : "others than its owner may write to '" + path + "'";
}

// The folder and those above it that are missing.
void MakeFolders(const fs::path& path) {
  if (path.has_parent_path() && path.parent_path() != path) {
    std::error_code error;
    if (!fs::exists(path.parent_path(), error)) MakeFolders(path.parent_path());
  }
  mkdir(path.c_str(), 0700);
}

}  // namespace

std::string CacheFolder::Problem() const {
  if (path_.empty()) return {};
  const File folder = OpenFolder(path_);
  if (folder.is_open()) return ProblemOf(folder, path_);
  return errno == ENOENT ? "" : "'" + path_ + "' cannot be opened: " + std::strerror(errno);
}

std::optional<std::vector<std::byte>> CacheFolder::Load(std::string_view key) const {
  if (path_.empty()) return std::nullopt;
  const File folder = OpenFolder(path_);
  if (!folder.is_open() || !ProblemOf(folder, path_).empty()) return std::nullopt;
  // What is no regular file (a pipe, say) opens at once, too.
  const File file(openat(folder.descriptor(), FileOf(key).c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info {};
  Header header;
  if (!file.is_open() || fstat(file.descriptor(), &info) != 0 || !S_ISREG(info.st_mode) || !IsPrivate(info) ||
      !file.Read(&header, sizeof header))
    return std::nullopt;
  const auto size = static_cast<uint64_t>(info.st_size);
  if (header.bytes > static_cast<uint64_t>(max_bytes_) ||
      std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key_bytes != key.size() ||
      header.bytes > size || sizeof header + header.key_bytes + header.bytes != size)
    return std::nullopt;
  std::string stored_key(key.size(), 0);
  std::vector<std::byte> bytes(header.bytes);
  if (!file.Read(stored_key.data(), stored_key.size()) || !file.Read(bytes.data(), bytes.size()))
    return std::nullopt;
  if (stored_key != key || !(DigestOfBoth(key, bytes) == header.digest)) return std::nullopt;
  futimens(file.descriptor(), nullptr);  // used now
  return bytes;
}

void CacheFolder::Store(std::string_view key, std::span<const std::byte> bytes) const {
  if (path_.empty() || static_cast<int64_t>(bytes.size()) > max_bytes_) return;
  MakeFolders(path_);
  const File folder = OpenFolder(path_);
  if (!folder.is_open() || !ProblemOf(folder, path_).empty()) return;
  Header header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.key_bytes = key.size();
  header.bytes = bytes.size();
  header.digest = DigestOfBoth(key, bytes);
  const std::string name = FileOf(key);
  // Nobody else writes a file of this name: process and address of this call.
  const std::string temporary = name + "." + std::to_string(getpid()) + "." +
                                std::to_string(reinterpret_cast<uintptr_t>(&header)) + ".tmp";
  bool written = false;
  {
    const File file(openat(folder.descriptor(), temporary.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open()) return;
    written = file.Write(&header, sizeof header) && file.Write(key.data(), key.size()) &&
              file.Write(bytes.data(), bytes.size());
  }
  written =
      written && renameat(folder.descriptor(), temporary.c_str(), folder.descriptor(), name.c_str()) == 0;
  if (!written) unlinkat(folder.descriptor(), temporary.c_str(), 0);
  Shrink();
}

void CacheFolder::Shrink() const {
  struct Kept {
    fs::path path;
    fs::file_time_type used;
    int64_t bytes;
  };
  std::vector<Kept> files;
  std::error_code error;
  int64_t total = 0;
  for (fs::directory_iterator at(path_, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    Kept kept{at->path(), at->last_write_time(ignored), static_cast<int64_t>(at->file_size(ignored))};
    if (ignored) continue;
    if (kept.path.extension() == ".tmp" && fs::file_time_type::clock::now() - kept.used > kAbandoned)
      fs::remove(kept.path, ignored);
    if (kept.path.extension() != kSuffix) continue;
    total += kept.bytes;
    files.push_back(std::move(kept));
  }
  if (total <= max_bytes_) return;
  std::sort(files.begin(), files.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
  for (const Kept& file : files) {
    if (total <= max_bytes_) return;
    fs::remove(file.path, error);
    total -= file.bytes;
  }
}

std::string DefaultCacheFolder() {
  if (const char* folder = secure_getenv("TVMVM_CACHE_DIR")) return folder;
  if (const char* folder = secure_getenv("XDG_CACHE_HOME"); folder != nullptr && *folder == '/')
    return std::string(folder) + "/tvm-vm";
  if (const char* home = secure_getenv("HOME"); home != nullptr && *home == '/')
    return std::string(home) + "/.cache/tvm-vm";
  return {};
}

}  // namespace tvmvm
