// What is said of a kernel that failed.
#include <string>

#include "bytecode/kernel_abi.h"
#include "bytecode/launch_contract.h"
#include "vm/interpreter/device_handlers.h"

namespace tvmvm {
namespace {

std::string FoundText(int32_t code) {
  if (!TellsFound(code)) return "{}";
  const int64_t found = FoundIn(code);
  return std::to_string(found) + (found == kMostFound ? " or more" : found == -kMostFound ? " or less" : "");
}

// "{}" is what the kernel found, "{k|n}" scalar k of the launch, or n where it is not known any more.
std::string FilledIn(std::string_view message, int32_t code, std::span<const int64_t> scalars) {
  std::string text;
  while (!message.empty()) {
    const size_t open = message.find('{'), close = message.find('}', open);
    if (close == std::string_view::npos) break;
    text += message.substr(0, open);
    const std::string_view inside = message.substr(open + 1, close - open - 1);
    const size_t bar = inside.find('|');
    size_t number = bar == 0 ? scalars.size() : 0;
    if (bar != std::string_view::npos)
      for (char digit : inside.substr(0, bar)) number = 10 * number + static_cast<size_t>(digit - '0');
    if (inside.empty())
      text += FoundText(code);
    else if (bar == std::string_view::npos)
      text += message.substr(open, close - open + 1);
    else
      text += number < scalars.size() ? std::to_string(scalars[number]) : std::string(inside.substr(bar + 1));
    message.remove_prefix(close + 1);
  }
  return text.append(message);
}

}  // namespace

std::string KernelFailureText(const KernelSpec& kernel, int32_t code, std::span<const int64_t> scalars) {
  const size_t index = static_cast<size_t>(FailureNumber(code)) - 1;
  const std::string name = "kernel '" + kernel.name + "': ";
  if (code <= 0 || index >= kernel.error_messages.size())
    return name + "failed with code " + std::to_string(code);
  return name + FilledIn(kernel.error_messages[index], code, scalars);
}

std::string NumbersText(const KernelSpec& kernel, std::span<const int64_t> numbers, uint32_t failed) {
  std::string text = "kernel '" + kernel.name + "' is given ";
  for (size_t i = 0; i < numbers.size(); ++i) {
    text += i == 0 ? '[' : ' ';
    text += std::to_string(numbers[i]);
    text += i + 1 == numbers.size() ? ']' : ',';
  }
  text += " as grid, bytes of scratch and scalars, which is not as '";
  text += ContractExpression(kernel.contract, failed);
  return text += "' wants";
}

std::string WritesReadOnlyText(const KernelSpec& kernel, uint32_t buffer) {
  std::string text = "kernel '" + kernel.name + "' " + kWritesReadOnly;
  return text += " (buffer " + std::to_string(buffer) + ")";
}

std::string TooFewBytesText(const KernelSpec& kernel, uint32_t buffer, int64_t found, int64_t wanted) {
  std::string text = "kernel '" + kernel.name + "' is given " + std::to_string(found);
  text += " bytes as buffer " + std::to_string(buffer);
  return text += ", where it wants " + std::to_string(wanted);
}

}  // namespace tvmvm
