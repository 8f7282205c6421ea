// Public keys out of files.
#pragma once

#include <string>
#include <vector>

#include "tvm-vm/status.h"
#include "tvm-vm/trust.h"

namespace tvmvm::cli {

Expected<std::vector<PublicKey>> ReadPublicKeys(const std::vector<std::string>& paths);

}  // namespace tvmvm::cli
