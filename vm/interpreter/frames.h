// Frames: the active functions of a run and their registers. The register files and slots lie one after
// another on stacks of the heap, which are kept between runs.
#pragma once

#include <cstdint>

#include "allocator/account.h"
#include "bytecode/instruction.h"
#include "tvm-vm/program.h"
#include "tvm-vm/tensor.h"
#include "vm/interpreter/register_stack.h"
#include "vm/objects/object.h"

namespace tvmvm {

// A place of a plan's value, within the buffer that a reference register of the frame holds, or the caller's
// tensor in the run's device's memory that stands in for it.
struct Slot {
  int64_t offset = 0;
  int64_t bytes = 0;
  uint32_t arena = 0;  // the register
  bool read_only = false;
  const Tensor* stand_in = nullptr;
};

// One active function.
struct Frame {
  const FunctionSpec* function = nullptr;
  const uint32_t* call = nullptr;  // the caller's instruction; null in the entry function
  size_t scalar_base = 0;
  size_t ref_base = 0;
  size_t slot_base = 0;
};

class Frames {
 public:
  // References of registers go back to the pool; `account` counts the stacks.
  Frames(ObjectPool* pool, MemoryAccount* account) : pool_(pool), account_(account) {}
  ~Frames() { Trim(); }
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  // The registers and code of the topmost frame.
  int64_t* scalars = nullptr;
  Object** refs = nullptr;
  Slot* slots = nullptr;
  const uint32_t* code = nullptr;

  // Opens a frame whose parameters are yet to be set; its reference registers are null. False: there is no
  // memory, or the account refuses, and NoMemoryFor says so.
  bool Push(const FunctionSpec& function, const uint32_t* call);
  [[gnu::cold, gnu::noinline]] Error NoMemoryFor(const FunctionSpec& function) const;
  // Releases the references of the topmost frame and makes its caller current.
  void Pop();
  int32_t depth() const { return depth_; }
  const Frame& top() const { return frames_.data()[depth_ - 1]; }
  const Frame& caller() const { return frames_.data()[depth_ - 2]; }
  // Gives the stacks' memory back; no frame is open.
  void Trim();

  // Replaces the object of a reference register; takes the reference.
  void SetRef(uint32_t reg, Object* object) {
    Object* old = refs[reg];
    refs[reg] = object;
    pool_->Release(old);
  }
  // The listed scalars, copied to `to`.
  std::span<const int64_t> Gather(const uint32_t* list, int64_t* to) const {
    for (uint32_t i = 0; i < list[0]; ++i) to[i] = scalars[list[1 + i]];
    return {to, list[0]};
  }

 private:
  // A frame on top of all others, and what the stacks hold with it.
  struct Extent {
    Frame frame;
    size_t depth, scalars, refs, slots;
    size_t bytes() const {
      return depth * sizeof(Frame) + scalars * sizeof(int64_t) + refs * sizeof(Object*) +
             slots * sizeof(Slot);
    }
  };
  Extent With(const FunctionSpec& function) const;
  void MakeCurrent(const Frame& frame);
  bool HasRoom(const Extent& extent) const {
    return extent.depth <= frames_.capacity() && extent.scalars <= scalars_.capacity() &&
           extent.refs <= refs_.capacity() && extent.slots <= slots_.capacity();
  }
  // What the stacks hold where there is to be room for that, and what they hold now.
  int64_t BytesFor(const Extent& extent) const;
  int64_t HeldBytes() const { return BytesFor({{}, 0, 0, 0, 0}); }
  [[gnu::noinline]] bool Grow(const Extent& extent);

  ObjectPool* pool_;
  MemoryAccount* account_;
  RegisterStack<int64_t> scalars_;
  RegisterStack<Object*> refs_;
  RegisterStack<Slot> slots_;
  RegisterStack<Frame> frames_;
  int32_t depth_ = 0;
};

}  // namespace tvmvm
