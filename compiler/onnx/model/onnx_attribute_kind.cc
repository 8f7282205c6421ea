#include "compiler/onnx/model/onnx_attribute_kind.h"

namespace tvmvm::ir {

using Kind = OnnxAttribute::Kind;

Kind AttributeKindOfType(int32_t type) {
  switch (type) {
    case 1:
      return Kind::kFloat;
    case 2:
      return Kind::kInt;
    case 3:
      return Kind::kString;
    case 4:
    case 11:
      return Kind::kTensor;
    case 5:
      return Kind::kGraph;
    case 6:
      return Kind::kFloats;
    case 7:
      return Kind::kInts;
    case 8:
      return Kind::kStrings;
    case 9:
    case 12:
      return Kind::kTensors;
    case 10:
      return Kind::kGraphs;
    case 13:
      return Kind::kType;
    default:
      return Kind::kOther;
  }
}

Kind AttributeKindOfField(uint32_t tag) {
  switch (tag) {
    case 2:
      return Kind::kFloat;
    case 3:
      return Kind::kInt;
    case 4:
      return Kind::kString;
    case 5:
    case 22:
      return Kind::kTensor;
    case 6:
      return Kind::kGraph;
    case 7:
      return Kind::kFloats;
    case 8:
      return Kind::kInts;
    case 9:
      return Kind::kStrings;
    case 10:
    case 23:
      return Kind::kTensors;
    case 11:
      return Kind::kGraphs;
    case 14:
      return Kind::kType;
    default:
      return Kind::kOther;
  }
}

}  // namespace tvmvm::ir
