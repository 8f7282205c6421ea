// Where the project's sources, what is built of them, and data from outside of the project lie.
#pragma once

#include <string>
#include <string_view>

namespace tvmvm {

// Absolute paths of what lies `below` each folder ("tests/golden"); of the folder itself where nothing is
// named.
std::string SourcePath(std::string_view below = "");
std::string BuildPath(std::string_view below = "");
std::string SharedPath(std::string_view below = "");

}  // namespace tvmvm
