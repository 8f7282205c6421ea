// The graph IR: modules of functions of regions of nodes over SSA values, with symbolic dimensions.
//
// Everything is a vector addressed by ids. Nodes of a region are in execution order; a value is defined
// before it is used; regions see the values of the regions around them. Text form: printer.h and parser.h;
// rules: verifier.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "compiler/dim/dim.h"
#include "tvm-vm/dtype.h"
#include "tvm-vm/ids.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::ir {

using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;
using RegionId = Id<struct RegionTag>;

struct CoreOp;  // a row of the operator table, see compiler/graph/core_op.h

enum class TypeKind : uint8_t { kTensor, kSequence, kOptional, kTuple };

struct Type {
  static constexpr int kMostRanks = 9;  // a tensor of unknown rank has 0 to 8 axes
  static constexpr uint32_t kAnyRank = (1u << kMostRanks) - 1;

  TypeKind kind = TypeKind::kTensor;
  DType dtype = DType::kInvalid;  // tensors
  bool ranked = true;             // tensors; false: even the rank is unknown
  uint32_t ranks = kAnyRank;      // unranked tensors: bit r tells that the rank may be r
  Dims dims;                      // tensors
  std::vector<Type> elements;     // sequence, optional: one; tuple: any number

  static Type Tensor(DType dtype, Dims dims);
  int rank() const { return static_cast<int>(dims.size()); }
  std::string ToString() const;  // "tensor<f32,[n,4]>"
  // Gives large expressions among the dims a name (Dim::Named).
  void NameLargeDims(const RangeLookup& ranges);
  friend bool operator==(const Type&, const Type&) = default;
};

// Dense constant data: a view of a mapped model file or owned memory, never changed.
struct TensorData {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
  std::span<const std::byte> bytes;  // DTypeBytes(dtype, count); no alignment is promised
  std::shared_ptr<const void> owner;
  std::vector<std::string> strings;  // kString only

  static TensorData Owned(DType dtype, std::vector<int64_t> dims, std::vector<std::byte> bytes);
  template <class T>
  static TensorData FromVector(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
    auto begin = reinterpret_cast<const std::byte*>(values.data());
    return Owned(dtype, std::move(dims), std::vector<std::byte>(begin, begin + values.size() * sizeof(T)));
  }
  int64_t element_count() const;  // INT64_MAX where it is larger
};

// Where the channels are: [N, C, spatial...] or [N, spatial..., C].
enum class Layout : uint8_t { kChannelsFirst, kChannelsLast };
std::string_view LayoutName(Layout layout);  // "channels_first", "channels_last"

using Attribute = std::variant<int64_t, double, std::string, DType, Layout, Dim, Dims, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string>, SymbolId, std::vector<SymbolId>,
                               std::shared_ptr<const TensorData>>;

inline constexpr uint32_t kFirstGpu = 1;
DeviceSpec SpecOf(uint32_t device);       // what a device's number stands for
std::string DeviceText(uint32_t device);  // "cpu", "gpu", "gpu:1"

struct Value {
  Type type;
  std::string name;  // of the ONNX value where there is one; not unique
  NodeId producer;   // none: a parameter of a function or region
  // Integer and bool tensors of few elements whose contents are known as dims: the contents, row-major.
  std::optional<Dims> elements;
  // Where it lives, decided by placement. A node's inputs live where its outputs do, but for constants, which
  // are everywhere, and what `transfer` reads.
  uint32_t device = kHostDevice;  // its number in the program; GPUs from kFirstGpu on
};

// What passes decide about a node: not what it computes, but how. Printed among the attributes.
struct Decisions {
  bool in_place = false;  // the result takes the memory of input 0, which nobody reads afterwards
  // Of loops.
  bool outline = false;        // may become one kernel
  bool polls = false;          // the outer one of two that PollLoops made of one
  int64_t poll = 0;            // steps after which the host looks at the condition, at most; 0: undecided
  int64_t expected_steps = 0;  // what estimates take for the number of steps; 0: they look at the trip count

  friend bool operator==(const Decisions&, const Decisions&) = default;
};

