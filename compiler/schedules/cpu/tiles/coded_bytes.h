// Products of right operands that are panels of codes (compiler/schedules/coded_panels.h, layouts by bytes)
// with left operands that are rounded to bytes: sums of a block are integers.
//
// A kernel of its own rounds the left operand's rows, each block of them by a scale of its own, to [-127,
// 127]; or to as much more as three bytes hold, which are the digits of a number and signed, each of them.
// Another multiplies: it holds the codes of a block for one or two vectors of columns in registers, and goes
// through all rows of its grid point with them. Sums of the whole depth are f32 in a local tile.
#pragma once

#include <functional>
#include <vector>

#include "compiler/loops/nest.h"
#include "compiler/schedules/coded_panels.h"
#include "compiler/schedules/cpu/tiles/coded_kernel.h"
#include "compiler/schedules/group.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::tensor {

// Rows in bytes, and for each block of them what it is worth:
//   bytes   i8 [rows][blocks][digits][block], the highest digit first, read as u32; what lies behind the
//           depth is zero
//   scales  f32 [rows][blocks]
//   starts  i32 [rows][blocks][digits]: the sum of a block's digits times -zero; or, where columns have zero
//           points of their own, f32 [rows][blocks]: the sum of its numbers times -1
struct ByteRows {
  uint32_t bytes = 0, scales = 0, starts = 0;
};

// Adds the workspaces that hold `rows` of them.
void AddByteWorkspaces(const CodedLayout& layout, const ir::Dim& rows, GroupProgram* program);
// Adds the arguments of a kernel that writes or reads them, and lists them in `arguments` unless that is
// null.
ByteRows AddByteArguments(const CodedLayout& layout, Access access, LoopKernel* kernel,
                          std::vector<KernelArgument>* arguments);

// Builds the kernel that makes rows, one for each point of its grid, where `when` is not 0. `gather` writes a
// row's numbers, f32, to the buffer from its first element on.
Status BuildByteRows(const CodedLayout& layout, const ByteRows& to, const ir::Dim& rows, const ir::Dim& when,
                     const TargetInfo& target,
                     const std::function<void(Nest&, const Expr& row, uint32_t buffer)>& gather,
                     LoopKernel* kernel);

// The panels of one pass over the rows.
int PanelsByBytes(int block_panels);

// Rows [first_row, first_row + rows) times panels [panel, panel + panels), summed over the depth into the
// local buffer `tile` of rows of 16 * panels elements.
struct BytesProduct {
  CodedLayout layout;
  CodedBuffers codes;
  ByteRows left;
  Expr first_row, rows, panel;
  int panels = 1;
};
void AddBytesProduct(Nest& nest, const BytesProduct& product, const TargetInfo& target, uint32_t tile);

}  // namespace tvmvm::tensor
