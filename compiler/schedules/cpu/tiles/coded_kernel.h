// Products with right operands that are panels of codes (compiler/schedules/coded_panels.h).
//
// A code becomes a float by two operations on its bits: they are put into the mantissa of a power of two,
// which is taken off again together with the zero point. Both are exact. Few rows are multiplied with what is
// decoded in registers, a block's sums are scaled at its end; for many rows panels are decoded into scratch
// first.
#pragma once

#include <vector>

#include "compiler/loops/nest.h"
#include "compiler/schedules/coded_panels.h"
#include "compiler/schedules/cpu/tiles/micro_kernel.h"

namespace tvmvm::tensor {

// Arguments of a kernel.
struct CodedBuffers {
  uint32_t words = 0, scales = 0, zeros = 0;
};

// Adds them to a kernel, and to `arguments` the packed constants that they are.
CodedBuffers AddCodedArguments(const CodedLayout& layout, LoopKernel* kernel,
                               std::vector<KernelArgument>* arguments);

// As PlanTiles, for sums of f32.
TilePlan PlanCodedTiles(const TargetInfo& target, int block_panels);

// A[r, k] is a_buffer[a_rows[r] + k * a_step]; `panel` is the number of the tile's first panel among those of
// all batch entries.
struct CodedOperands {
  uint32_t a_buffer = 0;
  DType a_dtype = DType::kInvalid;
  std::vector<Expr> a_rows;
  Expr a_step;
  CodedLayout layout;
  CodedBuffers buffers;
  Expr panel;
};

// As MicroKernel.
StmtPtr CodedMicroKernel(LoopKernel* kernel, const CodedOperands& operands, RegisterTile shape, int lanes,
                         uint32_t tile);

// Decodes panels [panel, panel + count) of batch entry `batch` to `target`, as panels of f32; those that do
// not exist are left out.
void DecodePanels(Nest& nest, const CodedLayout& layout, const CodedBuffers& buffers, const Expr& batch,
                  const Expr& panel, int count, int lanes, uint32_t target);

}  // namespace tvmvm::tensor
