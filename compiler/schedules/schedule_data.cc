#include "compiler/schedules/schedule_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tvmvm::tensor {

bool AllowedValues::Contains(int64_t value) const {
  if (value < least || value > most || value % multiple_of != 0) return false;
  return !powers_of_two || std::has_single_bit(static_cast<uint64_t>(value));
}

std::string AllowedValues::ToString() const {
  std::string kind;
  if (multiple_of > 1) kind = fmt::format("a multiple of {} from ", multiple_of);
  if (powers_of_two) kind = "a power of two from ";
  return fmt::format("{}{} to {}", kind, least, most);
}

const ScheduleParameter* ScheduleFamily::Find(std::string_view parameter) const {
  auto found = std::ranges::find(parameters, parameter, &ScheduleParameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

std::vector<const ScheduleFamily*> ScheduleFamilies() {
  std::vector<const ScheduleFamily*> families;
  for (auto list : {CpuScheduleFamilies(), GpuScheduleFamilies()})
    families.insert(families.end(), list.begin(), list.end());
  return families;
}

std::string KernelSchedule::ToString() const {
  std::string text = fmt::format("{}[{}]:", family->name, problem);
  for (size_t i = 0; i < values.size(); ++i)
    text += fmt::format(" {}={}", family->parameters[i].name, values[i]);
  return text;
}

std::string WordOf(std::string text) {
  constexpr size_t kLongest = 100;
  std::erase(text, ' ');
  if (text.size() <= kLongest) return text;
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: the same on every machine
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("#{:016x}", hash);
}

std::string WordOf(const ir::Dim& dim) { return WordOf(dim.ToString()); }

std::string WordOf(const ir::Dims& dims) {
  std::string text;
  for (const ir::Dim& dim : dims) text += (text.empty() ? "" : ",") + WordOf(dim);
  return text;
}

}  // namespace tvmvm::tensor
