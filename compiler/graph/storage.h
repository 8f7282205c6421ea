// Where the values of a function live: its inputs, constants, outputs, an arena, or inside another value
// (views).
#pragma once

#include <map>
#include <set>
#include <vector>

#include "compiler/graph/graph.h"

namespace tvmvm::lowering {

// A value seen as part of the value that owns the memory.
struct Place {
  ir::ValueId root;
  ir::Dim byte_offset = 0;
};

// Whether the node is a concat whose inputs are made where they lie in the result, so that nothing runs for
// it. They are whole rows of the result's memory, each made by a step, perhaps in another shape, and part of
// no other value.
bool IsJoin(const ir::Node& node);

// Views: reshapes always, slices where the elements are contiguous, what a concat joins (IsJoin).
// `root` maps each value to its owner.
class Views {
 public:
  explicit Views(const ir::Function& function);
  Place PlaceOf(ir::ValueId value) const;
  // True where the value has its place in one that is complete later.
  bool IsJoined(ir::ValueId value) const { return joined_.contains(value); }
  // True when the node only gives another view of its input: nothing runs for it.
  static bool IsView(const ir::Function& function, const ir::Node& node);

 private:
  void Add(const ir::Function& function, ir::RegionId region);
  void AddJoined(const ir::Function& function, ir::RegionId region);

  std::map<ir::ValueId, Place> places_;
  std::set<ir::ValueId> joined_;
};

// Bytes of a tensor as a dim.
ir::Dim BytesOf(DType dtype, const ir::Dims& dims);

}  // namespace tvmvm::lowering

namespace tvmvm::ir {

// What a GPU can hold: a tensor of known rank whose elements are no strings.
bool IsTensorOfNumbers(const Type& type);
// Whether output `number` of the loop is collected into memory whose size only the loop tells: that grows on
// the host.
bool CollectsUnknownLength(const Function& function, const Node& loop, size_t number);

}  // namespace tvmvm::ir
