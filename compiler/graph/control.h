// The attributes of control nodes. All decisions are scalars: conditions, trip counts, carried integers and
// the sizes of carried values are dims, so that control flow becomes scalar bytecode.
//
// if(){condition, symbols, then_values, else_values} then-region else-region -> results
//   The regions have no parameters. Results have the type of the regions' results where these agree;
//   a dim or a known element that differs is one of `symbols`, which the node defines: then_values[k] in the
//   one case, else_values[k] in the other, each in terms of its region.
//
// loop(initial...){trip, start, continue, index, count, symbols, initial, next, finals} region
//      -> carried..., collected...
//   The region's parameters are the carried values; its results are their next values, then the collected
//   ones. A step runs while `index` (a symbol of the region: 0, 1, ...) < trip and, for the first step, start
//   != 0, for others, `continue` of the step before != 0 (`continue` is in terms of the region). symbols[k],
//   defined in the region, is initial[k] in the first step and next[k] of the step before in others;
//   finals[k] is a symbol that is defined after the loop: next[k] of the last step, or initial[k] where there
//   was none. `count`, where there is one, is a symbol defined after the loop: the number of steps. A
//   collected result has the steps as its first axis; where that has the size `trip` and there were fewer
//   steps, the other rows are undefined.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace tvmvm::ir {

bool IsIf(const Node& node);
bool IsLoop(const Node& node);
// Regions that see the values around them and run as code of their own: not those of `fused`.
bool HasControlRegions(const Node& node);

// An attribute that must be there: VerifyFunction has seen it.
const Dim& DimAttribute(const Node& node, std::string_view name);

// How many results of a loop are carried; the others are collected.
inline size_t CarriedCount(const Node& loop) { return loop.inputs.size(); }

// What a node uses: its inputs and whatever is used in its regions, in them or around them.
std::vector<ValueId> UsesOf(const Function& function, const Node& node);
// Where a node without control regions runs: where its results live; on the CPU where it has none.
uint32_t DeviceOf(const Function& function, const Node& node);
// The body and all control regions in it, outer ones first.
std::vector<RegionId> RunningRegions(const Function& function);

// The symbols that the types of a function's parameters define.
SymbolSet ParameterSymbols(const Function& function);
// The symbols that are defined where the node stands, for what follows it.
std::vector<SymbolId> DefinedSymbols(const Function& function, const Node& node);
// The symbols that a loop defines for its region.
std::vector<SymbolId> RegionSymbols(const Node& loop);
// Whether the attribute names symbols, so that its text is that of strings but it holds none.
bool NamesSymbols(const CoreOp& op, std::string_view attribute);
// A dim of the loop's region, knowing that 0 <= index < trip: min(index, n - 1) is index where trip is n.
Dim SimplifyInLoop(const Dim& dim, const Node& loop, const RangeLookup& ranges);
// The attributes whose dims are in terms of a region of the node, not of what is around it.
bool BelongsToRegion(const Node& node, std::string_view attribute);

}  // namespace tvmvm::ir
