// Names that somebody may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tvmvm::cli {

// " (did you mean 'compile'?)" with the nearest of `names`, or "" where none is near.
std::string DidYouMean(std::string_view given, const std::vector<std::string>& names);

}  // namespace tvmvm::cli
