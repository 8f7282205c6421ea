// Forecasts of memory as the commands show them.
#pragma once

#include <span>
#include <string>

#include "cli/json.h"
#include "tvm-vm/forecast.h"
#include "tvm-vm/value.h"
#include "tvm-vm/vm.h"

namespace tvmvm::cli {

// "17.7 MB", "3.1 MB to 8.0 MB", "at least 3.1 MB"
std::string FormatRange(const ByteRange& range);
// The upper end; null where there is none.
Json UpperEnd(const ByteRange& range);

// What a run with these inputs is forecast to hold; "" where that cannot be told.
struct Planned {
  ByteRange bytes;
  bool is_known = false;
};
// `donates`: the run is given the memory of donated inputs for the outputs.
Planned PlannedFor(const Vm& vm, std::span<const Value> inputs, bool donates);
// "planned 17.7 MB"; "no plan".
std::string FormatPlanned(const Planned& planned);
// {"low": ..., "high": ...}; null where nothing is known.
Json ToJson(const Planned& planned);

}  // namespace tvmvm::cli
