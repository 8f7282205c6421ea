#include "cli/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace tvmvm::cli {
namespace {

tl::unexpected<Error> SystemError(std::string_view action, const std::string& path, int error) {
  Code code = error == ENOENT ? Code::kNotFound : Code::kIo;
  return MakeError(code, fmt::format("cannot {} '{}': {}", action, path, std::strerror(error)));
}

std::string TemporaryName(const std::string& path) { return fmt::format("{}.{}.tmp", path, getpid()); }

// Signals wait while a file has its temporary name, so that none leaves it there.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Expected<InputFile> InputFile::Open(const std::string& path) {
  // A pipe that nobody writes to opens at once, too, and is refused.
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return SystemError("open", path, errno);
  struct stat info {};
  const int error = fstat(fd, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
  if (error == 0 && S_ISREG(info.st_mode)) return InputFile(path, fd, info.st_size);
  close(fd);
  if (error != 0) return SystemError("read", path, error);
  return MakeError(Code::kInvalidArgument, fmt::format("'{}' is not a regular file", path));
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      bytes_(std::move(other.bytes_)) {}

InputFile InputFile::FromBytes(std::string path, std::vector<std::byte> bytes) {
  InputFile file(std::move(path), -1, static_cast<int64_t>(bytes.size()));
  file.bytes_ = std::move(bytes);
  return file;
}

InputFile::~InputFile() {
  if (fd_ >= 0) close(fd_);
}

// As pread.
int64_t InputFile::CopyAt(int64_t offset, std::span<std::byte> bytes) const {
  if (offset >= size_) return 0;
  int64_t count = std::min(static_cast<int64_t>(bytes.size()), size_ - offset);
  std::memcpy(bytes.data(), bytes_.data() + offset, static_cast<size_t>(count));
  return count;
}

Status InputFile::ReadAt(int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    ssize_t got = fd_ >= 0 ? pread(fd_, bytes.data(), bytes.size(), offset) : CopyAt(offset, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", path_, errno);
    if (got == 0)
      return MakeError(
          Code::kInvalidArgument,
          fmt::format("'{}' ends at byte {}, {} bytes more were expected", path_, offset, bytes.size()));
    offset += got;
    bytes = bytes.subspan(got);
  }
  return {};
}

Expected<std::vector<std::byte>> ReadFile(const std::string& path) {
  TVMVM_TRY(InputFile file, InputFile::Open(path));
  std::vector<std::byte> bytes(file.size());
  TVMVM_CHECK_OK(file.ReadAt(0, bytes));
  return bytes;
}

Expected<std::string> ReadTextFile(const std::string& path) {
  TVMVM_TRY(InputFile file, InputFile::Open(path));
  std::string text(file.size(), '\0');
  TVMVM_CHECK_OK(file.ReadAt(0, std::as_writable_bytes(std::span(text))));
  return text;
}

Expected<std::vector<std::byte>> ReadStandardInput() {
  constexpr size_t kChunk = 1 << 20;
  std::vector<std::byte> bytes;
  for (size_t filled = 0;;) {
    bytes.resize(filled + kChunk);
    const ssize_t got = read(STDIN_FILENO, bytes.data() + filled, kChunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", "standard input", errno);
    filled += static_cast<size_t>(got);
    bytes.resize(filled);
    if (got == 0) break;
  }
  if (bytes.empty()) return MakeError(Code::kInvalidArgument, "standard input holds nothing");
  return bytes;
}

Expected<std::string> ReadTextOrStandardInput(const std::string& path) {
  if (!IsStandard(path)) return ReadTextFile(path);
  TVMVM_TRY(std::vector<std::byte> bytes, ReadStandardInput());
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 && S_ISREG(first.st_mode) &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool IsSpecialFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

std::string BehindLinks(const std::string& given) {
  constexpr int kMost = 40;  // as the system follows
  std::filesystem::path path = given;
  std::error_code error;
  for (int i = 0; i < kMost && std::filesystem::is_symlink(path, error); ++i)
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  return path.string();
}

Expected<OutputFile> OutputFile::Create(const std::string& given) {
  if (IsStandard(given)) {
    std::fflush(stdout);
    return OutputFile("standard output", "", dup(STDOUT_FILENO), true);
  }
  if (IsSpecialFile(given)) {
    int fd = open(given.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return SystemError("write", given, errno);
    return OutputFile(given, "", fd, true);
  }
  const std::string path = BehindLinks(given);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  int fd = open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (fd >= 0) return OutputFile(path, "", fd, false);
  std::string temporary = TemporaryName(path);
  fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return SystemError("write", path, errno);
  return OutputFile(path, std::move(temporary), fd, false);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      is_direct_(other.is_direct_) {}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status OutputFile::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("write", path_, errno);
    bytes = bytes.subspan(written);
  }
  return {};
}

Status OutputFile::Write(std::string_view text) { return Write(std::as_bytes(std::span(text))); }

Status OutputFile::Commit() {
  SignalsWait until_renamed;
  if (!is_direct_ && temporary_.empty()) {
    temporary_ = TemporaryName(path_);
    unlink(temporary_.c_str());
    const std::string open_file = fmt::format("/proc/self/fd/{}", fd_);
    if (linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return SystemError("write", path_, errno);
  }
  int error = close(std::exchange(fd_, -1)) == 0 ? 0 : errno;
  if (is_direct_) return error == 0 ? Status() : SystemError("write", path_, error);
  if (error == 0 && rename(temporary_.c_str(), path_.c_str()) != 0) error = errno;
  if (error == 0) return {};
  unlink(temporary_.c_str());
  return SystemError("write", path_, error);
}

Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return SystemError("make folder", path, error.value());
  return {};
}

}  // namespace tvmvm::cli
