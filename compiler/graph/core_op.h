// Core operators: the small vocabulary that every ONNX operator is decomposed into. One row each: its type
// rule and its meaning as a tensor expression (or as loops), stated once and used by shape inference,
// folding, fusion and all devices.
//
// The catalogue, by kind ("dims" attributes may be symbolic; results keep numpy's broadcasting rules where it
// says so):
//   kConstant     constant() {data}
//   kDefineDims   define_dims(x) {symbols}: gives names to the elements of a small integer tensor; no results
//   kDimsTensor   dims_tensor() {elements, dims, dtype}: a small integer tensor made of dims
//   kTransfer     transfer(x): x on the device of the result; placement makes them
//   kElementwise  unary, binary and ternary arithmetic (one row for each ExprOp), where(c, a, b), cast(x)
//   {to, saturate, finite}: with `finite`, finite numbers beyond f16's range become its largest;
//                 bitcast(x) {to}; operands broadcast
//   kMovement     iota() {dims, axis, dtype}; transpose(x) {perm}; expand(x) {dims}; slice(x) {starts, steps,
//   dims};
//                 pad(x, value) {low, high, mode}; concat(x...) {axis}; gather(x, i) {axis};
//                 gather_elements(x, i) {axis}; gather_nd(x, i) {batch_dims}; resize(x, ...) {...}; others
//                 whose element is a pull from inputs
//   kView         reshape(x) {dims}: same elements, same order
//   kReduce       reduce(x) {flags, kind, select_last}: flags has one 0/1 dim an axis (may be symbolic); rank
//   is kept kContraction  contract(a, b) {lhs_batch, rhs_batch, lhs_contract, rhs_contract, dtype}: result
//   axes are the batch axes,
//                 then a's free axes, then b's, each in order of appearance
//   kConvolution  conv(x, w) {strides, dilations, low, high, groups, layout, dtype}; conv_transpose(x, w)
//   {..., dims} kWindow       window(x) {kind, kernel, strides, dilations, low, dims, include_padding}: full
//   rank lists kProcedural   what is no pull: scan, scatter_nd, scatter_elements, topk, ...:
//   builds loops itself
//   kCheck        check_indices(indices, when?) {sizes}: no results; the call fails where the indices are out
//                 of range. Builds loops itself, too. Readers behind it limit what they read all the same
//   kControl      nodes with regions; control.h tells their attributes
//   kHost         a function of the host library (bytecode/host_functions.def) by its name: {scalars}; the
//                 scalar results define {symbols}, as do the dims of the results that are no known symbols
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bytecode/status.h"
#include "compiler/expr/expr.h"
#include "compiler/graph/graph.h"
#include "compiler/loops/loop_ir.h"

