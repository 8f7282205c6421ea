// A pass: graph IR in, graph IR out, in place. One function, one file, one golden folder; the order is in
// pipeline.cc.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/status.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::passes {

// What passes may know besides the module.
struct PassContext {
  std::vector<TargetInfo> targets;
  bool half_factors = false;  // factors of products are kept as f16 (--precision fp16, for GPUs)
  int weight_bits = 0;        // of large constant weights (--weights); 0: they stay as they are
  std::vector<WeightReport>* weight_reports = nullptr;      // receives what became of each
  bool for_gpus = false;                                    // placement will give parts of the module to GPUs
  std::vector<std::pair<std::string, std::string>> donate;  // inputs and the outputs that take their memory
  bool has_gpus = false;                                    // the program will run on GPUs, too
};

// When a pass runs.
enum class PassStage : uint8_t {
  kModel,   // once: what it does is the same for all devices
  kDevice,  // for each device class whose code may differ from here on
  kPlaced,  // once placement has decided what runs on the GPU
};

struct Pass {
  std::string_view name;     // "fold-constants"
  std::string_view purpose;  // one line
  Status (*run)(ir::Module& module, const PassContext& context);
  bool optional = false;  // may be left out (--disable-pass); the others are needed
  PassStage stage = PassStage::kModel;
};

// Computations on constants become constants.
// All but transposes of large constants that others read, too.
Status FoldConstants(ir::Module& module, const PassContext& context);
Status FoldWeights(ir::Module& module, const PassContext& context);
// Without GPUs: what is computed of f16 and bf16 stays f32 until something else needs it.
Status WidenHalves(ir::Module& module, const PassContext& context);
// Products and convolutions of quantized numbers with constant weights are computed in integers.
Status ComputeInIntegers(ir::Module& module, const PassContext& context);
// Constant weights of products stay as narrow as the model has them: codes with scales, f16, bf16.
Status NarrowWeights(ir::Module& module, const PassContext& context);
// Symbols that are read from constants become numbers.
Status ResolveSymbols(ir::Module& module, const PassContext& context);
// With weight_bits: large constant weights become codes with a scale for each block.
Status QuantizeWeights(ir::Module& module, const PassContext& context);
// Products whose right operand is repeated for several batches read it once.
Status ShareRepeated(ir::Module& module, const PassContext& context);
// Contractions of a depth of 1, and of one row with one column, become elementwise products.
Status RewritePlainProducts(ir::Module& module, const PassContext& context);
// Products of few columns and a long depth become sums of several.
Status SplitDepth(ir::Module& module, const PassContext& context);
// 3 x 3 convolutions that are made with fewer multiplications are marked.
Status ChooseWinograd(ir::Module& module, const PassContext& context);
// Integer tensors whose contents are known as dims are made from the dims; what computed them is left to
// EliminateDead.
Status MaterializeDims(ir::Module& module, const PassContext& context);
// Nodes of equal operator, attributes and inputs are computed once.
Status EliminateCommon(ir::Module& module, const PassContext& context);
// Nodes whose results nobody uses go; a define_dims stays while one of its symbols is used.
Status EliminateDead(ir::Module& module, const PassContext& context);
// Branches that are known to be taken, carried values that never change, results that nobody uses.
Status SimplifyControl(ir::Module& module, const PassContext& context);
// What all steps of a loop compute alike is computed before it.
Status HoistInvariants(ir::Module& module, const PassContext& context);
// Products of scanned inputs with what does not change become one product before the loop.
Status HoistContractions(ir::Module& module, const PassContext& context);
// Loops with the attribute `poll` = n compute on the device what the host would wait for in each step; the
// host looks at a condition that is computed there once in n steps at most. Where values have devices, all
// that the steps compute lies on the GPU afterwards, in groups, and transfers are as they have to be.
Status PollLoops(ir::Module& module, const PassContext& context);
// Concats of many inputs become concats of a few, joined again.
Status SplitConcats(ir::Module& module, const PassContext& context);
// Carried values that are changed in few places are changed where they lie.
Status UpdateInPlace(ir::Module& module, const PassContext& context);
// Checks which inputs are donated to which outputs. A concat of a donated input with what goes behind it is
// marked to be done in the input's memory. Errors: kInvalidArgument naming the pair.
Status DonateInputs(ir::Module& module, const PassContext& context);
// Local rewrites: scales into constant weights, transposes into contractions, powers into products.
Status RewriteAlgebra(ir::Module& module, const PassContext& context);
// Constant divisors of sums of quantized numbers go into their scales; what was quantized on the way is read
// as it was before.
Status FoldDivisors(ir::Module& module, const PassContext& context);
// Convolutions compute on channels_last data; what lies between them follows, transposes stay at the edges.
Status ChooseLayout(ir::Module& module, const PassContext& context);
// With half_factors: what products and convolutions read is f16 in memory; everything computes in f32.
Status NarrowProducts(ir::Module& module, const PassContext& context);
// Marks the loops that may run as one kernel (attribute `outline`); the lowering decides.
Status OutlineLoops(ir::Module& module, const PassContext& context);
// Windows of several axes become one along the last axis and one along the others, where that is less work.
Status SplitWindows(ir::Module& module, const PassContext& context);
// Core nodes become `fused` nodes: groups that run as one unit.
Status FuseGroups(ir::Module& module, const PassContext& context);

}  // namespace tvmvm::passes
