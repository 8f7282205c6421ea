#include "compiler/codegen/llvm/link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <thread>
#include <utility>

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

// Takes what is written to a path: a pipe, so that nothing is left in any folder when the process ends early.
class OutputPipe {
 public:
  OutputPipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    write_end_ = ends[1];
    reader_ = std::thread([this, end = ends[0]] { Read(end); });
  }
  ~OutputPipe() { (void)Take(); }
  OutputPipe(const OutputPipe&) = delete;

  bool is_open() const { return write_end_ >= 0; }
  std::string path() const { return fmt::format("/proc/self/fd/{}", write_end_); }
  // All that was written. Whoever wrote has closed the path.
  std::vector<std::byte> Take() {
    if (write_end_ >= 0) close(std::exchange(write_end_, -1));
    if (reader_.joinable()) reader_.join();
    return std::move(bytes_);
  }

 private:
  void Read(int end) {
    constexpr size_t kChunk = 1 << 16;
    for (size_t filled = 0;;) {
      bytes_.resize(filled + kChunk);
      ssize_t count = read(end, bytes_.data() + filled, kChunk);
      if (count > 0) filled += static_cast<size_t>(count);
      if (count > 0 || (count < 0 && errno == EINTR)) continue;
      bytes_.resize(filled);
      break;
    }
    close(end);
  }

  int write_end_ = -1;
  std::vector<std::byte> bytes_;  // the reader's until it has ended
  std::thread reader_;
};

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
  OutputPipe pipe;
  if (!pipe.is_open()) return MakeError(Code::kInternal, "no pipe from the linker can be made");
  std::vector<MemoryFile> files(objects.size());
  bool is_arm = triple.starts_with("aarch64");
  std::vector<std::string> words = {"ld.lld",
                                    "-shared",
                                    "-m",
                                    is_arm ? "aarch64linux" : "elf_x86_64",
                                    "-o",
                                    pipe.path(),
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
  std::vector<std::byte> output = pipe.Take();
  if (output.empty()) return MakeError(Code::kInternal, "the linker wrote no output");
  return output;
}

}  // namespace tvmvm::codegen
