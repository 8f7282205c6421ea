// Operators of com.microsoft and its relatives that ONNX Runtime runs on the CPU and this compiler does not
// have.
#pragma once

#include <span>
#include <string_view>

namespace tvmvm::ir {

struct MissingOperator {
  std::string_view domain;
  std::string_view name;
  std::string_view reason;
};

std::span<const MissingOperator> MissingOperators();  // by domain and name
const MissingOperator* FindMissingOperator(std::string_view domain, std::string_view name);  // null: none

}  // namespace tvmvm::ir
