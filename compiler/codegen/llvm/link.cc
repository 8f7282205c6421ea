#include "compiler/codegen/llvm/link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>

LLD_HAS_DRIVER(elf)

namespace tvmvm::codegen {
namespace {

// A file in memory that other code can open by path.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("tvmvm-object", MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  MemoryFile(MemoryFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  MemoryFile& operator=(MemoryFile&&) = delete;

  bool Write(std::span<const char> bytes) {
    size_t done = 0;
    while (done < bytes.size()) {
      ssize_t count = write(descriptor_, bytes.data() + done, bytes.size() - done);
      if (count <= 0) return false;
      done += static_cast<size_t>(count);
    }
    return descriptor_ >= 0;
  }
  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

// A folder of our own for the linker's output, which it renames into place; removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    std::filesystem::path base =
        access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path(error);
    std::string pattern = (base / "tvmvm-link-XXXXXX").string();
    if (mkdtemp(pattern.data())) path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Expected<std::vector<std::byte>> ReadFile(const std::string& path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    if (descriptor >= 0) close(descriptor);
    return MakeError(Code::kInternal, "the linker wrote no output");
  }
  std::vector<std::byte> bytes(static_cast<size_t>(status.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t count = read(descriptor, bytes.data() + done, bytes.size() - done);
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  close(descriptor);
  if (done != bytes.size()) return MakeError(Code::kInternal, "the linker's output cannot be read");
  return bytes;
}

// lld keeps its state in globals.
bool RunLld(std::span<const char* const> arguments, std::string* messages) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  llvm::raw_string_ostream stream(*messages);
  bool ok = lld::elf::link(llvm::ArrayRef<const char*>(arguments.data(), arguments.size()), stream, stream,
                           false, false);
  lld::CommonLinkerContext::destroy();
  return ok;
}

}  // namespace

Expected<std::vector<std::byte>> LinkSharedObject(std::span<const std::vector<char>> objects,
                                                  const std::string& triple) {
  TemporaryFolder folder;
  if (folder.path().empty()) return MakeError(Code::kInternal, "no folder for temporary files can be made");
  std::vector<MemoryFile> files(objects.size());
  std::string output = folder.path() + "/kernels.so";
  bool is_arm = triple.starts_with("aarch64");
  std::vector<std::string> words = {"ld.lld",
                                    "-shared",
                                    "-m",
                                    is_arm ? "aarch64linux" : "elf_x86_64",
                                    "-o",
                                    output,
                                    "-s",
                                    "-z",
                                    "defs",
                                    "--threads=1",
                                    "--hash-style=gnu",
                                    "--build-id=none",
                                    "--no-rosegment"};
  for (size_t i = 0; i < objects.size(); ++i) {
    if (!files[i].Write(objects[i]))
      return MakeError(Code::kInternal, "an object file cannot be handed to the linker");
    words.push_back(files[i].path());
  }
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  std::string messages;
  if (!RunLld(arguments, &messages))
    return MakeError(Code::kInternal, fmt::format("linking kernels: {}", messages));
  return ReadFile(output);
}

}  // namespace tvmvm::codegen
