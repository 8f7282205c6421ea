// Whether what a caller gives for outputs is apart from all else.
#include <string>

#include "vm/interpreter/machine.h"

namespace tvmvm {
namespace {

// Whether two tensors have a byte or a string in common. Tensors on different devices have not.
bool Overlap(const Tensor& a, const Tensor& b) {
  if (a.device() != b.device()) return false;
  if (a.dtype() == DType::kString || b.dtype() == DType::kString)
    return a.dtype() == b.dtype() && a.shared_strings() == b.shared_strings();
  if (a.device()) return a.device_memory().handle == b.device_memory().handle;
  const auto a_begin = reinterpret_cast<uintptr_t>(a.data()), b_begin = reinterpret_cast<uintptr_t>(b.data());
  const auto a_bytes = static_cast<uintptr_t>(a.byte_count()),
             b_bytes = static_cast<uintptr_t>(b.byte_count());
  return a_bytes > 0 && b_bytes > 0 && a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

tl::unexpected<Error> NotApart(const std::string& one, const std::string& other) {
  return MakeError(Code::kInvalidArgument,
                   one + " and " + other + " share memory; what a run writes must be apart from all else");
}

}  // namespace

Status Machine::CheckOutputsApart() const {
  for (uint32_t k = 1; k < given_outputs.size(); ++k)
    for (uint32_t other = 0; given_outputs[k] != nullptr && other < k; ++other)
      if (given_outputs[other] != nullptr && Overlap(*given_outputs[k], *given_outputs[other]))
        return NotApart(OutputName(program, other), OutputName(program, k));
  return {};
}

// An output on a device may lie in an input's memory there: it is written when all else is done.
Status Machine::CheckApart(const Tensor& tensor, uint32_t input) const {
  auto is_donated = [&](uint32_t k) {
    return binding.donated[k] == input && tensor.data() == given_outputs[k]->data();
  };
  for (uint32_t k = 0; k < given_outputs.size(); ++k)
    if (given_outputs[k] != nullptr && !tensor.device() && Overlap(tensor, *given_outputs[k]) &&
        !is_donated(k))
      return NotApart("input " + std::to_string(input) + " '" + program.main().inputs[input].name + "'",
                      OutputName(program, k));
  return {};
}

}  // namespace tvmvm
