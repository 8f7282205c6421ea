// Dims that sizes of tensors could take out of 64 bits. Arithmetic of dims ends with an error there, that of
// tensors wraps around: what is a tensor's may only become a dim's where both give the same.
#pragma once

#include "compiler/dim/dim.h"

namespace tvmvm::ir {

// True for dims with large constants.
bool MayOverflow(const Dim& dim);

}  // namespace tvmvm::ir
