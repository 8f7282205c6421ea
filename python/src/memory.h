// Pools of memory, and forecasts of what a run will hold, as Python sees them.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tvm-vm/forecast.h"
#include "tvm-vm/memory_pool.h"

namespace tvmvm::python {

// tvm_vm.MemoryPool
struct PoolPointer {
  std::shared_ptr<MemoryPool> pool;
};

using GivenDims = std::map<std::string, std::pair<int64_t, int64_t>>;
DimRanges RangesOf(const GivenDims& given);
// What tvm_vm.MemoryPlan is made of (tvm_vm/memory.py).
nanobind::dict PlanOf(const MemoryForecast& forecast);

void AddMemory(nanobind::module_& module);

}  // namespace tvmvm::python
