#include "allocator/account.h"

namespace tvmvm {

Status MemoryAccount::Refuse(int64_t bytes, int64_t held, std::string_view purpose) const {
  return MakeError(Code::kOutOfMemory, std::string(purpose) + " needs " + std::to_string(bytes) + " bytes; " +
                                           std::to_string(held) + " bytes are in use" +
                                           (owner_.empty() ? "" : " by " + owner_) + " and the limit is " +
                                           std::to_string(limit()));
}

}  // namespace tvmvm
