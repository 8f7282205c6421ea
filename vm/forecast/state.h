// What is known at one point of a function: scalars as intervals, references as objects that stand for
// memory.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "bytecode/instruction.h"
#include "tvm-vm/forecast.h"
#include "vm/forecast/interval.h"

namespace tvmvm::forecast {

// Stands for the memory that one instruction makes, in one chain of calls. 0 is no memory of the program's:
// nothing, an input, a constant.
using ObjectId = uint32_t;
inline constexpr ObjectId kNoObject = 0;

struct Object {
  ByteRange bytes;
  uint32_t device = 0;
  bool is_tensor = false;        // with memory of its own, which can be handed out
  std::vector<ObjectId> one_of;  // it is any of these; none: itself
};

class ObjectTable {
 public:
  enum class Kind : uint32_t {
    kMade,    // by the instruction at a word
    kBefore,  // the same in an earlier turn of a loop
    kJoined,  // one of several, by where control meets and the register
    kOneOf,   // the same, by the instruction that names it
  };
  ObjectTable() : objects_(1) {}

  ObjectId Find(Kind kind, uint32_t context, uint32_t place, uint32_t number);
  const Object& operator[](ObjectId id) const { return objects_[id]; }
  void Set(ObjectId id, const Object& object) {
    changed_ = changed_ || !(objects_[id].bytes == object.bytes);
    objects_[id] = object;
  }
  // What was one is another now: what may be it may be either.
  void Rename(ObjectId from, ObjectId to);
  // Whether any size changed since it was asked last.
  bool TakeChanged() { return std::exchange(changed_, false); }

 private:
  std::map<std::array<uint32_t, 4>, ObjectId> ids_;
  std::vector<Object> objects_;
  bool changed_ = false;
};

using Dims = std::shared_ptr<const std::vector<Interval>>;  // null: not even the rank is known

struct Ref {
  ObjectId object = kNoObject;
  Dims dims;
};

// A scalar register that holds what a comparison gave, of registers that did not change since.
struct Comparison {
  uint32_t result = 0;
  Opcode opcode = Opcode::kLess;
  uint32_t a = 0, b = 0;
  friend bool operator==(const Comparison&, const Comparison&) = default;
};

struct State {
  std::vector<Interval> scalars;
  std::vector<Ref> refs;
  std::vector<Comparison> comparisons;
  double share = 1;  // of the runs that come here, where all branches are alike; 1: every run does
  std::vector<int64_t>
      least_peak;  // bytes that every run held at once that came here: in all, then by device

  bool Holds(ObjectId id) const;
  void Replace(ObjectId from, ObjectId to);
  void SetScalar(uint32_t reg, const Interval& value);
  // That the register is 0 or not. False: it cannot be.
  [[nodiscard]] bool Assume(uint32_t reg, bool is_true);

 private:
  bool AssumeComparison(const Comparison& comparison, bool is_true);
  bool Narrow(uint32_t reg, const Interval& range);
};

// What holds where control meets from several points. Objects that differ are joined to one for each set of
// registers that agree from all sides; `context` and `place` name it.
State Join(const std::vector<const State*>& from, uint32_t context, uint32_t place, ObjectTable* objects);
// Ends that moved since `before` are none from now on.
void Widen(const State& before, State* state);
bool SameKnowledge(const State& a, const State& b);

}  // namespace tvmvm::forecast
