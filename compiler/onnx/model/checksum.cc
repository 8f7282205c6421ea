#include "compiler/onnx/model/checksum.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA1.h>

#include <algorithm>

namespace tvmvm::ir {

std::string ChecksumOf(std::span<const std::byte> bytes) {
  constexpr size_t kPiece = size_t{1} << 30;  // it counts bytes in 32 bits
  llvm::SHA1 sha;
  while (!bytes.empty()) {
    const std::span<const std::byte> piece = bytes.first(std::min(bytes.size(), kPiece));
    sha.update(llvm::StringRef(reinterpret_cast<const char*>(piece.data()), piece.size()));
    bytes = bytes.subspan(piece.size());
  }
  return llvm::toHex(sha.final(), true);
}

}  // namespace tvmvm::ir
