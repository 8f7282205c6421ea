#include "cli/npz.h"

#include <fmt/format.h>
#include <minizip/unzip.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

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

// An entry of an archive.
struct Entry {
  std::string place;  // for messages
  std::string name;   // of the array: without .npy
  uint64_t bytes = 0;
};

// Stands at each entry in turn; `see` says whether to go on.
Status ForEachEntry(const std::string& path,
                    const std::function<Expected<bool>(unzFile, const Entry&)>& see) {
  TVMVM_CHECK_OK(InputFile::Open(path));  // for an error that says why
  Archive archive(unzOpen64(path.c_str()));
  if (!archive) return Wrong(path, "not a zip archive");
  int status = unzGoToFirstFile(archive.get());
  for (; status == UNZ_OK; status = unzGoToNextFile(archive.get())) {
    char name[256] = {};
    unz_file_info64 info;
    if (unzGetCurrentFileInfo64(archive.get(), &info, name, sizeof(name) - 1, nullptr, 0, nullptr, 0) !=
        UNZ_OK)
      return Wrong(path, "an entry is damaged");
    Entry entry{fmt::format("{}/{}", path, name), name, info.uncompressed_size};
    if (entry.name.ends_with(".npy")) entry.name.resize(entry.name.size() - 4);
    TVMVM_TRY(bool goes_on, see(archive.get(), entry));
    if (!goes_on) return {};
  }
  return status == UNZ_END_OF_LIST_OF_FILE ? Status() : Wrong(path, "the archive is damaged");
}

// `unpacked`: bytes of the entries before; this one's are added.
Expected<Tensor> ReadArray(unzFile archive, const Entry& entry, DType wanted, int64_t max_bytes,
                           uint64_t* unpacked) {
  *unpacked += std::min<uint64_t>(entry.bytes, INT64_MAX - *unpacked);
  if (max_bytes > 0 && *unpacked > static_cast<uint64_t>(max_bytes))
    return MakeError(Code::kOutOfMemory,
                     fmt::format("'{}': unpacked it has {} bytes and makes {} with the entries before, the "
                                 "limit is {}",
                                 entry.place, entry.bytes, *unpacked, max_bytes));
  TVMVM_TRY(std::vector<std::byte> bytes, ReadEntry(archive, entry.place, wanted, entry.bytes));
  return ReadNpy(InputFile::FromBytes(entry.place, std::move(bytes)), wanted);
}

}  // namespace

Expected<std::vector<Tensor>> ReadNpz(const std::string& path, DType wanted, int64_t max_bytes) {
  std::vector<Tensor> tensors;
  uint64_t unpacked = 0;
  TVMVM_CHECK_OK(ForEachEntry(path, [&](unzFile archive, const Entry& entry) -> Expected<bool> {
    TVMVM_TRY(Tensor tensor, ReadArray(archive, entry, wanted, max_bytes, &unpacked));
    tensors.push_back(std::move(tensor));
    return true;
  }));
  return tensors;
}

Expected<std::vector<std::string>> ArraysInNpz(const std::string& path) {
  std::vector<std::string> names;
  TVMVM_CHECK_OK(ForEachEntry(path, [&](unzFile, const Entry& entry) -> Expected<bool> {
    names.push_back(entry.name);
    return true;
  }));
  return names;
}

Expected<Tensor> ReadNpzArray(const std::string& path, const std::string& name, DType wanted,
                              int64_t max_bytes) {
  std::optional<Tensor> found;
  uint64_t unpacked = 0;
  TVMVM_CHECK_OK(ForEachEntry(path, [&](unzFile archive, const Entry& entry) -> Expected<bool> {
    if (entry.name != name) return true;
    TVMVM_TRY(Tensor tensor, ReadArray(archive, entry, wanted, max_bytes, &unpacked));
    found = std::move(tensor);
    return false;
  }));
  if (found) return *std::move(found);
  return MakeError(Code::kNotFound, fmt::format("'{}' has no array '{}'", path, name));
}

}  // namespace tvmvm::cli
