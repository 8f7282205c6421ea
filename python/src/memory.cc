#include "memory.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "errors.h"
#include "programs.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tvmvm::python {
namespace {

// (low, high); None where nothing bounds it.
nb::tuple RangeOf(const ByteRange& range) {
  return nb::make_tuple(range.low, range.is_bounded() ? nb::object(nb::int_(range.high)) : nb::none());
}

nb::dict DeviceOf(const ForecastDevice& device) {
  nb::dict row;
  row["name"] = device.name;
  row["peak_bytes"] = RangeOf(device.peak_bytes);
  row["lower_bound_bytes"] = RangeOf(device.lower_bound_bytes);
  row["constant_bytes"] = device.constant_bytes;
  return row;
}

nb::dict ValueOf(const ForecastValue& value, const MemoryForecast& forecast) {
  nb::dict row;
  row["node"] = value.node;
  row["bytes"] = RangeOf(value.bytes);
  row["first"] = value.first;
  row["last"] = value.last;
  row["is_output"] = value.is_output;
  row["device"] = "cpu";
  for (const ForecastDevice& device : forecast.devices)
    if (device.device == value.device) row["device"] = device.name;
  return row;
}

}  // namespace

DimRanges RangesOf(const GivenDims& given) {
  DimRanges ranges;
  for (const auto& [name, ends] : given) ranges[name] = {ends.first, ends.second};
  return ranges;
}

nb::dict PlanOf(const MemoryForecast& forecast) {
  nb::dict plan;
  plan["peak_bytes"] = RangeOf(forecast.peak_bytes);
  plan["lower_bound_bytes"] = RangeOf(forecast.lower_bound_bytes);
  plan["output_bytes"] = RangeOf(forecast.output_bytes);
  plan["donated_bytes"] = RangeOf(forecast.donated_bytes);
  plan["scratch_bytes_per_thread"] = RangeOf(forecast.scratch_bytes);
  plan["register_bytes"] = forecast.register_bytes;
  plan["constant_bytes"] = forecast.constant_bytes;
  nb::list devices, values;
  for (const ForecastDevice& device : forecast.devices) devices.append(DeviceOf(device));
  for (const ForecastValue& value : forecast.values) values.append(ValueOf(value, forecast));
  plan["devices"] = devices;
  plan["values"] = values;
  plan["unbounded"] = forecast.reasons;
  return plan;
}

void AddMemory(nb::module_& module) {
  nb::class_<PoolPointer>(
      module, "MemoryPool",
      "Bounds what all Vms that are given it hold together. First come, first served: a run "
      "that would hold more ends with OutOfMemory.")
      .def(
          "__init__",
          [](PoolPointer* self, int64_t max_bytes, const std::string& name) {
            new (self) PoolPointer{MemoryPool::Create(max_bytes, name)};
          },
          "max_bytes"_a, "name"_a = "the memory pool", "`max_bytes`: 0 for none. `name`: for messages.")
      .def_prop_ro("max_bytes", [](const PoolPointer& self) { return self.pool->max_bytes(); })
      .def_prop_ro(
          "held_bytes", [](const PoolPointer& self) { return self.pool->held_bytes(); }, "Now.")
      .def_prop_ro(
          "peak_bytes", [](const PoolPointer& self) { return self.pool->peak_bytes(); },
          "The most that was held at once.");
  module.def(
      "plan",
      [](const ProgramPointer& program, const GivenDims& dims, size_t gpus) {
        return PlanOf(OrRaise(ForecastMemory(*program.program, RangesOf(dims), gpus)));
      },
      "program"_a, "dims"_a, "gpus"_a);
}

}  // namespace tvmvm::python
