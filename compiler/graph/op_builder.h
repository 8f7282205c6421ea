// OpBuilder: appends core nodes to a region, infers their types and the contents of shape-like tensors.
//
// Errors stick: after the first one every call returns a poison value, an f32 of the highest rank there is,
// so that its dims can be indexed like those of any other; so decompositions are written as plain expressions
// and the importer asks once a node. Check failed() before indexing into what ReadDims gives.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bytecode/host_functions.h"
#include "compiler/expr/expr.h"
#include "compiler/graph/graph.h"

namespace tvmvm::ir {

using Attributes = std::map<std::string, Attribute>;

// Where windows lie along each axis of an image.
struct WindowPlaces {
  std::vector<int64_t> strides, dilations;
  Dims low;  // positions of padding before the image
};

class OpBuilder {
 public:
  OpBuilder(Module* module, Function* function, RegionId region);

  Module& module() { return *module_; }
  Function& function() { return *function_; }
  RegionId region() const { return region_; }
  // Continues in a region of a node that is being made. The symbols that are read from values there mean
  // nothing after its end.
  // `known`: what LeaveRegion gave when the region was left before.
  using Definitions = std::vector<std::pair<ValueId, Dims>>;
  void EnterRegion(RegionId region, const Definitions& known = {});
  Definitions LeaveRegion();
  // An attempt in the region at hand: after Undo it is as if nothing had been built since Begin. Errors stay
  // recorded.
  void Begin();
  void Undo();
  void Keep();
  // Whether it builds in the region or in one inside of it: what the region has made so far can be used.
  bool IsOpen(RegionId region) const;
  // Nodes made from now on come from this ONNX node.
  void SetSource(std::string source) { source_ = std::move(source); }
  const std::string& source() const { return source_; }

  // Any core operator by name. Emit returns the first output.
  ValueId Emit(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {});
  std::vector<ValueId> EmitMulti(std::string_view op, std::vector<ValueId> inputs,
                                 Attributes attributes = {});

  // A function of the host library. Dims of the results that are symbols unknown so far are read from the
  // results (Instantiate in type_join.h makes such types); `symbols` get the scalar results.
  std::vector<ValueId> Host(HostFunctionId function, std::vector<ValueId> inputs, std::vector<Type> results,
                            Dims scalars = {}, std::vector<SymbolId> symbols = {});

  bool failed() const { return error_.has_value(); }
  ValueId Fail(Code code, std::string message);  // records the error, returns a poison value
  // And clears it; `unreadable` is the value whose contents ReadDims could not give, if that was the error.
  std::optional<Error> TakeError(ValueId* unreadable = nullptr);

  const Type& type(ValueId value) const { return function_->type(value); }
  DType dtype(ValueId value) const { return type(value).dtype; }
  int rank(ValueId value) const { return type(value).rank(); }
  const Dims& dims(ValueId value) const { return type(value).dims; }
  // The same of a value that has to have this rank: where it has another one, an error that calls the value
  // `what`, and as many dims of size 1, so that whoever asks may index into them and look for errors later.
  Dims dims(ValueId value, int rank, std::string_view what);
  Dim dim(ValueId value, int axis) const;  // axis may be negative; 1 (and failure later) when out of range
  // axis in [-rank, rank) made nonnegative; records an error naming both otherwise.
  int NormalizeAxis(int64_t axis, int rank);

  // Contents of an integer tensor of known small size as dims (rank 0 or 1); unknown ones get symbols that a
  // define_dims node defines, the same ones each time. Constant contents give constant dims.
  Dims ReadDims(ValueId value);
  // Of a list whose length follows from something else: one whose length is known only when it runs is held
  // to it. The result's length differs where the list's is known and another.
  Dims ReadDims(ValueId value, size_t count);
  // The same of a single integer or bool in a tensor of any rank.
  Dim ReadDim(ValueId value);
  std::optional<std::vector<int64_t>> ConstantInts(
      ValueId value) const;                                   // known at compile time, any integer dtype
  std::optional<double> ConstantScalar(ValueId value) const;  // one element, any numeric dtype
  const TensorData* ConstantData(ValueId value) const;        // null when not a constant

  // The run fails with the message, whose {0}, {1}, ... are the values, where the condition is 0; the
  // compile, where that is known.
  void Require(Dim condition, std::string message, Dims values);

