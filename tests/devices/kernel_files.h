// The kernel libraries built beside these tests.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/folders.h"

namespace tvmvm::testing {

// Empty where there is no such file.
inline std::vector<std::byte> ReadBytes(const std::string& path) {
  std::vector<std::byte> bytes;
  FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return bytes;
  std::byte chunk[4096];
  while (size_t size = std::fread(chunk, 1, sizeof chunk, file))
    bytes.insert(bytes.end(), chunk, chunk + size);
  std::fclose(file);
  return bytes;
}

// "fill_one", ...; empty where it does not exist.
inline std::vector<std::byte> ReadKernelLibrary(const std::string& name) {
  return ReadBytes(BuildPath("test_kernels/") + name + ".so");
}

}  // namespace tvmvm::testing
