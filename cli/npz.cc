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

// The current entry's bytes. Grows with what is really there: the archive's own sizes may lie.
Expected<std::vector<std::byte>> ReadEntry(unzFile archive, const std::string& place) {
  if (unzOpenCurrentFile(archive) != UNZ_OK) return Wrong(place, "the entry cannot be read");
  constexpr size_t kChunk = 1 << 20;
  std::vector<std::byte> bytes;
  size_t filled = 0;
  int got = 0;
  do {
    bytes.resize(filled + kChunk);
    got = unzReadCurrentFile(archive, bytes.data() + filled, kChunk);
    if (got > 0) filled += static_cast<size_t>(got);
  } while (got > 0);
  bytes.resize(filled);
  bool is_whole = unzCloseCurrentFile(archive) == UNZ_OK;  // checks the checksum
  if (got < 0 || !is_whole) return Wrong(place, "the entry is damaged");
  return bytes;
}

}  // namespace

Expected<std::vector<Tensor>> ReadNpz(const std::string& path, DType wanted) {
  TVMVM_CHECK_OK(InputFile::Open(path));  // for an error that says why
  Archive archive(unzOpen64(path.c_str()));
  if (!archive) return Wrong(path, "not a zip archive");
  std::vector<Tensor> tensors;
  int status = unzGoToFirstFile(archive.get());
  for (; status == UNZ_OK; status = unzGoToNextFile(archive.get())) {
    char name[256] = {};
    unz_file_info64 info;
    if (unzGetCurrentFileInfo64(archive.get(), &info, name, sizeof(name) - 1, nullptr, 0, nullptr, 0) !=
        UNZ_OK)
      return Wrong(path, "an entry is damaged");
    std::string place = fmt::format("{}/{}", path, name);
    TVMVM_TRY(std::vector<std::byte> bytes, ReadEntry(archive.get(), place));
    TVMVM_TRY(Tensor tensor, ReadNpy(InputFile::FromBytes(place, std::move(bytes)), wanted));
    tensors.push_back(std::move(tensor));
  }
  if (status != UNZ_END_OF_LIST_OF_FILE) return Wrong(path, "the archive is damaged");
  return tensors;
}

}  // namespace tvmvm::cli
