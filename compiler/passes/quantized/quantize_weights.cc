// --weights int8|int4: large constant weights of products, and tables that rows are gathered from, are kept
// as codes with a scale for each block along the depth (block_codes.h). Everything is computed in f32 as
// before.
//
// With 4 bits, those are kept in 8 whose errors reach the outputs unaveraged: tables, scores of many more
// columns than are summed, and products that bring many numbers together into no more columns.
//
// It runs when constants are as products read them: scales are folded into weights, transposes are gone. What
// is small stays as it is, as does what `dequantize` could not be read from without being written out first.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "compiler/graph/core_op.h"
#include "compiler/passes/quantized/block_codes.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::TensorData;
using ir::ValueId;

constexpr int64_t kFewestNumbers = 4096;
constexpr int64_t kShortestDepth = 32, kShortestBlock = 16;

// Shorter blocks keep more of the numbers, longer ones take less memory.
int64_t BlockOf(int bits) { return bits == 4 ? 16 : 64; }

// Of a vocabulary there are so many times more columns than numbers in each.
constexpr int64_t kColumnsOfScores = 16;

// Where blocks lie in a tensor, and what becomes of their numbers.
struct Blocks {
  int axis = 0;
  int64_t size = 0;
  int bits = 8;
};

class QuantizedWeights {
 public:
  QuantizedWeights(ir::Module* module, Function* function, int bits, std::vector<WeightReport>* reports)
      : old_(*function), bits_(bits), reports_(reports), rewriter_(module, function) {}

  Status Run() {
    rewriter_.Run([this](NodeId id) { return Visit(id); });
    return rewriter_.Finish();
  }

 private:
  ir::OpBuilder& b() { return rewriter_.builder(); }

  bool Visit(NodeId id) {
    const Node& node = old_.node(id);
    const bool is_gather = node.op->traits.axes == ir::AxisMap::kGather;
    const size_t input = is_gather ? 0 : 1;
    if (node.inputs.size() != 2 || old_.type(node.inputs[input]).kind != ir::TypeKind::kTensor) return false;
    const TensorData* data = old_.ConstantOf(node.inputs[input]);
    if (data == nullptr || !IsLarge(*data)) return false;
    const std::optional<Blocks> blocks =
        is_gather ? BlocksOfTable(node, *data) : BlocksOfWeights(node, *data);
    if (!blocks) return false;
    const BlockCodes* codes = CodesOf(node.inputs[input], *data, *blocks, node.source);
    if (codes == nullptr) return false;
    std::vector<ValueId> inputs{rewriter_.Map(node.inputs[0]), rewriter_.Map(node.inputs[1])};
    inputs[input] = Decoded(*codes, *blocks, data->dims.size());
    rewriter_.Copy(id, std::move(inputs));
    return true;
  }

  static bool IsLarge(const TensorData& data) {
    return (data.dtype == DType::kF32 || data.dtype == DType::kF16 || data.dtype == DType::kBF16) &&
           data.element_count() >= kFewestNumbers;
  }

  // Rows of a table: blocks along its last axis.
  std::optional<Blocks> BlocksOfTable(const Node& node, const TensorData& data) const {
    const int last = static_cast<int>(data.dims.size()) - 1;
    constexpr int kBits = 8;
    const bool fits = data.dtype == DType::kF32 && last > 0 && node.Int("axis") != last &&
                      data.dims[static_cast<size_t>(last)] >= kShortestBlock;
    if (!fits) return std::nullopt;
    return Blocks{last, std::min(BlockOf(kBits), data.dims[static_cast<size_t>(last)]), kBits};
  }

  // `depth`: the axes that are summed. The last one is cut into blocks.
  int BitsFor(const TensorData& data, const std::vector<int64_t>& depth) const {
    int64_t steps = 1;
    for (int64_t axis : depth) steps *= data.dims[static_cast<size_t>(axis)];
    const int64_t columns = data.element_count() / std::max<int64_t>(steps, 1);
    return columns > steps && columns < kColumnsOfScores * steps ? bits_ : 8;
  }

