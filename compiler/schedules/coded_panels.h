// Constant right operands of products that are kept as codes of 2, 4 or 8 bits: their panels hold words of
// codes, which kernels decode in registers (cpu/coded_kernel.h).
//
// A column's depth is cut into blocks of one scale and one zero point. 32 / bits codes of neighbouring steps
// are a word, the first in the lowest bits; every block begins with a word. Panels of 16 columns lie side by
// side in groups, those that one grid point reads, so that it reads one stream:
//   words   u32 [batch][groups][blocks][words of a block][panels of a group][16]
//   scales  f32 or f16 [batch][groups][blocks][panels of a group][16]
//   zeros   f32 or u8 likewise, where they are not one for all
// and an element is (code - zero) * scale. Columns that do not exist have the scale 0.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/schedules/group.h"
#include "compiler/schedules/packing.h"

namespace tvmvm::tensor {

// What kernels know of such panels.
struct CodedLayout {
  int bits = 4;
  int64_t depth = 0, block = 0;  // steps
  int64_t panels = 0;            // of a batch entry
  int64_t group = 1;             // panels side by side; divides `panels`
  bool has_zeros = false;
  double zero = 0;  // where it is one for all
  DType scale_type = DType::kF32, zero_type = DType::kF32;
  // The left operand is multiplied as bytes, too (cpu/coded_bytes.h): of a word, step s lies in byte s % 4 at
  // the bits from s / 4 * bits on, so that a mask gives four neighbouring steps. Blocks are whole multiples
  // of kByteBlock.
  bool by_bytes = false;
  // Bytes that a number of the left operand is rounded to: 1, or kExactDigits, which are as exact as f32.
  int digits = 1;

  int codes_of_word() const { return 32 / bits; }
  // The lowest bit of step `s` of a word.
  int64_t bit_of(int64_t s) const { return by_bytes ? s % 4 * 8 + s / 4 * bits : s * bits; }
  int64_t words_of_block() const { return (block + codes_of_word() - 1) / codes_of_word(); }
  int64_t whole_blocks() const { return depth / block; }
  int64_t blocks() const { return (depth + block - 1) / block; }
  int64_t word_rows() const { return blocks() * words_of_block(); }
  int64_t width() const { return group * kPanelColumns; }
};

// Blocks of layouts by bytes are multiples of this, and so short that sums of their products fit.
inline constexpr int64_t kByteBlock = 16, kMostByteBlock = 32768;
// The same where numbers are rounded to kExactDigits: registers hold the codes of such a block. Of longer
// ones sums would be scaled part by part, which costs what the digits save; so do codes of more bits, whose
// products fit in no 16.
inline constexpr int64_t kMostExactBlock = 32;
inline constexpr int kMostExactBits = 4;
inline bool MayBeDigits(int64_t block, int bits) {
  return block % kByteBlock == 0 && block <= kMostExactBlock && bits <= kMostExactBits;
}
// Panels that one pass over the rows reads, where a group has an even number of them.
inline constexpr int64_t kPanelsByBytes = 2;
inline constexpr int kExactDigits = 3;
// With fewer panels of columns it does not pay to cut numbers into so many.
inline constexpr int64_t kLeastPanelsOfDigits = 8;

class CodedPanels {
 public:
  // Of a value of the group that decodes constants. Nothing: it does not, or its blocks are so short along
  // the depth that it does not pay. `may_use_bytes`: the layout is one by bytes where blocks allow it.
  static std::optional<CodedPanels> Find(const GroupView& group, ir::ValueId value, const OperandAxes& axes,
                                         int64_t panels, int64_t panels_of_group, bool may_use_bytes = false);

  const CodedLayout& layout() const { return layout_; }
  // The program's packed constants, in the order of CodedLayout.
  void AddTo(GroupProgram* program) const;

 private:
  // A constant and, for each position along the roles, by how much it moves an element's offset.
  struct Source {
    ir::TensorData data;
    std::vector<int64_t> batch, depth, columns;
  };
  Source MakeSource(const ir::TensorData& data, const std::vector<int64_t>& dims,
                    const std::vector<int64_t>& blocks, const OperandAxes& axes) const;
  bool FindBlocks();
  void FindParameters();
  void UseBytes(int digits);
  int64_t FirstOf(int64_t batch, size_t column, int64_t rows) const;
  ir::TensorData PackWords() const;
  // `bias` is added to what exists.
  ir::TensorData PackParameter(const Source& source, DType dtype, double bias) const;
  // What is added to codes so that none is negative.
  int64_t bias() const { return IsSignedInteger(codes_.data.dtype) ? int64_t{1} << (layout_.bits - 1) : 0; }

  Source codes_, scales_;
  std::optional<Source> zeros_;
  CodedLayout layout_;
};

}  // namespace tvmvm::tensor
