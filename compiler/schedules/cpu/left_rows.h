// Rows of a product's left operand that are not read where they lie.
#pragma once

#include "compiler/schedules/cpu/matrix_product.h"

namespace tvmvm::tensor {

// Writes the `rows` rows from `first` on to `target`, `row_elements` apart. Rows that are lines of positions
// are gathered a line after the other: where one lies is found once.
void GatherRows(Nest& nest, const LeftOperand& left, const Expr& first, const Expr& rows, uint32_t target,
                const ir::Dim& row_elements);

}  // namespace tvmvm::tensor
