// The project's own files, as the meta tests walk them.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/folders.h"

namespace tvmvm::meta {

inline std::filesystem::path SourceRoot() { return SourcePath(); }

inline std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<std::string> ReadLines(const std::filesystem::path& path) {
  std::istringstream text(ReadText(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// Paths relative to the root, with '/', of all files below `folder` with one of the endings.
inline std::vector<std::string> FilesBelow(const std::string& folder,
                                           const std::vector<std::string>& endings) {
  std::vector<std::string> files;
  if (!std::filesystem::exists(SourceRoot() / folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SourceRoot() / folder)) {
    std::string name = entry.path().filename().string();
    for (const std::string& ending : endings)
      if (entry.is_regular_file() && name.ends_with(ending))
        files.push_back(std::filesystem::relative(entry.path(), SourceRoot()).generic_string());
  }
  return files;
}

inline const std::vector<std::string>& SourceFolders() {
  static const std::vector<std::string> folders = {"bytecode",          "process", "serializer", "allocator",
                                                   "devices",           "vm",      "compiler",   "cli",
                                                   "isolated_compiler", "tests",   "examples"};
  return folders;
}

inline std::vector<std::string> SourceFiles() {
  std::vector<std::string> all;
  for (const std::string& folder : SourceFolders())
    for (std::string& file : FilesBelow(folder, {".h", ".cc", ".def", ".c"})) all.push_back(std::move(file));
  return all;
}

}  // namespace tvmvm::meta
