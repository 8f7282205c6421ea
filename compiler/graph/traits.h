// What passes, fusion, placement, layout and schedules ask of a core operator. Its row states it; what a row
// leaves out is what holds of an operator that nothing is known of.
#pragma once

#include <cstdint>

namespace tvmvm::ir {

// How the axes of the inputs become those of the result, and by which attributes.
enum class AxisMap : uint8_t {
  kOpaque,     // in a way of its own: axes stay as they are
  kBroadcast,  // aligned at the last axis, axes of size 1 repeated (numpy); {dims} where the result's are
               // given
  kRegroup,    // the same elements in the same order in other axes: {dims}
  kReduce,     // axes whose flag is 1 become 1: {flags}
  kPermute,    // axis k of the result is axis perm[k]: {perm}
  kSlice,      // elements starts + index * steps: {starts, steps, dims}
  kPad,        // more elements before and after: {low, high, mode}
  kConcat,     // inputs one after the other: {axis}
  kGather,     // an axis of input 0 becomes the axes of input 1, the indices: {axis}
  kIndex,      // the element is the index itself: {dims, axis}
};

// What becomes of the attributes when axes of the data inputs and of the result are put in another order.
enum class Reorder : uint8_t {
  kNever,   // the order has a meaning
  kFreely,  // no attribute tells of axes
  kLists,   // lists of one entry for each axis are put in that order
  kAxis,    // {axis} is counted anew
  kLayout,  // {layout} tells where the channels of input 0 are; the axes of the result are others
};

struct Traits {
  AxisMap axes = AxisMap::kOpaque;
  Reorder reorder = Reorder::kNever;
  // The inputs in front whose axes these are; others are parameters. -1: all.
  int data_inputs = -1;

  // Every element of the result is one of an input, all inputs being of one element type.
  bool moves = false;
  // May feed an elementwise group: an element is read where it is wanted.
  bool pull = false;
  // May end an elementwise group: its elements are stored elsewhere.
  bool final_move = false;
  // Costs nothing to compute again in every group that uses it.
  bool free = false;
  // Gives the numbers that codes of fewer bits stand for. Whoever reads those of constants decodes them
  // itself, so that memory holds the codes alone.
  bool decodes = false;
  // Takes an element a few simple instructions.
  bool cheap = false;
  // Makes errors of its operands large: they are not to be rounded.
  bool delicate = false;
  // Depends on the bits of its operands, not on the numbers that they are.
  bool reads_bits = false;
  // The result is input 0 with some elements changed: may be done in place.
  bool updates = false;
};

}  // namespace tvmvm::ir
