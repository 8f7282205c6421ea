// Many shapes to run at: one a line, as NAME=N for dims and as after --input for inputs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace tvmvm::cli {

struct ShapeLine {
  std::string text;  // as it stands there
  InputArguments inputs;
};

// "batch=1 seq=128", "x=random:1x128 mask=1". What stands behind a '#' is a remark; empty lines are left out.
// Each line stands on top of `base`: its dims and inputs are added, or replace those of the same name.
// `dims`: the names of the model's dims, which NAME=N means where it is one. Errors: kInvalidArgument with
// the line's number.
Expected<std::vector<ShapeLine>> ParseShapes(std::string_view text, const InputArguments& base,
                                             const std::vector<std::string>& dims);

}  // namespace tvmvm::cli
