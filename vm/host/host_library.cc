#include "vm/host/host_library.h"

#include <exception>
#include <string>

#include "bytecode/guarded.h"

namespace tvmvm {
namespace {

using HostFunction = Status (*)(HostCall& call);

constexpr HostFunction kFunctions[] = {
#define HOST(Name, name, scalars, refs, scalar_results, ref_results, meaning) &Host##Name,
#include "bytecode/host_functions.def"
#undef HOST
};

}  // namespace

Status RunHostFunction(uint32_t number, HostCall& call) {
  Status status = Guarded([&] { return kFunctions[number](call); });
  if (status) return status;
  try {
    status.error().message.insert(0, std::string(HostSignatures()[number].name) + ": ");
  } catch (const std::exception&) {  // without its name, then
  }
  return status;
}

}  // namespace tvmvm
