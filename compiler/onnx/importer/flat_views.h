// Values of unknown rank as lists of their elements, and which of them have one shape: what is done to each
// element alone needs no more.
#pragma once

#include <map>

#include "compiler/graph/op_builder.h"

namespace tvmvm::ir {

class FlatViews {
 public:
  // The elements along one axis. Values of one shape have lists of one length.
  ValueId Flat(OpBuilder& b, ValueId value);
  // A value of unknown rank: the elements of `flat` in the shape of `like`.
  ValueId Shaped(OpBuilder& b, ValueId flat, ValueId like);

  bool SameShape(ValueId a, ValueId b) const { return ShapeOf(a) == ShapeOf(b); }
  // Names of sizes for trying out what an operator does at a rank.
  Dims ProbeDims(OpBuilder& b, int rank);
  void SetSameShape(ValueId value, ValueId like) { shape_of_[value] = ShapeOf(like); }

 private:
  // Where it was made: seen in that region and those inside of it.
  struct View {
    ValueId flat;
    RegionId region;
  };
  struct Length {
    Dim length;
    RegionId region;
  };

  ValueId ShapeOf(ValueId value) const;  // the first value of that shape: seen wherever the value is

  std::map<ValueId, View> views_;
  std::map<ValueId, Length> lengths_;  // by ShapeOf
  std::map<ValueId, ValueId> shape_of_;
  Dims probe_dims_;
};

// A tensor of which not even the rank is known.
bool IsUnranked(const Type& type);
// The rank of a tensor; of one of unknown rank a symbol, which the tensor is asked for.
Dim RankOf(OpBuilder& b, ValueId value);

}  // namespace tvmvm::ir
