#include "tvm-vm/version.h"

namespace tvmvm {

uint32_t Version() { return TVMVM_VERSION; }

std::string VersionText(uint32_t version) {
  return std::to_string(version / 1'000'000) + "." + std::to_string(version / 1000 % 1000) + "." +
         std::to_string(version % 1000);
}

}  // namespace tvmvm
