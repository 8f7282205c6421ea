// Types and values as a person reads them.
#pragma once

#include <cstdint>
#include <string>

#include "cli/json.h"
#include "tvm-vm/program.h"
#include "tvm-vm/value.h"

namespace tvmvm::cli {

// "f32[batch, 3, ?]", "sequence<f32[?]>"
std::string FormatType(const TypeSpec& type);
// "f32[2, 3]", "sequence of 2", "tuple 1 of 2", "none"
std::string FormatType(const Value& value);
// "[0.1, 0.2, 0.3, ...]", at most `limit` elements.
std::string FormatValues(const Tensor& tensor, int64_t limit);
// "y: f32[2] [1, 2]"; elements of sequences and tuples follow on lines of their own, "  y[0]: ...", at most
// `limit` of each.
std::string FormatValue(const std::string& name, const Value& value, int64_t limit);
// {"dtype": "f32", "shape": [2]}, {"elements": [...]} or {"none": true}
Json DescribeValue(const Value& value);

// Of a tensor of numbers: {"values": the first elements, "min", "max", "mean"}, of finite ones; of all else
// {}.
Json DescribeContents(const Value& value);

}  // namespace tvmvm::cli
