// The digest that ONNX files give of their external data.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tvmvm::ir {

// SHA-1, in lower-case hex. It finds damage; it is no signature.
std::string ChecksumOf(std::span<const std::byte> bytes);

}  // namespace tvmvm::ir