namespace tvmvm::ir {

enum class OpKind : uint8_t {
  kConstant,
  kDefineDims,
  kRequire,
  kDimsTensor,
  kTransfer,
  kElementwise,
  kMovement,
  kView,
  kReduce,
  kContraction,
  kConvolution,
  kWindow,
  kProcedural,
  kCheck,
  kControl,
  kHost,
};

// What a type rule sees. Errors name what was found and wanted; the caller adds operator and node.
struct InferContext {
  const Node& node;
  std::vector<Type> inputs;  // an absent optional input has dtype kInvalid
};

// What a tensor expression sees: the element of an input at coordinates, which may be a load, a constant, or
// the inlined expression of the producer.
class ElementContext {
 public:
  virtual ~ElementContext() = default;
  virtual const Node& node() const = 0;
  virtual const Type& input_type(int input) const = 0;
  virtual const Type& output_type(int output = 0) const = 0;
  virtual bool has_input(int input) const = 0;
  // Coordinates: one i64 expression an axis, each within its dimension.
  virtual tensor::Expr Input(int input, std::span<const tensor::Expr> index) = 0;
  virtual tensor::VariableId NewAxis(std::string_view name) = 0;  // for reductions
};

// What an operator that builds loops itself sees. Inputs and outputs are dense row-major buffers.
class LoopContext {
 public:
  virtual ~LoopContext() = default;
  virtual const Node& node() const = 0;
  virtual const Type& input_type(int input) const = 0;
  virtual const Type& output_type(int output) const = 0;
  virtual bool has_input(int input) const = 0;
  virtual const TargetInfo& target() const = 0;
  virtual tensor::LoopKernel& kernel() = 0;  // variables, local buffers, grid, error messages
  virtual tensor::Expr Load(int input, std::span<const tensor::Expr> index) = 0;
  virtual tensor::StmtPtr Store(int output, std::span<const tensor::Expr> index, tensor::Expr value) = 0;
  virtual tensor::Expr LoadOutput(int output,
                                  std::span<const tensor::Expr> index) = 0;  // what was stored before
  // An operator may take several kernels, which run one after another: `body` ends the one in hand, and
  // kernel() is the next one from then on.
  virtual void EndKernel(tensor::StmtPtr body) = 0;
  // The kernel in hand runs only where `condition` is not 0.
  virtual void LaunchWhere(const Dim& condition) = 0;
  // Memory that lives from kernel to kernel; before any local buffer of the kernel in hand.
  virtual int AddWorkspace(DType dtype, const Dim& elements) = 0;
  virtual tensor::Expr LoadWorkspace(int space, const tensor::Expr& index) = 0;
  virtual tensor::StmtPtr StoreWorkspace(int space, const tensor::Expr& index, tensor::Expr value) = 0;
};

// What a kernel costs, an estimate: operations, and bytes read and written.
struct Work {
  Dim flops, bytes;
};

// What the rule for it sees.
struct WorkContext {
  const Node& node;
  std::vector<Type> inputs, outputs;  // an absent one has dtype kInvalid
};

struct CoreOp {
  std::string_view name;
  OpKind kind;
  int min_inputs = 0;
  int max_inputs = 0;  // -1: any number
  Expected<std::vector<Type>> (*infer)(const InferContext&) = nullptr;
  // Kinds kElementwise, kMovement, kView, kReduce, kContraction, kConvolution, kWindow: the result's element
  // at `index`.
  tensor::Expr (*element)(ElementContext&, std::span<const tensor::Expr> index) = nullptr;
  // kProcedural, kCheck: the body of one grid point of the last kernel.
  Expected<tensor::StmtPtr> (*loops)(LoopContext&) = nullptr;
  // kProcedural, kCheck: what each of the kernels costs, in their order. A kernel that touches memory costs
  // bytes. What runs on many threads, when a cancel is looked for and which device takes it follow from this.
  std::vector<Work> (*work)(const WorkContext&) = nullptr;
  // kElementwise: the operation on one element; kConstant: none (where, cast, bitcast).
  tensor::ExprOp scalar = tensor::ExprOp::kConstant;
  std::string_view meaning;  // one line for the docs
};

// All rows; the explicit list of families is in core_ops.cc.
std::span<const CoreOp* const> CoreOps();
// Whether nodes of the kind build their loops themselves.
constexpr bool BuildsLoops(OpKind kind) { return kind == OpKind::kProcedural || kind == OpKind::kCheck; }
const CoreOp* FindCoreOp(std::string_view name);  // null: none
const CoreOp& GetCoreOp(std::string_view name);   // a name that exists

// The row of an elementwise operation ("add", "exp", ...); null for an ExprOp that is none.
const CoreOp* ElementwiseOp(tensor::ExprOp op);
// "sum", "product", "min", "max", "and", "or", "argmin", "argmax": the `kind` attribute of reduce.
std::string_view ReduceKindName(tensor::ReduceKind kind);
std::optional<tensor::ReduceKind> ReduceKindFromName(std::string_view name);

// Index of a broadcast operand of `type` for a result index (numpy rules): axes of size 1 read index 0, an
// axis that may be 1 or not depending on symbols is decided at run time.
std::vector<tensor::Expr> BroadcastIndex(const Type& operand, const Type& result,
                                         std::span<const tensor::Expr> index);
// Result dims of broadcasting; symbols that may differ give select(a == 1, b, a). Errors: kInvalidArgument.
Expected<Dims> BroadcastDims(const Dims& a, const Dims& b);

}  // namespace tvmvm::ir
