// A WorkerPool of the caller's, given in C.
#pragma once

#include <memory>

#include "tvm-vm/c_api.h"
#include "tvm-vm/device.h"

namespace tvmvm::c {

// Null for null. Errors: kInvalidArgument where a function is missing or there is no worker. `free` is the
// caller's business until this succeeds.
Expected<std::shared_ptr<WorkerPool>> PoolFrom(const tvmvm_worker_pool* pool);

}  // namespace tvmvm::c
