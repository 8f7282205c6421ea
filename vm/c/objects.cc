#include "vm/c/objects.h"

#include <new>
#include <utility>

#include "bytecode/guarded.h"

namespace tvmvm::c {

tvmvm_status* Guarded(Body body) noexcept {
  Status result = tvmvm::Guarded(body);
  if (result) return nullptr;
  auto* status = new (std::nothrow) tvmvm_status{std::move(result.error())};
  if (status != nullptr) return status;
  static tvmvm_status no_memory{{Code::kOutOfMemory, {}}, true};  // the message stays empty
  return &no_memory;
}

}  // namespace tvmvm::c
