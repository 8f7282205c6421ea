// operator_forms.txt: a call of each operator, as the test of its types and shapes needs it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tvm-vm/dtype.h"

namespace tvmvm {

// "T[2,?]", "i64[2]=3,4", "seq(f32[2])", "?[3]" or "-".
struct OperandForm {
  enum class Kind : uint8_t { kAbsent, kTensor, kSequence, kOptional };
  Kind kind = Kind::kAbsent;
  std::optional<DType> dtype;                 // none: T; kInvalid: one that depends on T
  std::vector<int64_t> dims;                  // -1: not known before the run
  std::optional<std::vector<double>> values;  // a constant
};

struct OperatorForm {
  std::string text;  // the line
  std::string domain, name;
  int version = 0;
  std::vector<OperandForm> inputs, outputs;
  nlohmann::json attributes;
};

// Errors are failures of the test that runs.
std::vector<OperatorForm> ReadOperatorForms();

// `form` as a model, once for each of the types; dims of inputs as symbols where `has_symbols`.
std::string ModelOf(const OperatorForm& form, const std::vector<DType>& types);

}  // namespace tvmvm
