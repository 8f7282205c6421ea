// Values as JSON. The first byte says which type is wanted.
#include "cli/json_values.h"
#include "cli/value_text.h"
#include "tests/fuzz/targets/read_values.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  if (size == 0) return 0;
  const auto json = cli::ParseJson({reinterpret_cast<const char*>(data + 1), size - 1});
  RequireProper(json);
  if (!json) return 0;
  const auto value = cli::ValueFromJson(*json, WantedType(data[0]));
  RequireProper(value);
  if (!value) return 0;
  TouchElements(*value);
  Require(!cli::FormatValue("x", *value, 5).empty(), "a value that does not print");
  return 0;
}
