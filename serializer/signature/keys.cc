// Keys as files of one line: what it is, and 32 bytes in hex.
#include "serializer/signature/keys.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "bytecode/digest.h"
#include "serializer/signature/signature_section.h"

namespace tvmvm::signature {
namespace {

using Bytes32 = std::array<uint8_t, 32>;

constexpr std::string_view kSecretKind = "tvm-vm-secret-key-ed25519";
constexpr std::string_view kPublicKind = "tvm-vm-public-key-ed25519";
constexpr size_t kMostBytes = 256;  // of a key file

tl::unexpected<Error> SystemError(const std::string& path, const char* what, int error) {
  return MakeError(error == ENOENT ? Code::kNotFound : Code::kIo,
                   fmt::format("{}: {}: {}", path, what, std::strerror(error)));
}

// Text that held a secret.
struct Wiped {
  std::array<char, kMostBytes> text{};
  size_t size = 0;
  ~Wiped() { explicit_bzero(text.data(), text.size()); }
};

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// Whether the system lets others at a key.
Status CheckOwner(const std::string& path, const struct stat& info, bool is_secret) {
  if (!S_ISREG(info.st_mode))
    return MakeError(Code::kInvalidArgument, fmt::format("{}: no regular file", path));
  const auto mode = static_cast<unsigned>(info.st_mode & 07777);
  if (!is_secret) {
    if ((mode & S_IWOTH) == 0) return {};
    return MakeError(Code::kInvalidArgument,
                     fmt::format("{}: everybody may write to this public key (mode {:04o})", path, mode));
  }
  if (info.st_uid != ::geteuid())
    return MakeError(Code::kInvalidArgument,
                     fmt::format("{}: this secret key belongs to user {}, not to user {}", path, info.st_uid,
                                 ::geteuid()));
  if ((mode & (S_IRWXG | S_IRWXO)) == 0) return {};
  return MakeError(Code::kInvalidArgument,
                   fmt::format("{}: others than its owner may use this secret key (mode {:04o}, 0600 is "
                               "wanted): chmod 600",
                               path, mode));
}

Status ReadAll(const std::string& path, bool is_secret, Wiped* to) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &info) != 0)
    return SystemError(path, "cannot open the key", errno);
  TVMVM_CHECK_OK(CheckOwner(path, info, is_secret));
  while (to->size < to->text.size()) {
    const ssize_t got = ::read(file.descriptor(), to->text.data() + to->size, to->text.size() - to->size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(path, "cannot read the key", errno);
    if (got == 0) break;
    to->size += static_cast<size_t>(got);
  }
  return {};
}

std::optional<uint8_t> DigitOf(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<uint8_t>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<uint8_t>(digit - 'a' + 10);
  return std::nullopt;
}

// "KIND HEX\n"
std::optional<Bytes32> ParseKey(std::string_view text, std::string_view kind) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  if (!text.starts_with(kind) || text.size() != kind.size() + 65 || text[kind.size()] != ' ')
    return std::nullopt;
  text.remove_prefix(kind.size() + 1);
  Bytes32 bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto high = DigitOf(text[2 * i]), low = DigitOf(text[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    bytes[i] = static_cast<uint8_t>(*high << 4 | *low);
  }
  return bytes;
}

Expected<Bytes32> ReadKey(const std::string& path, bool is_secret) {
  Wiped text;
  TVMVM_CHECK_OK(ReadAll(path, is_secret, &text));
  const std::string_view kind = is_secret ? kSecretKind : kPublicKind;
  if (const std::optional<Bytes32> key = ParseKey({text.text.data(), text.size}, kind)) return *key;
  const bool is_other =
      std::string_view(text.text.data(), text.size).starts_with(is_secret ? kPublicKind : kSecretKind);
  return MakeError(Code::kInvalidArgument,
                   fmt::format("{}: {}, wanted a {} key: one line of '{}' and 64 hex digits", path,
                               is_other ? (is_secret ? "a public key" : "a secret key") : "no key",
                               is_secret ? "secret" : "public", kind));
}

Status WriteKey(const std::string& path, std::string_view kind, const Bytes32& key, mode_t mode) {
  std::string line = fmt::format("{} {}\n", kind, HexOf(key));  // first, as it may throw
  const File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (file.descriptor() < 0) return SystemError(path, "cannot create the key", errno);
  const ssize_t written = ::write(file.descriptor(), line.data(), line.size());
  const int error = written < 0 ? errno : ENOSPC;
  const bool is_whole = written == static_cast<ssize_t>(line.size()) && ::fsync(file.descriptor()) == 0;
  explicit_bzero(line.data(), line.size());
  if (is_whole) return {};
  ::unlink(path.c_str());
  return SystemError(path, "cannot write the key", error);
}

}  // namespace

Status MakeKeyFiles(const std::string& path) {
  Bytes32 seed{};
  randombytes_buf(seed.data(), seed.size());
  const SecretKey secret(seed);
  explicit_bzero(seed.data(), seed.size());
  TVMVM_CHECK_OK(WriteKey(path, kSecretKind, secret.seed(), 0600));
  Status status = WriteKey(path + ".pub", kPublicKind, PublicKeyOf(secret).bytes, 0644);
  if (!status) ::unlink(path.c_str());
  return status;
}

Expected<PublicKey> ReadPublicKey(const std::string& path) {
  TVMVM_TRY(const Bytes32 bytes, ReadKey(path, false));
  return PublicKey{bytes};
}

Expected<SecretKey> ReadSecretKey(const std::string& path) {
  TVMVM_TRY(Bytes32 bytes, ReadKey(path, true));
  SecretKey key(bytes);
  explicit_bzero(bytes.data(), bytes.size());
  return key;
}

}  // namespace tvmvm::signature
