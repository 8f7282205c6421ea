#include "tests/folders.h"

namespace tvmvm {
namespace {

std::string Below(std::string folder, std::string_view below) {
  if (!below.empty()) folder.append("/").append(below);
  return folder;
}

}  // namespace

std::string SourcePath(std::string_view below) { return Below(TVMVM_SOURCE_DIR, below); }

std::string BuildPath(std::string_view below) { return Below(TVMVM_BINARY_DIR, below); }

std::string SharedPath(std::string_view below) { return Below(TVMVM_SHARED_DIR, below); }

}  // namespace tvmvm
