#include "vm/host/host_library.h"

#include <exception>
#include <new>
#include <string>

namespace tvmvm {
namespace {

using HostFunction = Status (*)(HostCall& call);

constexpr HostFunction kFunctions[] = {
#define HOST(Name, name, scalars, refs, scalar_results, ref_results, meaning) &Host##Name,
#include "bytecode/host_functions.def"
#undef HOST
};

Status RunGuarded(HostFunction function, HostCall& call) {
  try {
    return function(call);
  } catch (const std::exception&) {  // allocations of the standard library, and sizes beyond what it can do
    return MakeError(Code::kOutOfMemory, "no memory left");  // short enough to need none
  }
}

}  // namespace

Status RunHostFunction(uint32_t number, HostCall& call) {
  Status status = RunGuarded(kFunctions[number], call);
  if (status) return status;
  try {
    status.error().message.insert(0, std::string(HostSignatures()[number].name) + ": ");
  } catch (const std::bad_alloc&) {  // without its name, then
  }
  return status;
}

}  // namespace tvmvm
