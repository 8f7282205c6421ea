// ONNX's TensorProto, SequenceProto and OptionalProto. The first byte says which type is wanted.
#include "cli/onnx_data.h"
#include "tests/fuzz/targets/read_values.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  if (size == 0) return 0;
  const auto bytes = BytesOf(data + 1, size - 1);
  const auto tensor = cli::ParseTensorProto(bytes);
  RequireProper(tensor);
  if (tensor) TouchElements(tensor->tensor);
  const auto value = cli::ParseValueProto(bytes, WantedType(data[0]));
  RequireProper(value);
  if (value) TouchElements(value->value);
  return 0;
}
