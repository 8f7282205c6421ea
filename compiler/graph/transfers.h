// Copies between devices as nodes. A function whose values have devices is whole once it holds a `transfer`
// wherever a node reads what lies on the other device.
#pragma once

#include "compiler/graph/storage.h"

namespace tvmvm::ir {

// Puts transfers where a node reads a value of the other device: one for each value and device that needs it,
// in the region that makes the value, just before the first node that needs it there.
void InsertTransfers(Function* function, const lowering::Views& views);

// Takes all transfers out; what read a copy reads the value itself again.
void RemoveTransfers(Function* function);

}  // namespace tvmvm::ir
