#include "compiler/schedules/coded_panels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "compiler/graph/tensor_elements.h"

namespace tvmvm::tensor {
namespace {

// Scales of shorter blocks would cost as much as the codes save.
constexpr int64_t kShortestBlock = 8;
constexpr double kMostCode = 255;
constexpr int64_t kMostBytes = int64_t{1} << 46;

bool HoldsCodes(DType dtype) { return IsInteger(dtype) && DTypeBits(dtype) <= 8 && DTypeBits(dtype) >= 2; }

double NumberOf(DType dtype, const Scalar& scalar) {
  return IsFloat(dtype) ? scalar.number : static_cast<double>(scalar.integer);
}

// Bits of the element at `offset`.
uint32_t CodeAt(const ir::TensorData& data, int bits, int64_t offset) {
  const int64_t bit = offset * bits;
  const auto byte = static_cast<uint32_t>(data.bytes[static_cast<size_t>(bit / 8)]);
  return (byte >> (bit % 8)) & ((uint32_t{1} << bits) - 1);
}

// Offsets of all positions along `axes`, in row-major order. An element at index i of an axis lies i / blocks
// times the stride from the first.
std::vector<int64_t> Offsets(const std::vector<int64_t>& dims, const std::vector<int64_t>& blocks,
                             const std::vector<int64_t>& strides, const std::vector<int64_t>& axes) {
  std::vector<int64_t> offsets{0};
  for (int64_t axis : axes) {
    const auto at = static_cast<size_t>(axis);
    std::vector<int64_t> next;
    next.reserve(offsets.size() * static_cast<size_t>(dims[at]));
    for (int64_t base : offsets)
      for (int64_t i = 0; i < dims[at]; ++i) next.push_back(base + i / blocks[at] * strides[at]);
    offsets = std::move(next);
  }
  return offsets;
}

}  // namespace

std::optional<CodedPanels> CodedPanels::Find(const GroupView& group, ir::ValueId value,
                                             const OperandAxes& axes, int64_t panels, int64_t panels_of_group,
                                             bool may_use_bytes) {
  const ir::NodeId producer = group.function().value(value).producer;
  if (!producer.valid() || group.InputNumber(value) >= 0) return std::nullopt;
  const ir::Node& node = group.function().node(producer);
  if (node.op == nullptr || !node.op->traits.decodes) return std::nullopt;
  std::vector<const ir::TensorData*> inputs;
  for (ir::ValueId input : node.inputs) {
    const int number = group.InputNumber(input);
    const ir::ValueId constant = number < 0 ? input : group.outer_inputs()[static_cast<size_t>(number)];
    inputs.push_back(constant.valid() ? group.function().ConstantOf(constant) : nullptr);
    if (constant.valid() && inputs.back() == nullptr) return std::nullopt;
  }
  const ir::TensorData& codes = *inputs[0];
  if (!HoldsCodes(codes.dtype) || !ir::IsNumeric(inputs[1]->dtype)) return std::nullopt;

  CodedPanels result;
  result.layout_.bits = DTypeBits(codes.dtype);
  result.layout_.panels = panels;
  result.layout_.group = panels_of_group;
  const std::vector<int64_t>& blocks = node.Ints("blocks");
  auto source = [&](const ir::TensorData& data, std::vector<int64_t> by) {
    return result.MakeSource(data, codes.dims, std::move(by), axes);
  };
  result.codes_ = source(codes, std::vector<int64_t>(codes.dims.size(), 1));
  result.scales_ = source(*inputs[1], blocks);
  if (inputs.size() > 2 && inputs[2] != nullptr) result.zeros_ = source(*inputs[2], blocks);
  if (!result.FindBlocks()) return std::nullopt;
  result.FindParameters();
  if (may_use_bytes) result.UseBytes(node.Int("byte_data", 0) != 0 ? 1 : kExactDigits);
  return result;
}

CodedPanels::Source CodedPanels::MakeSource(const ir::TensorData& data, const std::vector<int64_t>& dims,
                                            const std::vector<int64_t>& blocks,
                                            const OperandAxes& axes) const {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * data.dims[i];
  for (size_t i = 0; i < dims.size(); ++i)
    if (data.dims[i] == 1) strides[i] = 0;
  return {data, Offsets(dims, blocks, strides, axes.batch), Offsets(dims, blocks, strides, axes.depth),
          Offsets(dims, blocks, strides, axes.free)};
}

bool CodedPanels::FindBlocks() {
  layout_.depth = static_cast<int64_t>(codes_.depth.size());
  if (layout_.depth == 0) return false;
  int64_t block = 0;
  for (int64_t k = 1; k < layout_.depth; ++k) {
    const auto at = static_cast<size_t>(k);
    if (scales_.depth[at] != scales_.depth[at - 1] || (zeros_ && zeros_->depth[at] != zeros_->depth[at - 1]))
      block = std::gcd(block, k);
  }
  layout_.block = block == 0 ? layout_.depth : block;
  int64_t bytes = 0;
  const bool overflows = __builtin_mul_overflow(layout_.panels * static_cast<int64_t>(codes_.batch.size()),
                                                layout_.word_rows() * kPanelColumns * 4, &bytes);
  return layout_.block >= std::min(kShortestBlock, layout_.depth) && !overflows && bytes < kMostBytes;
}

void CodedPanels::UseBytes(int digits) {
  if (layout_.block % kByteBlock != 0 || layout_.block > kMostByteBlock) return;
  const bool pays = MayBeDigits(layout_.block, layout_.bits) && layout_.panels >= kLeastPanelsOfDigits;
  if (digits > 1 && !pays) return;
  // Zero points that are no codes are not multiplied as integers.
  layout_.has_zeros |= std::abs(layout_.zero) > kMostCode;
  layout_.by_bytes = true;
  layout_.digits = digits;
  layout_.group = layout_.group % kPanelsByBytes == 0 ? kPanelsByBytes : 1;
}

// The types of the parameters, whether there is one zero point for all, and which.
void CodedPanels::FindParameters() {
  if (scales_.data.dtype == DType::kF16) layout_.scale_type = DType::kF16;
  layout_.zero = static_cast<double>(bias());
  if (!zeros_) return;
  auto number = [&](int64_t i) { return NumberOf(zeros_->data.dtype, ir::ReadElement(zeros_->data, i)); };
  const int64_t count = zeros_->data.element_count();
  const double first = count > 0 ? number(0) : 0;
  for (int64_t i = 1; i < count && !layout_.has_zeros; ++i) layout_.has_zeros = number(i) != first;
  // As part of a constant it would be rounded with that.
  layout_.has_zeros |= first != std::floor(first);
  if (!layout_.has_zeros) layout_.zero += first;
  const DType zero = zeros_->data.dtype, code = codes_.data.dtype;
  if (zero == code || (IsUnsignedInteger(zero) && DTypeBits(zero) <= 8 && IsUnsignedInteger(code)))
    layout_.zero_type = DType::kU8;
}

// Where a column's first element lies in an array of `rows` rows for each group of panels.
int64_t CodedPanels::FirstOf(int64_t batch, size_t column, int64_t rows) const {
  const auto at = static_cast<int64_t>(column);
  const int64_t group = (batch * layout_.panels * kPanelColumns + at) / layout_.width();
  return group * rows * layout_.width() + at % layout_.width();
}

ir::TensorData CodedPanels::PackWords() const {
  const auto batches = static_cast<int64_t>(codes_.batch.size());
  const int64_t per = layout_.codes_of_word(), rows = layout_.word_rows();
  const auto flip = static_cast<uint32_t>(bias());
  std::vector<uint32_t> words(static_cast<size_t>(batches * layout_.panels * kPanelColumns * rows));
  for (int64_t b = 0; b < batches; ++b) {
    for (size_t j = 0; j < codes_.columns.size(); ++j) {
      uint32_t* first = words.data() + FirstOf(b, j, rows);
      const int64_t base = codes_.batch[static_cast<size_t>(b)] + codes_.columns[j];
      for (int64_t k = 0; k < layout_.depth; ++k) {
        const int64_t step = k % layout_.block;
        const int64_t row = k / layout_.block * layout_.words_of_block() + step / per;
        const uint32_t code = CodeAt(codes_.data, layout_.bits, base + codes_.depth[static_cast<size_t>(k)]);
        first[row * layout_.width()] |= (code ^ flip) << layout_.bit_of(step % per);
      }
    }
  }
  return ir::TensorData::FromVector(DType::kU32,
                                    {batches, layout_.panels / layout_.group, rows, layout_.width()}, words);
}

ir::TensorData CodedPanels::PackParameter(const Source& source, DType dtype, double bias) const {
  const auto batches = static_cast<int64_t>(source.batch.size());
  const int64_t rows = layout_.blocks();
  const int64_t count = batches * layout_.panels * kPanelColumns * rows;
  std::vector<std::byte> packed(static_cast<size_t>(DTypeBytes(dtype, count)));
  for (int64_t b = 0; b < batches; ++b) {
    for (size_t j = 0; j < source.columns.size(); ++j) {
      const int64_t first = FirstOf(b, j, rows);
      const int64_t base = source.batch[static_cast<size_t>(b)] + source.columns[j];
      for (int64_t block = 0; block < rows; ++block) {
        const int64_t at = base + source.depth[static_cast<size_t>(block * layout_.block)];
        const double number = NumberOf(source.data.dtype, ir::ReadElement(source.data, at)) + bias;
        ir::WriteElement(dtype, packed, first + block * layout_.width(),
                         {.integer = static_cast<int64_t>(number), .number = number});
      }
    }
  }
  return ir::TensorData::Owned(dtype, {batches, layout_.panels / layout_.group, rows, layout_.width()},
                               std::move(packed));
}

void CodedPanels::AddTo(GroupProgram* program) const {
  program->packed.push_back({[panels = *this](const GroupConstants&) { return panels.PackWords(); }});
  program->packed.push_back({[panels = *this](const GroupConstants&) {
    return panels.PackParameter(panels.scales_, panels.layout_.scale_type, 0);
  }});
  if (layout_.has_zeros)
    program->packed.push_back({[panels = *this](const GroupConstants&) {
      return panels.PackParameter(*panels.zeros_, panels.layout_.zero_type,
                                  static_cast<double>(panels.bias()));
    }});
}

}  // namespace tvmvm::tensor
