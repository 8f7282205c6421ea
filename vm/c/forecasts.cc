// The C interface of forecasts and pools of memory.
#include "tvm-vm/c_api.h"
#include "tvm-vm/forecast.h"
#include "vm/c/objects.h"
#include "vm/c/sized.h"

using tvmvm::Status;
using tvmvm::c::Guarded;
using tvmvm::c::NullArgument;
using tvmvm::c::ReadSized;

extern "C" {

tvmvm_status* tvmvm_vm_plan(const tvmvm_vm* vm, const char* const* names, const int64_t* low,
                            const int64_t* high, size_t count, tvmvm_forecast* forecast) {
  return Guarded([&]() -> Status {
    if (vm == nullptr || forecast == nullptr) return NullArgument("vm or forecast");
    if (count > 0 && (names == nullptr || low == nullptr || high == nullptr))
      return NullArgument("names, low or high");
    tvmvm::DimRanges dims;
    for (size_t k = 0; k < count; ++k) {
      if (names[k] == nullptr) return NullArgument("a name");
      dims[names[k]] = {low[k], high[k]};
    }
    TVMVM_TRY(const tvmvm::MemoryForecast made, vm->vm->Plan(dims));
    tvmvm_forecast written = {};
    written.peak_bytes = made.peak_bytes.high;
    written.least_peak_bytes = made.peak_bytes.low;
    written.lower_bound_bytes = made.lower_bound_bytes.high;
    written.output_bytes = made.output_bytes.high;
    written.scratch_bytes = made.scratch_bytes.high;
    written.constant_bytes = made.constant_bytes;
    return tvmvm::c::WriteSized(written, sizeof written, "forecast", forecast);
  });
}

tvmvm_status* tvmvm_memory_pool_open(const tvmvm_memory_pool_options* options, tvmvm_memory_pool** pool) {
  return Guarded([&]() -> Status {
    if (options == nullptr || pool == nullptr) return NullArgument("options or pool");
    TVMVM_TRY(const tvmvm_memory_pool_options read, ReadSized(*options, sizeof *options, "options"));
    TVMVM_CHECK_OK(tvmvm::c::CheckNotNegative(
        {{read.max_bytes, "options.max_bytes"}, {read.max_wait_ns, "options.max_wait_ns"}}));
    tvmvm::MemoryPoolOptions chosen;
    chosen.max_bytes = read.max_bytes;
    chosen.max_wait = std::chrono::nanoseconds(read.max_wait_ns);
    if (read.name != nullptr) chosen.name = read.name;
    *pool = new tvmvm_memory_pool{tvmvm::MemoryPool::Create(chosen)};
    return {};
  });
}
tvmvm_status* tvmvm_memory_pool_create(int64_t max_bytes, tvmvm_memory_pool** pool) {
  tvmvm_memory_pool_options options = {};
  options.size = sizeof options;
  options.max_bytes = max_bytes;
  return tvmvm_memory_pool_open(&options, pool);
}
void tvmvm_memory_pool_free(tvmvm_memory_pool* pool) { delete pool; }
int64_t tvmvm_memory_pool_held_bytes(const tvmvm_memory_pool* pool) {
  return pool != nullptr ? pool->pool->held_bytes() : 0;
}
int64_t tvmvm_memory_pool_peak_bytes(const tvmvm_memory_pool* pool) {
  return pool != nullptr ? pool->pool->peak_bytes() : 0;
}

}  // extern "C"
