// Entries of the folder of what drivers compiled: what is given out is what somebody stored.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "bytecode/digest.h"
#include "devices/driver/cache_folder.h"
#include "tests/fuzz/targets/target.h"

namespace {

// A folder of this process's own, which goes with it.
struct Folder {
  std::string path = std::filesystem::temp_directory_path().string() + "/cache-XXXXXX";
  Folder() { tvmvm::fuzz::Require(mkdtemp(path.data()) != nullptr, "no folder"); }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::string Contents(const std::string& path) {
  std::string bytes(1 << 20, 0);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t got = file < 0 ? 0 : read(file, bytes.data(), bytes.size());
  if (file >= 0) close(file);
  bytes.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return bytes;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;  // NOLINT
  static const Folder folder;
  static constexpr std::string_view kKey = "key";
  const CacheFolder cache(folder.path);
  const std::string path = folder.path + "/" + DigestOf(std::as_bytes(std::span(kKey))).Hex() + ".bin";
  const std::string given(reinterpret_cast<const char*>(data), size);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  fuzz::Require(file >= 0 && write(file, data, size) == static_cast<ssize_t>(size), "no file");
  close(file);
  const auto bytes = cache.Load(kKey);
  if (!bytes) return 0;
  cache.Store(kKey, *bytes);
  fuzz::Require(Contents(path) == given, "an entry that nobody stored is given out");
  return 0;
}
