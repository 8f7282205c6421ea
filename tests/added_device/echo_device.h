// A device whose kernels copy their first buffer into their last one, at once.
#pragma once

#include <memory>

#include "tvm-vm/device.h"

namespace tvmvm {

std::shared_ptr<Device> CreateEchoDevice();

}  // namespace tvmvm
