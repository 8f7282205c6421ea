#include "cli/spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tvmvm::cli {
namespace {

// Characters to insert, remove, replace or, of neighbours, swap, to make `b` of `a`.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  std::iota(rows[0].begin(), rows[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    rows[i][0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      rows[i][j] =
          std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

}  // namespace

std::string DidYouMean(std::string_view given, const std::vector<std::string>& names) {
  constexpr size_t kLongest = 100;
  if (given.empty() || given.size() > kLongest) return "";
  const std::string* nearest = nullptr;
  size_t least = std::max<size_t>(1, given.size() / 3) + 1;
  for (const std::string& name : names) {
    if (name.size() > kLongest) continue;
    const bool is_begun = given.size() >= 3 && name.starts_with(given);
    const size_t distance = is_begun ? 1 : Distance(given, name);
    if (distance >= least || distance >= name.size()) continue;
    least = distance;
    nearest = &name;
  }
  return nearest ? fmt::format(" (did you mean '{}'?)", *nearest) : "";
}

}  // namespace tvmvm::cli
