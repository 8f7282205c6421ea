// The kernel libraries built beside these tests.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace tvmvm::testing {

// "fill_one", ...; empty where it does not exist.
inline std::vector<std::byte> ReadKernelLibrary(const std::string& name) {
  std::vector<std::byte> bytes;
  FILE* file = std::fopen((std::string(TVMVM_BINARY_DIR) + "/test_kernels/" + name + ".so").c_str(), "rb");
  if (file == nullptr) return bytes;
  std::byte chunk[4096];
  while (size_t size = std::fread(chunk, 1, sizeof chunk, file))
    bytes.insert(bytes.end(), chunk, chunk + size);
  std::fclose(file);
  return bytes;
}

}  // namespace tvmvm::testing
