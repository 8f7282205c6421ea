// Core operators: the small vocabulary that every ONNX operator is decomposed into. One row each: its type
// rule, its meaning as a tensor expression (or as loops), and its traits, which are all that passes, fusion,
// placement and schedules ask of it. Stated once and used everywhere: nobody asks for an operator's name.
//
// docs/core_operators.md lists them. "Dims" attributes may be symbolic; results keep numpy's broadcasting
// rules where a row says so.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bytecode/host_functions.h"
#include "compiler/expr/expr.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/traits.h"
#include "compiler/loops/loop_ir.h"
#include "tvm-vm/status.h"

namespace tvmvm::ir {

enum class OpKind : uint8_t {
  kConstant,
  kDefineDims,  // gives names to the elements of a small integer tensor; no results
  kRequire,
  kDimsTensor,  // a small integer tensor made of dims
  kTransfer,    // its input on the device of the result; placement makes them
  kElementwise,
  kMovement,  // the result's element is a pull from inputs, at an index that is arithmetic on the result's
  kView,      // same elements, same order
  kReduce,
  kContraction,
  kConvolution,
  kTransposedConvolution,
  kWindow,
  kProcedural,  // what is no pull: builds loops itself
  kCheck,       // fails where what it reads is wrong: no results; builds loops itself, too
  // Nodes with regions or a callee; control.h tells their attributes.
  kFused,
  kIf,
  kLoop,
  kCall,
  kHost,  // a function of the host library (bytecode/host_functions.def) by its name: {scalars}; the scalar
          // results define {symbols}, as do the dims of the results that are no known symbols
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

// A result whose element at an index is the input's at an offset that is affine in the index.
struct StridedCopy {
  int64_t offset = 0;            // in elements
  std::vector<int64_t> strides;  // for each axis of the result
};

struct Requirement;  // requirements.h

struct CoreOp {
  std::string_view name;
  OpKind kind = {};
  int min_inputs = 0;
  int max_inputs = 0;  // -1: any number
  Expected<std::vector<Type>> (*infer)(const InferContext&) = nullptr;
  // Kinds kElementwise, kMovement, kView, kReduce, kContraction, kConvolution, kTransposedConvolution,
  // kWindow: the result's element at `index`.
  tensor::Expr (*element)(ElementContext&, std::span<const tensor::Expr> index) = nullptr;
  // kProcedural, kCheck: the body of one grid point of the last kernel.
  Expected<tensor::StmtPtr> (*loops)(LoopContext&) = nullptr;
  // kProcedural, kCheck: what each of the kernels costs, in their order. A kernel that touches memory costs
  // bytes. What runs on many threads, when a cancel is looked for and which device takes it follow from this.
  std::vector<Work> (*work)(const WorkContext&) = nullptr;
  // kElementwise: the operation on one element, where it is one; kConstant: none, the element is more.
  tensor::ExprOp scalar = tensor::ExprOp::kConstant;
  std::string_view meaning;     // one line for the docs
  std::string_view attributes;  // the names of those it may have, separated by spaces

  Traits traits = {};
  // What the type rule takes for granted about dims; null: nothing.
  void (*requirements)(const Function&, const Node&, std::vector<Requirement>*) = nullptr;
  // Where the result lies in the memory of input 0, in bytes from its beginning, if it does; null: never.
  std::optional<Dim> (*view_offset)(const Function&, const Node&) = nullptr;
  // Constant folding's short way, for an input of these dims and a result of these sizes; null: there is
  // none.
  std::optional<StridedCopy> (*copy)(const Node&, const std::vector<int64_t>& dims,
                                     const std::vector<int64_t>& sizes) = nullptr;
  std::optional<HostFunctionId> host = std::nullopt;  // kHost
};

// Sums of products of two inputs.
inline bool IsProduct(const CoreOp& op) {
  return op.kind == OpKind::kContraction || op.kind == OpKind::kConvolution ||
         op.kind == OpKind::kTransposedConvolution;
}
// Nodes whose regions or callee tell what they do.
inline bool IsControl(const CoreOp& op) {
  return op.kind == OpKind::kFused || op.kind == OpKind::kIf || op.kind == OpKind::kLoop ||
         op.kind == OpKind::kCall;
}

// Whether a node is there and moves axes: a transpose.
inline bool IsPermutation(const Node* node) {
  return node != nullptr && node->op->traits.axes == AxisMap::kPermute;
}

// The number of inputs whose axes are those that the traits speak of.
inline size_t DataInputs(const Node& node) {
  return node.op->traits.data_inputs < 0 ? node.inputs.size()
                                         : static_cast<size_t>(node.op->traits.data_inputs);
}

// All rows; core/families.def lists the families.
std::span<const CoreOp* const> CoreOps();
// Whether nodes of the kind build their loops themselves.
constexpr bool BuildsLoops(OpKind kind) { return kind == OpKind::kProcedural || kind == OpKind::kCheck; }
const CoreOp* FindCoreOp(std::string_view name);  // null: none
const CoreOp& GetCoreOp(std::string_view name);   // a name that exists

// The row of an elementwise operation ("add", "exp", ...); null for an ExprOp that is none.
const CoreOp* ElementwiseOp(tensor::ExprOp op);
const CoreOp& HostOp(HostFunctionId function);
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
