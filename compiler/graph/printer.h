// The text form of modules, for people, golden tests and --print-after. parser.h reads it back.
//
//   symbol n: [0, 512] input
//   let e.1f07: [0, 260] = floordiv(n+7, 2)
//   func @main {
//     input "x" = %0: tensor<f32,[n,4]>
//     %1 "total": tensor<f32,[n,1]> = reduce(%0) {flags = dims[0, 1], kind = "sum"} from "ReduceSum_0"
//     output "y" = %1
//   }
//
// `let` lines give dims that are too large to be written out where they are used (Dim::Named), and their
// ranges. Values are numbered in order of definition. "of [n, 4]" after a type gives the known contents of a
// small integer tensor, "_" stands for an absent input. Constants of more than 64 elements are printed as a
// digest and are not read back.
//
// Data types are written with declarations and `match`, and are tuples and branches once read:
//
//   type Tree = Leaf(tensor<f32,[]>) | Node(Tree, Tree)
//   ...
//     %1: tensor<f32,[]> = match(%0) Leaf(%2) {
//       yield %2
//     } Node(%3, %4) {
//       ...
//     }
//     %9: Tree = Node(%7, %8)
#pragma once

#include <string>

#include "compiler/graph/graph.h"

namespace tvmvm::ir {

std::string PrintModule(const Module& module);
std::string PrintFunction(const Function& function);
// One line, with the ids as they are; regions are left out.
std::string PrintNode(const Function& function, const Node& node);
// "\"a\\n\"": quoted; control characters and bytes that are not ASCII as \xHH.
std::string QuoteText(std::string_view text);

}  // namespace tvmvm::ir
