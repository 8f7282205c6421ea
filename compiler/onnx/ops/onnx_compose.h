// Operators that are made of other ONNX operators: those that other vendors fuse, for the most part.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

using OnnxAttributes = std::map<std::string, OnnxAttribute>;

OnnxAttribute IntAttribute(int64_t value);
OnnxAttribute FloatAttribute(double value);
OnnxAttribute TextAttribute(std::string value);
OnnxAttribute IntsAttribute(std::vector<int64_t> values);

// Attributes of the node by these names, separated by spaces, where it has them.
OnnxAttributes Passed(const OnnxContext& c, std::string_view names);

// The first `count` outputs of an operator of ai.onnx as it is in opset 24.
std::vector<ValueId> ApplyMany(OnnxContext& c, std::string_view op, std::vector<ValueId> inputs,
                               OnnxAttributes attributes, size_t count);
// Its first output.
ValueId Apply(OnnxContext& c, std::string_view op, std::vector<ValueId> inputs,
              OnnxAttributes attributes = {});

}  // namespace tvmvm::ir
