#include "vm/c/objects.h"

#include <new>
#include <utility>

#include "bytecode/guarded.h"

namespace tvmvm::c {

tvmvm_status* NoMemory() noexcept {
  static tvmvm_status status{{Code::kOutOfMemory, {}}};  // the message stays empty
  return &status;
}

tvmvm_status* Guarded(Body body) noexcept {
  Status result = tvmvm::Guarded(body);
  if (result) return nullptr;
  auto* status = new (std::nothrow) tvmvm_status{std::move(result.error())};
  return status != nullptr ? status : NoMemory();
}

}  // namespace tvmvm::c
