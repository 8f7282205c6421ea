// Packing of constant matrix operands at compile time into the panels that the micro-kernels stream.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/graph/graph.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"

namespace tvmvm::tensor {

// Columns of one panel. Every CPU level reads panels of this width: one 512-bit vector of f32, or two of 256
// bits.
inline constexpr int64_t kPanelColumns = PanelPlace::kColumns;

// Panels of 16 columns in the narrowest block of columns, and in a packed operand as a whole (a multiple of
// the former).
int BlockPanels(const ir::Dim& columns);
// Whether blocks may be wider.
bool HasManyPanels(const ir::Dim& columns);
ir::Dim PackedPanels(const ir::Dim& columns);

// The part that each axis of an operand plays, outermost first. Every axis stands in exactly one list.
struct OperandAxes {
  std::vector<int64_t> batch;
  std::vector<int64_t> depth;  // summed over
  std::vector<int64_t> free;   // rows of a left operand, columns of a right one
};

// Of constants of this type and these dims. kUnsupported for strings, types smaller than a byte, and sizes
// that overflow.
Status CheckPackable(DType dtype, std::span<const int64_t> dims, const OperandAxes& axes, int64_t panels);

// Columns [0, N) of each batch as panels [batch][panels][depth][16]; columns from N on are zero. `panels` is
// at least ceil(N / 16). The data has passed CheckPackable.
ir::TensorData PackPanels(const ir::TensorData& data, const OperandAxes& axes, int64_t panels);

// Where the elements of data with these dims, none of which is 0, stand in what PackPanels makes of it; all
// but the constant's number.
PanelPlace PlaceInPanels(std::span<const int64_t> dims, const OperandAxes& axes, int64_t panels);

// The same for bytes, four steps of the depth together: [batch][panels][ceil(depth / 4)][16] words (u32), low
// byte first; steps that do not exist are zero.
ir::TensorData PackBytePanels(const ir::TensorData& data, const OperandAxes& axes, int64_t panels);

}  // namespace tvmvm::tensor
