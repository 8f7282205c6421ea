// Names and signatures of the host library's functions, which the opcode `host` calls by number.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tvmvm {

enum class HostFunctionId : uint32_t {
#define HOST(Name, name, scalars, refs, scalar_results, ref_results, meaning) k##Name,
#include "bytecode/host_functions.def"
#undef HOST
};

struct HostSignature {
  static constexpr uint32_t kAny = 0xffffffffu;  // as many as the call gives

  std::string_view name;
  uint32_t scalars = 0;
  uint32_t refs = 0;
  uint32_t scalar_results = 0;
  uint32_t ref_results = 0;  // kAny: as many as the references
  std::string_view meaning;
};

// All functions, by number.
std::span<const HostSignature> HostSignatures();
std::optional<HostFunctionId> FindHostFunction(std::string_view name);

}  // namespace tvmvm