  std::optional<Blocks> BlocksOfWeights(const Node& node, const TensorData& data) const {
    if (old_.type(node.inputs[0]).dtype != DType::kF32 || old_.type(node.outputs[0]).dtype != DType::kF32)
      return std::nullopt;
    std::vector<int64_t> depth;
    int axis = 1;
    if (node.op->kind == OpKind::kContraction) {
      depth = node.Ints("rhs_contract");
      if (depth.empty()) return std::nullopt;
      axis = static_cast<int>(depth.back());
    } else if (node.op->kind == OpKind::kConvolution && node.Int("groups", 1) == 1 &&
               node.LayoutOf("weights") == ir::Layout::kChannelsFirst) {
      for (size_t i = 1; i < data.dims.size(); ++i) depth.push_back(static_cast<int64_t>(i));
    } else {
      return std::nullopt;
    }
    const int bits = BitsFor(data, depth);
    const int64_t size = data.dims[static_cast<size_t>(axis)], block = BlockOf(bits);
    if (depth.size() == 1)
      return size >= kShortestDepth ? std::optional(Blocks{axis, std::min(block, size), bits}) : std::nullopt;
    // Blocks must not reach from one position of the other axes to the next.
    const int64_t shared = std::gcd(size, block);
    if (shared >= kShortestBlock) return Blocks{axis, shared, bits};
    return size >= kShortestBlock && size <= 4 * block ? std::optional(Blocks{axis, size, bits})
                                                       : std::nullopt;
  }

  // What a constant becomes; once for all who read it alike. Null: it stays as it is.
  const BlockCodes* CodesOf(ValueId constant, const TensorData& data, const Blocks& blocks,
                            const std::string& source) {
    const auto key = std::tuple(data.bytes.data(), blocks.axis, blocks.size, blocks.bits);
    auto [found, is_new] = codes_.try_emplace(key);
    if (!is_new) return found->second ? &*found->second : nullptr;
    found->second = MakeBlockCodes(data, blocks.axis, blocks.size, blocks.bits);
    if (!found->second) return nullptr;
    const BlockCodes& codes = *found->second;
    if (reports_ != nullptr) {
      auto bytes = static_cast<int64_t>(codes.codes.bytes.size() + codes.scale.bytes.size());
      if (codes.zero) bytes += static_cast<int64_t>(codes.zero->bytes.size());
      reports_->push_back({.node = source,
                           .name = old_.value(constant).name,
                           .dims = data.dims,
                           .bits = blocks.bits,
                           .block = blocks.size,
                           .has_zero_points = codes.zero.has_value(),
                           .bytes_before = static_cast<int64_t>(data.bytes.size()),
                           .bytes = bytes,
                           .relative_error = codes.relative_error,
                           .largest_error = codes.largest_error});
    }
    return &codes;
  }

  ValueId Decoded(const BlockCodes& codes, const Blocks& blocks, size_t rank) {
    std::vector<int64_t> sizes(rank, 1);
    sizes[static_cast<size_t>(blocks.axis)] = blocks.size;
    std::vector<ValueId> inputs{b().Constant(codes.codes), b().Constant(codes.scale)};
    if (codes.zero) inputs.push_back(b().Constant(*codes.zero));
    return b().Emit("dequantize", std::move(inputs), {{"blocks", std::move(sizes)}});
  }

  const Function& old_;
  int bits_;
  std::vector<WeightReport>* reports_;
  GraphRewriter rewriter_;
  std::map<std::tuple<const std::byte*, int, int64_t, int>, std::optional<BlockCodes>> codes_;
};

}  // namespace

Status QuantizeWeights(ir::Module& module, const PassContext& context) {
  if (context.weight_bits == 0) return {};
  for (Function& function : module.functions)
    TVMVM_CHECK_OK(QuantizedWeights(&module, &function, context.weight_bits, context.weight_reports).Run());
  return {};
}

}  // namespace tvmvm::passes
