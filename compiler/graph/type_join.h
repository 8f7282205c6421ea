// Types of what is known only in part: elements of sequences and optionals, and values that come from one of
// several places.
//
// The dims of a sequence's or optional's element are constants or Unknown(): each element has its own.
// A sequence or optional that was never given an element has no element type: "sequence<>".
#pragma once

#include <optional>

#include "compiler/graph/graph.h"

namespace tvmvm::ir {

// Stands for a dim that nobody knows; only inside the element types of sequences and optionals.
Dim UnknownDim();  // "?"
bool IsUnknown(const Dim& dim);

Type SequenceOf(const Type& element);  // the element generalised
Type OptionalOf(const Type& element);
// All dims that are not constant become unknown.
Type Generalize(Type type);
// Unknown dims of a tensor become fresh symbols; what lies in sequences and optionals stays.
Type Instantiate(Module* module, Type type);
// The smallest type that holds the values of both; dims that differ are unknown, ranks that differ make it
// unranked; what is no optional is one with an element. Nothing: the kinds or element types differ.
std::optional<Type> Join(const Type& a, const Type& b);

}  // namespace tvmvm::ir
