#include "serializer/wire/sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "bytecode/format_text.h"

namespace tvmvm::wire {
namespace {

// Linux moves at most this much in one call.
constexpr size_t kMaxWrite = size_t{1} << 30;
constexpr int kMaxAttempts = 1000;

tl::unexpected<Error> SystemError(const std::string& path, const char* what, int error) {
  return MakeError(CodeOfSystemError(error), FormatText("{}: {}: {}", path, what, std::strerror(error)));
}

// Makes the rename durable; a file system that cannot is no reason to fail.
void SyncFolder(const std::string& folder) {
  const FileDescriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.get() >= 0) (void)::fsync(file.get());
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}

// Signals wait while the file has the temporary name, so that none leaves it there.
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

Status MemorySink::Append(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return {};
}

Status MemorySink::Overwrite(uint64_t offset, std::span<const std::byte> bytes) {
  std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  return {};
}

Expected<std::unique_ptr<FileSink>> FileSink::Create(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return MakeError(Code::kInvalidArgument, FormatText("{}: it exists and is no regular file", path));
  std::unique_ptr<FileSink> sink(new FileSink(path));
  sink->file_.Take(::open(FolderOf(path).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666));
  if (sink->file_.get() >= 0) return sink;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    std::string temporary = FormatText("{}.{}-{}.tmp", path, ::getpid(), attempt);
    sink->file_.Take(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (sink->file_.get() >= 0) {
      sink->temporary_ = std::move(temporary);
      return sink;
    }
    if (errno != EEXIST) return SystemError(path, "cannot create the file", errno);
  }
  return SystemError(path, "cannot create a temporary file beside it", EEXIST);
}

FileSink::~FileSink() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status FileSink::Failed(const char* what, int error) const { return SystemError(path_, what, error); }

Status FileSink::WriteAll(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written =
        ::pwrite(file_.get(), bytes.data(), std::min(bytes.size(), kMaxWrite), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Failed("cannot write", written < 0 ? errno : ENOSPC);
    offset += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status FileSink::Append(std::span<const std::byte> bytes) {
  TVMVM_CHECK_OK(WriteAll(size_, bytes));
  size_ += bytes.size();
  return {};
}

Status FileSink::Overwrite(uint64_t offset, std::span<const std::byte> bytes) {
  return WriteAll(offset, bytes);
}

int FileSink::Link() {
  const std::string open_file = FormatText("/proc/self/fd/{}", file_.get());
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    std::string name = FormatText("{}.{}-{}.tmp", path_, ::getpid(), attempt);
    if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = std::move(name);
      return 0;
    }
    if (errno != EEXIST) return errno;
  }
  return EEXIST;
}

Status FileSink::Commit() {
  const std::string folder = FolderOf(path_);  // first, as it may throw
  if (::fsync(file_.get()) != 0) return Failed("cannot write", errno);
  SignalsWait until_renamed;
  if (temporary_.empty())
    if (int error = Link()) return Failed("cannot name the file", error);
  if (file_.Close() != 0) return Failed("cannot write", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return Failed("cannot rename to it", errno);
  temporary_.clear();
  SyncFolder(folder);
  return {};
}

}  // namespace tvmvm::wire
