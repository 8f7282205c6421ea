// Kernels as parts of another kernel, and dims as values computed within one.
#pragma once

#include <span>
#include <unordered_map>

#include "compiler/loops/loop_ir.h"

namespace tvmvm::tensor {

// What symbols are inside of a kernel; those that are not listed are known at launch.
using SymbolValues = std::unordered_map<ir::SymbolId, Expr>;

// The dim's value, i64.
Expr ValueOfDim(const ir::Dim& dim, const SymbolValues& symbols);
// dim != 0, as a bool.
Expr ConditionOfDim(const ir::Dim& dim, const SymbolValues& symbols);

// A buffer of the enclosing kernel, from an element on.
struct BufferAt {
  uint32_t buffer = 0;
  Expr offset;  // i64
};

// The kernel's whole grid, point after point, as a statement of `outer`: variables, local buffers and errors
// are added to it; `arguments` stand for the kernel's. Its scratch begins at byte `scratch_offset` of
// `outer`'s, whose scratch_bytes the caller sets.
StmtPtr InlineKernel(const LoopKernel& kernel, std::span<const BufferAt> arguments,
                     const SymbolValues& symbols, const ir::Dim& scratch_offset, LoopKernel* outer);

}  // namespace tvmvm::tensor
