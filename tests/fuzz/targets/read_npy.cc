// .npy files. The first byte says which element type is wanted.
#include "cli/npy.h"
#include "tests/fuzz/targets/read_values.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  if (size == 0) return 0;
  const auto bytes = BytesOf(data + 1, size - 1);
  auto tensor =
      cli::ReadNpy(cli::InputFile::FromBytes("file", {bytes.begin(), bytes.end()}), WantedDType(data[0]));
  RequireProper(tensor);
  if (tensor) TouchElements(*tensor);
  return 0;
}
