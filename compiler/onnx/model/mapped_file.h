// Files that a model is made of, mapped read-only. A view into a mapping lives as long as its owner does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tvm-vm/status.h"

namespace tvmvm::ir {

class MappedFile {
 public:
  // Errors: kNotFound (does not exist), kInvalidArgument (not a regular file), kIo (not readable).
  static Expected<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }

 private:
  friend class ModelFolder;
  MappedFile() = default;
  static Expected<std::shared_ptr<const MappedFile>> Map(int descriptor, const std::string& shown);

  void* address_ = nullptr;
  size_t size_ = 0;
};

// The folder that external data is looked up in. A location is a relative path that stays beneath the folder,
// through no symbolic link, and names a regular file with one hard link: a model cannot make its reader open
// anything else.
class ModelFolder {
 public:
  // An empty path: the model has no folder, every Open fails.
  static Expected<ModelFolder> Create(const std::string& path);
  ModelFolder() = default;
  ModelFolder(ModelFolder&& other) noexcept;
  ModelFolder& operator=(ModelFolder&& other) noexcept;
  ~ModelFolder();

  // Errors: kNotFound, kIo, kInvalidArgument (leaves the folder, a link, not a regular file).
  Expected<std::shared_ptr<const MappedFile>> Open(std::string_view location) const;

 private:
  int descriptor_ = -1;
};

}  // namespace tvmvm::ir
