// Host functions on string tensors.
#pragma once

#include "vm/host/host_library.h"

namespace tvmvm {

// string.copy (to_index, from_index, count) (to, from): copies elements of `from` to `to`.
Status CopyStrings(HostCall& call);
// string.equal (index_a, index_b) (a, b) -> (equal): 1 when the two elements are the same text.
Status EqualStrings(HostCall& call);

}  // namespace tvmvm
