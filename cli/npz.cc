#include "cli/npz.h"

#include <fmt/format.h>
#include <minizip/unzip.h>

#include <memory>

#include "cli/files.h"
#include "cli/npy.h"

namespace tvmvm::cli {
namespace {

struct CloseArchive {
  void operator()(void* archive) const { unzClose(archive); }
};
using Archive = std::unique_ptr<void, CloseArchive>;

tl::unexpected<Error> Wrong(const std::string& path, std::string_view why) {
  return MakeError(Code::kInvalidArgument, fmt::format("'{}': {}", path, why));
}

// The current entry's bytes, `size` as the archive says. Grows with what is really there: that may lie. Ends
// early where there are more than the array's header tells of.
Expected<std::vector<std::byte>> ReadEntry(unzFile archive, const std::string& place, DType wanted,
                                           uint64_t size) {
  if (unzOpenCurrentFile(archive) != UNZ_OK) return Wrong(place, "the entry cannot be read");
  constexpr size_t kChunk = (1 << 20) + 4096;  // more than any header has
  std::vector<std::byte> bytes;
  size_t filled = 0;
  int got = 0;
  do {
    bytes.resize(filled + kChunk);
    got = unzReadCurrentFile(archive, bytes.data() + filled, kChunk);
    if (got > 0 && filled == 0) {
      const std::vector<std::byte> beginning(bytes.begin(), bytes.begin() + got);
      TVMVM_TRY(const int64_t told, NpyFileBytes(InputFile::FromBytes(place, beginning), wanted));
      if (size > static_cast<uint64_t>(told))
        return Wrong(place, fmt::format("the entry unpacks to {} bytes, its header tells of {}", size, told));
    }
    if (got > 0) filled += static_cast<size_t>(got);
  } while (got > 0);
  bytes.resize(filled);
  bool is_whole = unzCloseCurrentFile(archive) == UNZ_OK;  // checks the checksum
  if (got < 0 || !is_whole) return Wrong(place, "the entry is damaged");
  return bytes;
}

}  // namespace

Expected<std::vector<Tensor>> ReadNpz(const std::string& path, DType wanted, int64_t max_bytes) {
  TVMVM_CHECK_OK(InputFile::Open(path));  // for an error that says why
  Archive archive(unzOpen64(path.c_str()));
  if (!archive) return Wrong(path, "not a zip archive");
  std::vector<Tensor> tensors;
  uint64_t unpacked = 0;  // bytes
  int status = unzGoToFirstFile(archive.get());
  for (; status == UNZ_OK; status = unzGoToNextFile(archive.get())) {
    char name[256] = {};
    unz_file_info64 info;
    if (unzGetCurrentFileInfo64(archive.get(), &info, name, sizeof(name) - 1, nullptr, 0, nullptr, 0) !=
        UNZ_OK)
      return Wrong(path, "an entry is damaged");
    std::string place = fmt::format("{}/{}", path, name);
    unpacked += std::min<uint64_t>(info.uncompressed_size, INT64_MAX - unpacked);
    if (max_bytes > 0 && unpacked > static_cast<uint64_t>(max_bytes))
      return MakeError(Code::kOutOfMemory,
                       fmt::format("'{}': unpacked it has {} bytes and makes {} with the entries before, the "
                                   "limit is {}",
                                   place, info.uncompressed_size, unpacked, max_bytes));
    TVMVM_TRY(std::vector<std::byte> bytes, ReadEntry(archive.get(), place, wanted, info.uncompressed_size));
    TVMVM_TRY(Tensor tensor, ReadNpy(InputFile::FromBytes(place, std::move(bytes)), wanted));
    tensors.push_back(std::move(tensor));
  }
  if (status != UNZ_END_OF_LIST_OF_FILE) return Wrong(path, "the archive is damaged");
  return tensors;
}

}  // namespace tvmvm::cli
