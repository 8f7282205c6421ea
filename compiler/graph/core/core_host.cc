// What runs in the host library. A row has no type rule: whoever makes the node says what its results are.
#include "bytecode/host_functions.h"
#include "compiler/graph/core/core_families.h"

namespace tvmvm::ir {
namespace {

constexpr int Count(uint32_t count) { return count == HostSignature::kAny ? -1 : static_cast<int>(count); }

constexpr uint32_t kAny = HostSignature::kAny;

constexpr CoreOp kRows[] = {
#define HOST(Name, host_name, scalars, refs, scalar_results, ref_results, about) \
  {.name = host_name,                                                            \
   .kind = OpKind::kHost,                                                        \
   .max_inputs = Count(refs),                                                    \
   .meaning = about,                                                             \
   .attributes = "scalars symbols",                                              \
   .host = HostFunctionId::k##Name},
#include "bytecode/host_functions.def"
#undef HOST
};

}  // namespace

std::span<const CoreOp> HostFamily() { return kRows; }

}  // namespace tvmvm::ir
