// The header of a .npy file: a Python dict literal that says how the array's bytes are laid out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tvm-vm/status.h"

namespace tvmvm::cli {

struct NpyHeader {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;  // none negative
};

// `text` is the dict literal, padding included. Errors: kInvalidArgument (malformed), kUnsupported
// (structured types).
Expected<NpyHeader> ParseNpyHeader(std::string_view text);
// Magic, version 1.0, length and dict, padded to a multiple of 64 bytes.
std::string FormatNpyHeader(const NpyHeader& header);

}  // namespace tvmvm::cli
