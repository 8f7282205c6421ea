#include "allocator/budget.h"

#include <string>

namespace tvmvm {

Status Budget::Refuse(int64_t bytes, std::string_view purpose) const {
  return MakeError(Code::kOutOfMemory, std::string(purpose) + " needs " + std::to_string(bytes) + " bytes; " +
                                           std::to_string(live_) + " bytes are in use and the limit is " +
                                           std::to_string(limit_));
}

}  // namespace tvmvm
