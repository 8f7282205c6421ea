#include <cstring>

#include "bytecode/digest.h"
#include "tvm-vm/trust.h"

namespace tvmvm {

std::string PublicKey::Hex() const { return HexOf(bytes); }

SecretKey::~SecretKey() { explicit_bzero(seed_.data(), seed_.size()); }

}  // namespace tvmvm
