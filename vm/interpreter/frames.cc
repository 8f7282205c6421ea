#include "vm/interpreter/frames.h"

#include <algorithm>
#include <string>

namespace tvmvm {

inline void Frames::MakeCurrent(const Frame& frame) {
  scalars = scalars_.data() + frame.scalar_base;
  refs = refs_.data() + frame.ref_base;
  slots = slots_.data() + frame.slot_base;
  code = frame.function->code.data();
}

inline Frames::Extent Frames::With(const FunctionSpec& function) const {
  Frame next{&function, nullptr, 0, 0, 0};
  if (depth_ > 0) {
    const Frame& top = this->top();
    next.scalar_base = top.scalar_base + top.function->scalar_registers;
    next.ref_base = top.ref_base + top.function->ref_registers;
    next.slot_base = top.slot_base + top.function->slots;
  }
  return {next, static_cast<size_t>(depth_) + 1, next.scalar_base + function.scalar_registers,
          next.ref_base + function.ref_registers, next.slot_base + function.slots};
}

int64_t Frames::BytesFor(const Extent& extent) const {
  return static_cast<int64_t>(frames_.CapacityFor(extent.depth) * sizeof(Frame) +
                              scalars_.CapacityFor(extent.scalars) * sizeof(int64_t) +
                              refs_.CapacityFor(extent.refs) * sizeof(Object*) +
                              slots_.CapacityFor(extent.slots) * sizeof(Slot));
}

bool Frames::Grow(const Extent& extent) {
  const int64_t held = HeldBytes(), wanted = BytesFor(extent) - held;
  if (!account_->Reserve(wanted, "registers")) return false;
  const bool has_grown = frames_.Reserve(extent.depth) && scalars_.Reserve(extent.scalars) &&
                         refs_.Reserve(extent.refs) && slots_.Reserve(extent.slots);
  // Some may have grown where others could not.
  account_->Release(wanted - (HeldBytes() - held));
  return has_grown;
}

bool Frames::Push(const FunctionSpec& function, const uint32_t* call) {
  Extent extent = With(function);
  if (!HasRoom(extent) && !Grow(extent)) [[unlikely]]
    return false;
  extent.frame.call = call;
  frames_.data()[depth_++] = extent.frame;
  MakeCurrent(extent.frame);
  std::fill_n(refs, function.ref_registers, nullptr);
  return true;
}

Error Frames::NoMemoryFor(const FunctionSpec& function) const {
  const Extent extent = With(function);
  std::string message = "no memory for the registers of @" + function.name + " at depth " +
                        std::to_string(extent.depth) + ": " + std::to_string(extent.bytes()) +
                        " bytes, for which " + std::to_string(BytesFor(extent) - HeldBytes()) +
                        " more are wanted";
  if (account_->limit() != INT64_MAX)
    message += "; " + std::to_string(account_->held_bytes()) + " bytes are in use and the limit is " +
               std::to_string(account_->limit());
  return {Code::kOutOfMemory, std::move(message)};
}

void Frames::Pop() {
  // Last register first, so that the arena's regions go in stack order.
  for (uint32_t reg = top().function->ref_registers; reg-- > 0;) pool_->Release(refs[reg]);
  if (--depth_ > 0) MakeCurrent(top());
}

void Frames::Trim() {
  account_->Release(HeldBytes());
  scalars_.Clear();
  refs_.Clear();
  slots_.Clear();
  frames_.Clear();
}

}  // namespace tvmvm
