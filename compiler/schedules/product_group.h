// A group around one matrix product: elementwise work before it, after it, and what its results are.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "compiler/expr/unflatten.h"
#include "compiler/loops/nest.h"
#include "compiler/schedules/group.h"
#include "compiler/schedules/packing.h"

namespace tvmvm::tensor {

// The one node of `kind` in the group, where all other nodes are pulls; else an invalid id.
ir::NodeId FindAnchor(const GroupView& group, ir::OpKind kind);

// The type in which products of `a` and `b` are summed for a result of type `result`; kInvalid: not by these
// schedules.
DType ProductAccumulator(DType a, DType b, DType result);

// True for products of u8 with i8 that are summed in i32: constants of the right operand are packed for dot
// products of bytes.
bool IsProductOfBytes(DType left, DType right, DType accumulator);
// Whether a module computes such products: machines with instructions for them gain by code of their own.
bool HasProductsOfBytes(const ir::Module& module);

// Adds an argument to the kernel for each output of the group.
std::vector<uint32_t> AddOutputs(const GroupView& group, LoopKernel* kernel,
                                 std::vector<KernelArgument>* arguments);

// Builds a kernel with arguments for the inputs `wanted`, which are listed in `arguments` where that is not
// null; gives the inputs that it reads.
using KernelBuilder = std::function<Expected<std::set<int>>(const std::set<int>& wanted, LoopKernel* kernel,
                                                            std::vector<KernelArgument>* arguments)>;
// Adds a call that is launched where `when` is not 0. A draft of the kernel tells which inputs it reads.
Status AddCall(const ir::Dim& when, const KernelBuilder& build, GroupProgram* program);

// An operand of a contraction with its axes by role.
struct ContractionOperand {
  ir::ValueId value;
  OperandAxes axes;
  ir::Dims Sizes(const GroupView& group, const std::vector<int64_t>& list) const;
};
// What is neither batch nor depth is free.
ContractionOperand MakeOperand(const GroupView& group, ir::ValueId value, const std::vector<int64_t>& batch,
                               const std::vector<int64_t>& depth);

// The input that `value` is, or is a chain of views of: its number, or -1.
int InputOf(const GroupView& group, ir::ValueId value);

// Reads of a group's inputs, and of views of them, in one kernel: the leaf for Expand.
class InputReader {
 public:
  // Adds an argument to the kernel for each input that `wanted` holds.
  InputReader(const GroupView& group, const std::set<int>& wanted, LoopKernel* kernel);
  // Invalid for a value that is no input; `touched` collects the inputs asked for.
  Expr operator()(ir::ValueId value, std::span<const Expr> index);
  Expr AtFlat(int input, DType dtype, const Expr& flat);
  int InputOf(ir::ValueId value) const { return tensor::InputOf(group_, value); }
  const std::set<int>& touched() const { return touched_; }
  const std::vector<KernelArgument>& arguments() const { return arguments_; }
  // The buffer of an input that is read without its element being asked for.
  uint32_t Buffer(int input);

 private:
  const GroupView& group_;
  std::map<int, uint32_t> buffers_;
  std::vector<KernelArgument> arguments_;
  std::set<int> touched_;
};

// Where the elements of the anchor's result end up in the group's outputs.
class ProductResults {
 public:
  // Nothing where some output is not an elementwise, transposed or reshaped image of the anchor's result.
  static std::optional<ProductResults> Find(const GroupView& group, ir::NodeId anchor);

  // The anchor's result and what is computed from it: an element at a position of the anchor's result.
  // `coordinates` are the result's, `flat` their row-major offset.
  struct Position {
    std::vector<Expr> coordinates;
    Expr flat;
  };
  // Whether each output's elements lie where the result's would.
  bool KeepOrder() const;
  // An element of each output and where it is stored, at `position`, given the anchor's element there.
  // `as_f32`: an integer element as the f32 that it was summed in, where it was.
  struct Element {
    Expr at, value;
  };
  Expected<std::vector<Element>> Elements(const Position& position, const Expr& element, InputReader& reader,
                                          LoopKernel* kernel, const Expr& as_f32 = {}) const;
  // Adds stores of them. `outputs` are the buffers.
  Status Store(Nest& nest, const Position& position, const Expr& element, InputReader& reader,
               const std::vector<uint32_t>& outputs, const Expr& as_f32 = {}) const;

 private:
  ProductResults(const GroupView& group, ir::ValueId result) : group_(&group), result_(result) {}
  bool Trace(ir::NodeId anchor);
  bool IsResultAsF32(ir::ValueId value) const;
  // The position of a traced value that belongs to a position of the result.
  Position PositionOf(ir::ValueId value, const Position& position) const;

  const GroupView* group_;
  ir::ValueId result_;
  std::map<ir::ValueId, ir::NodeId> traced_;  // values computed from the result, by their nodes
};

}  // namespace tvmvm::tensor
