// dequantize: numbers that are kept as codes of a few bits, with a scale, and perhaps a zero point, for each
// block of them.
//
//   dequantize(codes, scale[, zero]) {blocks[, byte_data]}     (codes - zero) * scale in f32
// Scale and zero point have the codes' rank. Along axis k an entry serves `blocks[k]` elements, so that there
// are ceil(dims[k] / blocks[k]) of them, the last of which may serve fewer; or there is one for all.
// byte_data = 1 allows products with these numbers to round their other operand to bytes, block by block.
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"

namespace tvmvm::ir {
namespace {

using tensor::IntConstant;

Status CheckParameter(const InferContext& context, size_t input, const Type& codes,
                      const std::vector<int64_t>& blocks) {
  TVMVM_TRY(Type type, RankedTensor(context, input));
  if (type.rank() != codes.rank())
    return MakeError(Code::kInvalidArgument, fmt::format("input {} is {}, wanted the rank of the codes {}",
                                                         input, type.ToString(), codes.ToString()));
  for (size_t axis = 0; axis < blocks.size(); ++axis) {
    const Dim wanted = CeilDiv(codes.dims[axis], Dim(blocks[axis]));
    const Dim& given = type.dims[axis];
    if (wanted.is_constant() && given.is_constant() && !given.IsConstant(1) && !(wanted == given))
      return MakeError(
          Code::kInvalidArgument,
          fmt::format("axis {}: {} entries for {} elements in blocks of {}, wanted {}", axis,
                      given.ToString(), codes.dims[axis].ToString(), blocks[axis], wanted.ToString()));
  }
  return {};
}

Expected<std::vector<Type>> InferDequantize(const InferContext& context) {
  TVMVM_TRY(Type codes, RankedTensor(context, 0));
  TVMVM_TRY(std::vector<int64_t> blocks, IntsAttribute(context.node, "blocks"));
  if (static_cast<int>(blocks.size()) != codes.rank())
    return MakeError(Code::kInvalidArgument,
                     fmt::format("{} block sizes for {}", blocks.size(), codes.ToString()));
  for (int64_t block : blocks)
    if (block < 1) return MakeError(Code::kInvalidArgument, fmt::format("a block of {} elements", block));
  for (size_t input = 1; input < context.inputs.size(); ++input)
    if (input == 1 || context.inputs[input].dtype != DType::kInvalid)
      TVMVM_CHECK_OK(CheckParameter(context, input, codes, blocks));
  return One(DType::kF32, codes.dims);
}

Expr DequantizeElement(ElementContext& context, std::span<const Expr> index) {
  const std::vector<int64_t>& blocks = context.node().Ints("blocks");
  auto parameter = [&](int input) {
    std::vector<Expr> block;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      const bool is_one = context.input_type(input).dims[axis].IsConstant(1);
      block.push_back(is_one ? IntConstant(0) : FloorDiv(index[axis], IntConstant(blocks[axis])));
    }
    return Cast(DType::kF32, context.Input(input, block));
  };
  Expr number = Cast(DType::kF32, context.Input(0, index));
  if (context.has_input(2)) number = number - parameter(2);
  return number * parameter(1);
}

constexpr CoreOp kRows[] = {
    {.name = "dequantize",
     .kind = OpKind::kMovement,
     .min_inputs = 2,
     .max_inputs = 3,
     .infer = InferDequantize,
     .element = DequantizeElement,
     .meaning = "(codes - zero) * scale, where scale and zero have an entry for each block of codes",
     .attributes = "blocks byte_data",
     .traits = {.pull = true, .decodes = true}},
};

}  // namespace

std::span<const CoreOp> QuantizationFamily() { return kRows; }

}  // namespace tvmvm::ir
