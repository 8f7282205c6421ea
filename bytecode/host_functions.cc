#include "bytecode/host_functions.h"

namespace tvmvm {
namespace {

constexpr uint32_t kAny = HostSignature::kAny;

constexpr HostSignature kSignatures[] = {
#define HOST(Name, name, scalars, refs, scalar_results, ref_results, meaning) \
  {name, scalars, refs, scalar_results, ref_results, meaning},
#include "bytecode/host_functions.def"
#undef HOST
};

}  // namespace

std::span<const HostSignature> HostSignatures() { return kSignatures; }

std::optional<HostFunctionId> FindHostFunction(std::string_view name) {
  for (uint32_t i = 0; i < std::size(kSignatures); ++i)
    if (kSignatures[i].name == name) return static_cast<HostFunctionId>(i);
  return std::nullopt;
}

}  // namespace tvmvm
