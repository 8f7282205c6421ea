#include "compiler/schedules/cpu/left_rows.h"

namespace tvmvm::tensor {

void GatherRows(Nest& nest, const LeftOperand& left, const Expr& first, const Expr& rows, uint32_t target,
                const ir::Dim& row_elements) {
  if (!left.gather_in_line) {
    Expr row = Variable(nest.Open("row", IntConstant(0), rows));
    left.gather(nest, first + row, target, nest.Let("to", row * DimValue(row_elements)));
    return nest.Close();
  }
  const Expr length = DimValue(Max(left.line, 1)), one = IntConstant(1), end = first + rows;
  Expr line = Variable(nest.Open("line", FloorDiv(first, length), FloorDiv(end - one, length) + one));
  Expr begin = nest.Let("line_begin", line * length);
  Expr at = Variable(nest.Open("at", Max(first - begin, IntConstant(0)), Min(end - begin, length)));
  left.gather_in_line(nest, line, at, target, nest.Let("to", (begin + at - first) * DimValue(row_elements)));
  nest.Close();
  nest.Close();
}

}  // namespace tvmvm::tensor
