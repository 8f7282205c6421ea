#include "vm/forecast/recorder.h"

#include <algorithm>

#include "bytecode/encoding.h"

namespace tvmvm::forecast {
namespace {

constexpr int64_t kLine = 64;

// The slots that an instruction reads, writes or sets, but for those of a plan.
template <class Visit>
void ForEachSlot(const DecodedInstruction& instruction, Visit visit) {
  if (MakesSlots(instruction.info->opcode)) return;
  for (const DecodedOperand& operand : instruction.operands()) {
    if (operand.kind == OperandKind::kSlotSrc || operand.kind == OperandKind::kSlotDst)
      visit(static_cast<uint32_t>(operand.value));
    if (operand.kind != OperandKind::kBufferList) continue;
    for (size_t i = 0; i < operand.list_size(); ++i)
      if (operand.buffer(i).is_slot()) visit(operand.buffer(i).index());
  }
}

int64_t RoundUp(int64_t bytes, int64_t alignment) {
  return bytes > INT64_MAX - alignment ? INT64_MAX : (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

Recorder::Recorder(const Program& program, FunctionId entry, MemoryForecast* forecast)
    : program_(program), entry_(entry), forecast_(forecast), most_(program.devices.size() + 1) {}

// A value's first use stands where it begins.
Recorder::Positions Recorder::PositionsOf(const FunctionSpec& function) const {
  struct Open {
    uint32_t first = 0;
    bool is_open = false;
  };
  std::vector<Open> slots(function.slots);
  Positions positions;
  ForEachInstruction(function.code, [&](const DecodedInstruction& instruction) {
    if (MakesSlots(instruction.info->opcode)) {
      const PlanSpec& plan = program_.plans[static_cast<size_t>(instruction.operand(2).value)];
      const auto base = static_cast<size_t>(instruction.operand(1).value);
      const size_t kept = SlotsKept(instruction);
      for (size_t k = 0; kept + k < plan.values.size() && base + k < slots.size(); ++k)
        slots[base + k] = {plan.values[kept + k].first, true};
      return;
    }
    ForEachSlot(instruction, [&](uint32_t slot) {
      if (slot >= slots.size() || !slots[slot].is_open) return;
      slots[slot].is_open = false;
      const uint32_t least = positions.empty() ? 0 : positions.back().second;
      positions.emplace_back(instruction.word, std::max(least, slots[slot].first));
    });
  });
  return positions;
}

uint32_t Recorder::PositionAt(uint32_t function, uint32_t word) {
  auto [at, is_new] = positions_.try_emplace(function);
  if (is_new) at->second = PositionsOf(program_.functions[function]);
  const Positions& positions = at->second;
  auto behind = std::upper_bound(positions.begin(), positions.end(), std::pair(word, UINT32_MAX));
  return behind == positions.begin() ? 0 : std::prev(behind)->second;
}

std::string Recorder::NodeAt(FunctionId function, uint32_t word) const {
  return std::string(program_.SourceNode(program_.function(function), word));
}

void Recorder::AddStage(const Place& place, uint32_t plan, uint32_t device, uint32_t arena,
                        const std::vector<int64_t>& low, const std::vector<int64_t>& high,
                        const std::vector<SlotPlace>& places, const ByteRange& bytes,
                        const ByteRange& lower_bound) {
  const FunctionSpec& function = program_.function(place.function);
  const auto stage = static_cast<int32_t>(forecast_->stages.size());
  forecast_->stages.push_back({function.name, NodeAt(place.function, place.word), device,
                               static_cast<int64_t>(low.size()), bytes, lower_bound, place.is_certain});
  arenas_[{place.context, arena}] = stage;
  // The node of a value is that of the first instruction that names it.
  const DecodedInstruction instruction = *DecodeInstruction(function.code, place.word);
  std::vector<uint32_t> words(low.size(), place.word);
  if (MakesSlots(instruction.info->opcode)) {
    const auto base = static_cast<size_t>(instruction.operand(1).value);
    std::vector<bool> is_known(low.size());
    for (uint32_t word = place.word; word < function.code.size(); word += function.code[word] >> 8)
      ForEachSlot(*DecodeInstruction(function.code, word), [&](uint32_t slot) {
        if (slot < base || slot - base >= words.size() || is_known[slot - base]) return;
        is_known[slot - base] = true;
        words[slot - base] = word;
      });
  }
  const bool is_entry = place.context == 0;
  const uint32_t call = is_entry ? 0 : PositionAt(entry_.index, place.entry_word);
  const std::vector<PlanSpec::Interval>& lifetimes = program_.plans[plan].values;
  const size_t kept = lifetimes.size() - low.size();
  for (size_t k = 0; k < low.size(); ++k) {
    const PlanSpec::Interval& life = lifetimes[kept + k];
    const ByteRange size{low[k], high[k]};
    const uint32_t last = std::max(life.first, life.last);
    const SlotPlace lies = places.empty() ? SlotPlace{arena, -1} : places[k];
    forecast_->values.push_back({NodeAt(place.function, words[k]), arenas_[{place.context, lies.arena}],
                                 device, size, lies.offset, is_entry ? life.first : call,
                                 is_entry ? last : call});
    const int64_t line = std::min<int64_t>(std::max<uint32_t>(life.alignment, 1), kLine);
    extents_[place.context].push_back(
        {life.first, last, device, RoundUp(low[k], line), RoundUp(high[k], line), stage, place.is_certain});
    if (is_entry) forecast_->positions = std::max(forecast_->positions, last + 1);
  }
}

void Recorder::AddTensor(const Place& place, uint32_t object, const ByteRange& bytes, uint32_t device,
                         const std::string& output) {
  const uint32_t position = PositionAt(place.function.index, place.word);
  ForecastValue value;
  value.node = NodeAt(place.function, place.word);
  if (!output.empty())
    value.node = "output '" + output + "'" + (value.node.empty() ? "" : " of " + value.node);
  value.device = device;
  value.bytes = bytes;
  value.first = place.context == 0 ? position : PositionAt(entry_.index, place.entry_word);
  value.last = UINT32_MAX;  // until the end is known
  value.is_output = !output.empty();
  // An output is the caller's: no value of the run can lie in its memory. How long another tensor lives, its
  // uses tell.
  const Extent extent{value.is_output ? 0 : position,
                      value.is_output ? UINT32_MAX : position,
                      device,
                      bytes.low,
                      bytes.high,
                      -1,
                      place.is_certain,
                      value.is_output ? 0 : object};
  std::vector<Extent>& extents = extents_[place.context];
  if (object >= tensors_.size()) tensors_.resize(object + 1);
  tensors_[object] = static_cast<uint32_t>(extents.size());
  extents.push_back(extent);
  tensor_values_.push_back(std::move(value));
}

void Recorder::AddWorkspace(const Place& place, const ByteRange& bytes) {
  const uint32_t position = PositionAt(place.function.index, place.word);
  extents_[place.context].push_back(
      {position, position, kHostDevice, bytes.low, bytes.high, -1, place.is_certain});
}

void Recorder::Use(const Place& place, uint32_t object) {
  if (object == 0 || object >= tensors_.size() || !place.is_certain) return;
  std::vector<Extent>& extents = extents_[place.context];
  const uint32_t number = tensors_[object];
  if (number >= extents.size() || extents[number].object != object) return;
  extents[number].last = std::max(extents[number].last, PositionAt(place.function.index, place.word));
}

void Recorder::AddDonated(const ByteRange& bytes) {
  ByteRange& donated = forecast_->donated_bytes;
  donated = {AddSizes(donated.low, bytes.low), AddSizes(donated.high, bytes.high)};
}

void Recorder::AddScratch(const ByteRange& bytes) {
  ByteRange& most = forecast_->scratch_bytes;
  most = {std::max(most.low, bytes.low), std::max(most.high, bytes.high)};
}

void Recorder::AddReason(const Place& place, const std::string& what) {
  std::string text =
      "@" + program_.function(place.function).name + ":" + std::to_string(place.word) + " " + what;
  if (std::string node = NodeAt(place.function, place.word); !node.empty()) text += " (node " + node + ")";
  if (reasons_.insert(text).second) forecast_->reasons.push_back(std::move(text));
}

void Recorder::AddPeak(const std::vector<int64_t>& bytes) {
  for (size_t i = 0; i < most_.size(); ++i) most_[i] = std::max(most_[i], bytes[i]);
}

void Recorder::SetLeastPeak(const std::vector<int64_t>& bytes) { least_ = bytes; }

// The largest sum alive at one position, of each device and of all; what a call's frame holds counts for
// itself.
void Recorder::SetBounds() {
  struct End {
    uint64_t at;  // 2 * position, + 1 behind it
    const Extent* extent;
    int sign;
  };
  const size_t devices = program_.devices.size();
  std::vector<int64_t> most_low(devices + 1), most_high(devices + 1);
  for (const auto& [context, extents] : extents_) {
    std::vector<End> ends;
    for (const Extent& extent : extents) {
      ends.push_back({2 * uint64_t{extent.first}, &extent, 1});
      ends.push_back({2 * uint64_t{extent.last} + 1, &extent, -1});
    }
    std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.at < b.at; });
    __extension__ using Wide = __int128;
    std::vector<Wide> low(devices + 1), high(devices + 1);
    for (size_t i = 0; i < ends.size(); ++i) {
      const Extent& extent = *ends[i].extent;
      for (size_t k : {size_t{0}, size_t{extent.device} + 1}) {
        if (extent.is_certain) low[k] += ends[i].sign * Wide{extent.low};
        high[k] += ends[i].sign * Wide{extent.high};
      }
      if (i + 1 < ends.size() && ends[i + 1].at == ends[i].at) continue;
      for (size_t k = 0; k <= devices; ++k) {
        most_low[k] = std::max(most_low[k], static_cast<int64_t>(std::min<Wide>(low[k], INT64_MAX)));
        most_high[k] = std::max(most_high[k], static_cast<int64_t>(std::min<Wide>(high[k], INT64_MAX)));
      }
    }
  }
  // The topmost value of an arena may end within a line.
  std::vector<int64_t> slack(devices + 1);
  for (const ForecastStage& stage : forecast_->stages)
    for (size_t k : {size_t{0}, size_t{stage.device} + 1}) slack[k] += kLine - 1;
  for (size_t k = 0; k <= devices; ++k) {
    const int64_t low = std::max<int64_t>(0, most_low[k] - slack[k]);
    const int64_t high =
        most_high[k] == INT64_MAX ? INT64_MAX : std::max<int64_t>(0, most_high[k] - slack[k]);
    const ByteRange peak{least_.empty() ? 0 : least_[k], most_[k]};
    // Where an output is made after a tensor is gone, less is enough than if it were there throughout.
    const ByteRange bound{std::min({low, high, peak.low}), std::min(high, peak.high)};
    if (k == 0) {
      forecast_->lower_bound_bytes = bound;
      forecast_->peak_bytes = peak;
    } else if (forecast_->devices[k - 1].device == k - 1) {
      forecast_->devices[k - 1].lower_bound_bytes = bound;
      forecast_->devices[k - 1].peak_bytes = peak;
    }
  }
  // One stage and no tensor beside it: its own bound is exact.
  if (forecast_->stages.size() == 1 && tensor_values_.empty() && forecast_->stages[0].is_certain) {
    forecast_->lower_bound_bytes = forecast_->stages[0].lower_bound;
    forecast_->devices[forecast_->stages[0].device].lower_bound_bytes = forecast_->stages[0].lower_bound;
  }
}

void Recorder::Finish() {
  for (size_t number = 0; number < program_.devices.size(); ++number)
    forecast_->devices.push_back({static_cast<uint32_t>(number), DeviceSpecName(program_.devices[number])});
  SetBounds();
  forecast_->positions = std::max<uint32_t>(forecast_->positions, 1);
  for (ForecastValue& value : tensor_values_) forecast_->values.push_back(std::move(value));
  for (ForecastValue& value : forecast_->values) {
    if (value.last == UINT32_MAX) value.last = std::max(value.first, forecast_->positions - 1);
    forecast_->positions = std::max(forecast_->positions, value.last + 1);
    if (!value.is_output) continue;
    ByteRange& outputs = forecast_->output_bytes;
    outputs = {AddSizes(outputs.low, value.bytes.low), AddSizes(outputs.high, value.bytes.high)};
  }
}

}  // namespace tvmvm::forecast