// One row for each field: how the text form writes it, and which nodes may have it.
struct DecisionField {
  std::string_view name;
  std::variant<bool Decisions::*, int64_t Decisions::*> field;
  bool (*fits)(const CoreOp&);

  int64_t Get(const Decisions& decisions) const;
  void Set(Decisions* decisions, int64_t value) const;
};
std::span<const DecisionField> DecisionFields();

struct Node {
  const CoreOp* op = nullptr;
  std::vector<ValueId> inputs;  // an invalid id stands for an absent optional input
  std::vector<ValueId> outputs;
  std::map<std::string, Attribute> attributes;
  Decisions decided;
  std::vector<RegionId> regions;
  std::string source;  // "name (OpType)" of the ONNX node it came from

  const Attribute* Find(std::string_view name) const;
  int64_t Int(std::string_view name, int64_t otherwise = 0) const;
  double Float(std::string_view name, double otherwise = 0) const;
  const std::string& String(std::string_view name) const;             // "" where absent
  const std::vector<int64_t>& Ints(std::string_view name) const;      // empty where absent
  const Dims& DimList(std::string_view name) const;                   // empty where absent
  const SymbolId& Symbol(std::string_view name) const;                // none where absent
  const std::vector<SymbolId>& Symbols(std::string_view name) const;  // empty where absent
  const TensorData* Data(std::string_view name) const;                // null where absent
  Layout LayoutOf(std::string_view name) const;                       // channels_first where absent
};

struct Region {
  std::vector<ValueId> parameters;
  std::vector<NodeId> nodes;
  std::vector<ValueId> results;
};

// One function owns all values, nodes and regions in it. Nodes that no region lists are dead storage.
struct Function {
  std::string name;
  std::deque<Value> values;  // references to values and their types stay right while others are added
  std::vector<Node> nodes;
  std::vector<Region> regions;
  RegionId body;                         // parameters = inputs, results = outputs
  std::vector<std::string> input_names;  // unique, in order
  std::vector<std::string> output_names;

  Value& value(ValueId id) { return values[id.index]; }
  const Value& value(ValueId id) const { return values[id.index]; }
  Node& node(NodeId id) { return nodes[id.index]; }
  const Node& node(NodeId id) const { return nodes[id.index]; }
  Region& region(RegionId id) { return regions[id.index]; }
  const Region& region(RegionId id) const { return regions[id.index]; }
  const Type& type(ValueId id) const { return values[id.index].type; }

  ValueId AddValue(Type type, std::string name = {});
  RegionId AddRegion();
  // Adds the node to the storage and makes it the producer of its outputs; the caller puts it into a region.
  NodeId AddNode(Node node);
  // The data of a value that a `constant` node makes, else null.
  const TensorData* ConstantOf(ValueId id) const;
};

// One more than the largest number of a device that a value is on.
uint32_t DeviceCount(const Function& function);

// Where a symbol means something.
enum class SymbolScope : uint8_t {
  kInput,  // everywhere: the types of a function's parameters define it, no node does
  kNode,   // a node defines it (DefinedSymbols, RegionSymbols in control.h): from there to the region's end
};

// A moment in the making of a module, told by the fresh symbols that were made before it. A region is built
// in one go, those within it in between: so what was made since its beginning, until its end, is defined in
// it or in one of those, and means nothing outside.
struct SymbolTime {
  int count = -1;  // -1: before all of them, as are the names that a model or a text brings

  friend auto operator<=>(SymbolTime, SymbolTime) = default;
};

// What is known of a symbol.
struct SymbolInfo {
  DimRange range;
  SymbolScope scope = SymbolScope::kNode;
  SymbolTime made;  // set by FreshSymbol
};

struct Module {
  std::vector<Function> functions;  // functions[0] is the entry
  std::unordered_map<SymbolId, SymbolInfo> symbols;

  Function& main() { return functions[0]; }
  const Function& main() const { return functions[0]; }
  Dim FreshSymbol(SymbolInfo info = {});  // "s0", "signed_1", ... not used before
  SymbolTime now() const { return now_; }
  // False for what is not listed.
  bool IsMadeSince(const SymbolId& symbol, SymbolTime time) const;
  RangeLookup Ranges() const;

 private:
  SymbolTime now_{0};
};

}  // namespace tvmvm::ir
