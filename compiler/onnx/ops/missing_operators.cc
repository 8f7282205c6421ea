#include "compiler/onnx/ops/missing_operators.h"

#include <algorithm>

namespace tvmvm::ir {
namespace {

constexpr std::string_view kDomain = "com.microsoft";
constexpr std::string_view kBlocked = "com.microsoft.nchwc";
constexpr std::string_view kSearch =
    "a search that runs graphs of the model: compile the decoder's graph and search around it";
constexpr std::string_view kLayout =
    "the layout of the machine that optimized the model: save the model at a lower level of optimization";

constexpr MissingOperator kMissing[] = {
    {kDomain, "AttnLSTM", "an LSTM that attends a memory in each step; no exporter makes it any more"},
    {kDomain, "BeamSearch", kSearch},
    {kDomain, "BifurcationDetector", "compares lists of tokens for one way of decoding"},
    {kDomain, "DynamicTimeWarping", "a path through a matrix, found step by step"},
    {kDomain, "GatedDeltaNet",
     "sequences of different lengths packed in one tensor; LinearAttention has the recurrence for equal "
     "ones"},
    {kDomain, "GatherPacked", "rows in formats that ONNX Runtime numbers and lays out itself"},
    {kDomain, "GreedySearch", kSearch},
    {kDomain, "MatMulFpQ4", "weights in the layout of ONNX Runtime's own packing"},
    {kDomain, "MaxpoolWithMask", "ends each window at its first masked element: internal to ONNX Runtime"},
    {kDomain, "NGramHashMapping", "hashes of token runs for one family of models"},
    {kDomain, "Sampling", kSearch},
    {kDomain, "SparseAttention", "masks of blocks in compressed rows"},
    {kDomain, "SparseToDenseMatMul", "sparse tensors as inputs"},
    {kDomain, "Tokenizer",
     "cuts texts by separators or expressions; the host library has no function for it"},
    {kDomain, "VarlenCausalConvWithState",
     "sequences of different lengths packed in one tensor; CausalConvWithState has equal ones"},
    {kDomain, "VarlenNGramHashMapping", "hashes of token runs for one family of models"},
    {kDomain, "WhisperBeamSearch", kSearch},
    {kDomain, "WordConvEmbedding",
     "embeddings of words by a convolution over characters of one old family of models"},
    {kBlocked, "AveragePool", kLayout},
    {kBlocked, "Conv", kLayout},
    {kBlocked, "GlobalAveragePool", kLayout},
    {kBlocked, "GlobalMaxPool", kLayout},
    {kBlocked, "MaxPool", kLayout},
    {kBlocked, "ReorderInput", kLayout},
    {kBlocked, "ReorderOutput", kLayout},
    {kBlocked, "Upsample", kLayout},
};

}  // namespace

std::span<const MissingOperator> MissingOperators() { return kMissing; }

const MissingOperator* FindMissingOperator(std::string_view domain, std::string_view name) {
  auto found = std::ranges::find_if(
      kMissing, [&](const MissingOperator& each) { return each.domain == domain && each.name == name; });
  return found == std::end(kMissing) ? nullptr : found;
}

}  // namespace tvmvm::ir
