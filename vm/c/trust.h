// What vm options of the C interface say of trust.
#pragma once

#include "tvm-vm/c_api.h"
#include "tvm-vm/vm.h"

namespace tvmvm::c {

// `read` is a whole struct. Fills the members of `options` that are about trust. Errors: kInvalidArgument.
Status TrustFrom(const tvmvm_vm_options& read, VmOptions* options);

}  // namespace tvmvm::c
