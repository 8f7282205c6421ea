// Typed indices. Graphs and programs are vectors addressed by ids: trivial to serialise, printable, no
// pointers.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace tvmvm {

template <class Tag>
struct Id {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t index = kNone;
  constexpr bool valid() const { return index != kNone; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using FunctionId = Id<struct FunctionTag>;
using KernelId = Id<struct KernelTag>;
using ConstantId = Id<struct ConstantTag>;
using PlanId = Id<struct PlanTag>;
using StringId = Id<struct StringTag>;

}  // namespace tvmvm

template <class Tag>
struct std::hash<tvmvm::Id<Tag>> {
  size_t operator()(tvmvm::Id<Tag> id) const noexcept { return std::hash<uint32_t>{}(id.index); }
};
