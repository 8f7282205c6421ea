// Binaries that drivers made of kernels, kept on disk. Any number of processes use one folder at once;
// whatever is damaged, cut off or of another device counts as absent. What is stored is code: the folder and
// its files are this user's, and nobody else may write to them, or they are not used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tvmvm {

// Immutable; its functions may be called by any thread. Nothing here fails: a cache that cannot be used is
// empty.
class CacheFolder {
 public:
  static constexpr int64_t kMostBytes = int64_t{512} << 20;

  // `path` "" is a cache that holds nothing. It is made with all folders above it, for this user alone, when
  // something is first stored.
  explicit CacheFolder(std::string path, int64_t max_bytes = kMostBytes)
      : path_(std::move(path)), max_bytes_(max_bytes) {}

  // Why an existing folder is not used; "" where it is, or is yet to be made.
  std::string Problem() const;

  // `key` is everything that the bytes depend on: the device, its driver, what was compiled.
  std::optional<std::vector<std::byte>> Load(std::string_view key) const;
  // Replaces what was stored with that key; then the least recently stored or loaded go until the folder is
  // below its limit. Readers see the old bytes or the new ones.
  void Store(std::string_view key, std::span<const std::byte> bytes) const;

 private:
  void Shrink() const;

  std::string path_;
  int64_t max_bytes_;
};

// $TVMVM_CACHE_DIR, else tvm-vm in $XDG_CACHE_HOME or ~/.cache; "" where there is none of them. An empty
// $TVMVM_CACHE_DIR turns caches off. The environment counts for nothing in a process with privileges that its
// caller lacks.
std::string DefaultCacheFolder();

}  // namespace tvmvm
