// Which source each input of a signature has.
#pragma once

#include <optional>
#include <vector>

#include "cli/options.h"
#include "tvm-vm/program.h"
#include "tvm-vm/value.h"

namespace tvmvm::cli {

// Where an input comes from: of a data set the value itself.
struct InputSource {
  InputSpec spec;
  std::optional<Value> value;
};

// One for each input, by name where one was given and else in order; an .npz file without a name gives an
// array to each input, a data set (data_set.h) a value. With none given, all are random. Errors name the
// input.
Expected<std::vector<InputSource>> AssignInputs(const FunctionSpec& main,
                                                const std::vector<InputSpec>& given);

}  // namespace tvmvm::cli
