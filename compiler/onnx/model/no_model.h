// What a file is that cannot be read as a model.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace tvmvm::ir {

// "is cut off at byte 812: ...", "is a .vmexe program, not an ONNX file: run it, ...", "is not an ONNX file:
// ...". Looks at the beginning and at the outermost fields alone; nullopt where these are a model's.
std::optional<std::string> WhyNoModel(std::span<const std::byte> bytes);

}  // namespace tvmvm::ir
