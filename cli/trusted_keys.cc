#include "cli/trusted_keys.h"

namespace tvmvm::cli {

Expected<std::vector<PublicKey>> ReadPublicKeys(const std::vector<std::string>& paths) {
  std::vector<PublicKey> keys;
  for (const std::string& path : paths) {
    TVMVM_TRY(const PublicKey key, ReadPublicKey(path));
    keys.push_back(key);
  }
  return keys;
}

}  // namespace tvmvm::cli