  // Constants.
  ValueId Constant(TensorData data, std::string name = {});
  ValueId Scalar(DType dtype, double value);                            // rank 0
  ValueId ScalarInt(DType dtype, int64_t value);                        // rank 0
  ValueId DimsTensor(const Dims& elements, DType dtype = DType::kI64);  // rank 1
  ValueId DimScalar(const Dim& element, DType dtype = DType::kI64);     // rank 0

  // Elementwise; operands broadcast and must agree in dtype.
  ValueId Unary(tensor::ExprOp op, ValueId a);
  ValueId Binary(tensor::ExprOp op, ValueId a, ValueId b);
  ValueId Add(ValueId a, ValueId b) { return Binary(tensor::ExprOp::kAdd, a, b); }
  ValueId Sub(ValueId a, ValueId b) { return Binary(tensor::ExprOp::kSub, a, b); }
  ValueId Mul(ValueId a, ValueId b) { return Binary(tensor::ExprOp::kMul, a, b); }
  ValueId Div(ValueId a, ValueId b) { return Binary(tensor::ExprOp::kDiv, a, b); }
  ValueId Min(ValueId a, ValueId b) { return Binary(tensor::ExprOp::kMin, a, b); }
  ValueId Max(ValueId a, ValueId b) { return Binary(tensor::ExprOp::kMax, a, b); }
  ValueId Where(ValueId condition, ValueId a, ValueId b);
  ValueId Cast(ValueId a, DType to, bool saturate = true);  // the value itself when it has the dtype
  ValueId CastWrapping(ValueId a, DType to);  // a float to an integer: what is out of range as ONNX has it

  // Movement. A result equal to the operand in type and meaning is the operand itself.
  ValueId Reshape(ValueId a, const Dims& dims);
  ValueId Unsqueeze(ValueId a, std::vector<int64_t> axes);  // positions in the result, nonnegative
  ValueId Squeeze(ValueId a, std::vector<int64_t> axes);
  ValueId Transpose(ValueId a, std::vector<int64_t> perm);
  ValueId Expand(ValueId a, const Dims& dims);  // full target dims, numpy rules
  ValueId Slice(ValueId a, const Dims& starts, const Dims& steps,
                const Dims& sizes);  // one entry an axis, in range
  // `windows` [N, k..., places...] put back into the images [N, image...] that they were cut out of, overlaps
  // added.
  ValueId FoldWindows(ValueId windows, const WindowPlaces& places, const Dims& image);
  ValueId SliceAxis(ValueId a, int axis, const Dim& start, const Dim& size);
  ValueId Pad(ValueId a, ValueId value, const Dims& low, const Dims& high,
              std::string_view mode = "constant");
  ValueId Concat(std::vector<ValueId> values, int axis);
  ValueId Gather(ValueId a, ValueId indices, int axis);
  bool IsKnownIndex(ValueId indices) const;  // one index that is a dim: Gather makes a slice of it
  ValueId Iota(DType dtype, const Dims& dims, int axis);

  // Keeps the rank (reduced axes have size 1).
  ValueId Reduce(tensor::ReduceKind kind, ValueId a, std::vector<int64_t> axes, bool select_last = false);
  ValueId ReduceFlags(tensor::ReduceKind kind, ValueId a, const Dims& flags, bool select_last = false);
  // a[..., m, k] x b[..., k, n] with numpy's broadcasting of the leading axes.
  ValueId MatMul(ValueId a, ValueId b);
  ValueId Contract(ValueId a, ValueId b, std::vector<int64_t> lhs_batch, std::vector<int64_t> rhs_batch,
                   std::vector<int64_t> lhs_contract, std::vector<int64_t> rhs_contract,
                   DType dtype = DType::kInvalid);

 private:
  void InferElements(NodeId node);
  void FoldSmall(NodeId node);
  void Define(ValueId value, Dims symbols);
  Module* module_;
  Function* function_;
  RegionId region_;
  std::string source_;
  std::optional<Error> error_;
  ValueId unreadable_;               // what ReadDims failed on
  std::map<ValueId, Dims> defined_;  // symbols that define_dims nodes gave to values
  // What `defined_` held before a region changed it, so that leaving the region costs no more than was done
  // there.
  struct Change {
    ValueId value;
    std::optional<Dims> before;
  };
  struct Scope {
    RegionId region;
    size_t changes = 0;  // made before the region within it was entered
    size_t nodes = 0;    // of `region` at that time
  };
  std::vector<Change> changes_;
  std::vector<Scope> outer_;  // of the regions around this one
};

}  // namespace tvmvm::ir
