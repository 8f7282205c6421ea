// Optionals: null, or the element itself.
#include "vm/host/operands.h"

namespace tvmvm {

// ()(optional) -> (1 when there is an element)
Status HostOptionalHas(HostCall& call) {
  call.scalar_results[0] = call.refs[0] != nullptr;
  return {};
}

// ()(optional) -> the element
Status HostOptionalGet(HostCall& call) {
  if (call.refs[0] == nullptr) return MakeError(Code::kInvalidArgument, "the optional has no element");
  ObjectPool::Retain(call.refs[0]);
  call.ref_results[0] = call.refs[0];
  return {};
}

// ()(element or null) -> an optional with it, or without one
Status HostOptionalMake(HostCall& call) {
  if (call.refs[0] != nullptr) {
    TVMVM_TRY(call.ref_results[0], Retained(call, call.refs[0]));
  }
  return {};
}

}  // namespace tvmvm
