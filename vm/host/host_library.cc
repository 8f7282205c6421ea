#include "vm/host/host_library.h"

#include "vm/host/strings.h"

namespace tvmvm {
namespace {

constexpr HostFunction kFunctions[] = {
    {"string.copy", 3, 2, 0, 0, &CopyStrings, "strings are objects with memory of their own"},
    {"string.equal", 2, 2, 1, 0, &EqualStrings, "strings are objects with memory of their own"},
};

}  // namespace

std::span<const HostFunction> HostFunctions() { return kFunctions; }

}  // namespace tvmvm
