// Keys in files: as in tvm-vm/trust.h.
#pragma once

#include <string>

#include "tvm-vm/trust.h"

namespace tvmvm::signature {

Status MakeKeyFiles(const std::string& path);
Expected<PublicKey> ReadPublicKey(const std::string& path);
Expected<SecretKey> ReadSecretKey(const std::string& path);

}  // namespace tvmvm::signature
