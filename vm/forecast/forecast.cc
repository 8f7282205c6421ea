#include "tvm-vm/forecast.h"

#include <algorithm>

#include "bytecode/guarded.h"
#include "vm/binding/panel_reader.h"
#include "vm/binding/uses.h"
#include "vm/forecast/input_sizes.h"
#include "vm/forecast/walk.h"

namespace tvmvm {
namespace {

using namespace forecast;  // NOLINT: this file is its front

// As binding chooses it where so many GPUs stand in front of the CPU.
FunctionId EntryFor(const Program& program, size_t gpus) {
  FunctionId chosen = program.entry;
  size_t most = 0;
  for (const DeviceEntry& entry : program.device_entries) {
    const bool fits = std::all_of(entry.devices.begin(), entry.devices.end(), [&](uint32_t number) {
      const DeviceSpec& device = program.devices[number];
      return number == kHostDevice || (device.device_class == DeviceClass::kGpu && device.ordinal < gpus);
    });
    if (!fits || entry.devices.size() <= most) continue;
    most = entry.devices.size();
    chosen = entry.function;
  }
  return chosen;
}

// Constants, registers, and only those devices that are used.
void AddWhatIsFixed(const Program& program, FunctionId entry, MemoryForecast* forecast) {
  const Uses uses = UsesOf(program, entry);
  for (const ConstantSpec& constant : program.constants)
    forecast->constant_bytes += static_cast<int64_t>(constant.bytes.size());
  for (size_t k = 0; k < program.functions.size(); ++k) {
    const FunctionSpec& function = program.functions[k];
    if (!uses.functions[k]) continue;
    forecast->register_bytes += 8 * (int64_t{function.scalar_registers} + function.ref_registers);
  }
  for (ForecastDevice& device : forecast->devices) {
    if (device.device == kHostDevice) device.constant_bytes = forecast->constant_bytes;
    for (uint32_t constant : uses.devices[device.device].constants)
      device.constant_bytes += BytesOf(program.constants[constant]);
  }
  std::erase_if(forecast->devices,
                [&](const ForecastDevice& device) { return !uses.devices[device.device].is_used; });
}

Expected<MemoryForecast> Forecast(const Program& program, const DimRanges& dims, size_t gpus) {
  if (program.entry.index >= program.functions.size() || program.main().scalar_inputs != 0)
    return MakeError(Code::kInvalidProgram, "the program has no entry function");
  TVMVM_TRY(const InputSizes sizes, SizesOfInputs(program.main(), dims));
  MemoryForecast forecast;
  const FunctionId entry = EntryFor(program, gpus);
  Recorder recorder(program, entry, &forecast);
  Journey journey{program, recorder};
  journey.is_recording = true;
  Arguments arguments;
  for (uint32_t k = 0; k < sizes.size(); ++k) {
    Ref ref;
    if (sizes[k]) ref.dims = std::make_shared<const std::vector<Interval>>(*sizes[k]);
    if (program.main().inputs[k].type.kind != ValueKind::kTensor) {
      // Sequences and tuples are made of what is given, as large as that is.
      ref.object = journey.objects.Find(ObjectTable::Kind::kMade, UINT32_MAX, 0, k);
      journey.objects.Set(ref.object, {{0, ByteRange::kUnbounded}, kHostDevice, false});
      forecast.reasons.push_back("input '" + program.main().inputs[k].name +
                                 "' is no tensor of a known size");
    }
    arguments.refs.push_back(std::move(ref));
  }
  State start;
  start.least_peak.assign(program.devices.size() + 1, 0);
  TVMVM_TRY(const std::optional<State> left,
            FunctionWalk(&journey, entry, 0, nullptr, 0).Walk(arguments, start));
  if (left) recorder.SetLeastPeak(left->least_peak);
  recorder.Finish();
  AddWhatIsFixed(program, entry, &forecast);
  return forecast;
}

}  // namespace

Expected<MemoryForecast> ForecastMemory(const Program& program, const DimRanges& dims, size_t gpus) {
  return Guarded([&] { return Forecast(program, dims, gpus); });
}

std::vector<std::string> ForecastDims(const Program& program) {
  if (program.entry.index >= program.functions.size()) return {};
  return WantedDims(program.main());
}

}  // namespace tvmvm
