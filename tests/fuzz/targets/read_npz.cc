// .npz archives, from a file without a name. The first byte says which element type is wanted.
#include <sys/mman.h>
#include <unistd.h>

#include "cli/npz.h"
#include "tests/fuzz/targets/read_values.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  if (size == 0) return 0;
  constexpr int64_t kMostBytes = 16 << 20;
  const int file = memfd_create("npz", MFD_CLOEXEC);
  Require(file >= 0 && write(file, data + 1, size - 1) == static_cast<ssize_t>(size - 1), "no file");
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const auto names = cli::ArraysInNpz(path);
  RequireProper(names);
  const auto tensors = cli::ReadNpz(path, WantedDType(data[0]), kMostBytes);
  RequireProper(tensors);
  close(file);
  if (!tensors) return 0;
  int64_t bytes = 0;
  for (const Tensor& tensor : *tensors) TouchElements(tensor), bytes += tensor.byte_count();
  Require(names && names->size() == tensors->size(), "a name for each array");
  return 0;
}
