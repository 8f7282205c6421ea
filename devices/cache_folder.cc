#include "devices/cache_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
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

class File {
 public:
  File(const std::string& path, int flags) : descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool is_open() const { return descriptor_ >= 0; }

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

}  // namespace

std::string CacheFolder::FileOf(std::string_view key) const {
  const Digest digest = DigestOf(std::as_bytes(std::span(key)));
  return path_ + "/" + digest.Hex() + kSuffix;
}

std::optional<std::vector<std::byte>> CacheFolder::Load(std::string_view key) const {
  if (path_.empty()) return std::nullopt;
  const std::string path = FileOf(key);
  const File file(path, O_RDONLY);
  Header header;
  std::error_code error;
  const uint64_t size = file.is_open() ? fs::file_size(path, error) : 0;
  if (!file.is_open() || error || !file.Read(&header, sizeof header)) return std::nullopt;
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key_bytes != key.size() ||
      header.bytes > size || sizeof header + header.key_bytes + header.bytes != size)
    return std::nullopt;
  std::string stored_key(key.size(), 0);
  std::vector<std::byte> bytes(header.bytes);
  if (!file.Read(stored_key.data(), stored_key.size()) || !file.Read(bytes.data(), bytes.size()))
    return std::nullopt;
  if (stored_key != key || !(DigestOfBoth(key, bytes) == header.digest)) return std::nullopt;
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
  return bytes;
}

void CacheFolder::Store(std::string_view key, std::span<const std::byte> bytes) const {
  if (path_.empty() || static_cast<int64_t>(bytes.size()) > max_bytes_) return;
  std::error_code error;
  if (!fs::exists(path_, error)) {
    fs::create_directories(path_, error);
    fs::permissions(path_, fs::perms::owner_all, error);
  }
  Header header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.key_bytes = key.size();
  header.bytes = bytes.size();
  header.digest = DigestOfBoth(key, bytes);
  const std::string path = FileOf(key);
  // Nobody else writes a file of this name: process and address of this call.
  const std::string temporary = path + "." + std::to_string(getpid()) + "." +
                                std::to_string(reinterpret_cast<uintptr_t>(&header)) + ".tmp";
  bool written = false;
  {
    const File file(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    if (!file.is_open()) return;
    written = file.Write(&header, sizeof header) && file.Write(key.data(), key.size()) &&
              file.Write(bytes.data(), bytes.size());
  }
  if (written) fs::rename(temporary, path, error);
  if (!written || error) fs::remove(temporary, error);
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
  if (const char* folder = std::getenv("TVMVM_CACHE_DIR")) return folder;
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder != nullptr && *folder == '/')
    return std::string(folder) + "/tvm-vm";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::string(home) + "/.cache/tvm-vm";
  return {};
}

}  // namespace tvmvm
