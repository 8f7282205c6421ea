// JSON as the tool writes it: keys in the order of writing, invalid UTF-8 replaced.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tvmvm::cli {

using Json = nlohmann::ordered_json;

inline std::string FormatJson(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tvmvm::cli
