// Values as JSON: numbers, strings and lists of them.
#pragma once

#include <string>
#include <string_view>

#include "cli/json.h"
#include "tvm-vm/program.h"
#include "tvm-vm/value.h"

namespace tvmvm::cli {

// What a parameter of this type is given. A tensor is a list of lists of one shape, or one element; a
// sequence a list; an optional without element null. Numbers that the element type cannot hold are refused,
// where it is of integers.
Expected<Value> ValueFromJson(const nlohmann::json& json, const TypeSpec& wanted);

// As JSON, and nan, inf and -inf beside it. Errors: kInvalidArgument where it is neither, or nested too
// deeply.
Expected<nlohmann::json> ParseJson(std::string_view text);

// Whether the text is meant as a value rather than a file's name: a number, a list, a quoted string, true,
// false, nan, inf.
bool IsLiteral(std::string_view text);

}  // namespace tvmvm::cli
