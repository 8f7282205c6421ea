// Objects -> one shared object without imports, by lld inside this process. Private to this folder.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tvm-vm/status.h"

namespace tvmvm::codegen {

// Thread-safe; links run one at a time. Errors: kInternal with the linker's words, undefined symbols by name.
Expected<std::vector<std::byte>> LinkSharedObject(std::span<const std::vector<char>> objects,
                                                  const std::string& triple);

}  // namespace tvmvm::codegen
