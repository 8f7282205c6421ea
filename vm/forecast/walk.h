// Follows functions of a program without running them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bytecode/encoding.h"
#include "vm/forecast/block_graph.h"
#include "vm/forecast/recorder.h"
#include "vm/forecast/state.h"

namespace tvmvm::forecast {

// What slots.among finds: memory of registers, and slots that lie there, as PlanAmong takes them.
struct Earlier {
  std::vector<uint32_t> arenas;  // the registers
  std::vector<int64_t> ends;     // of their memory
  std::vector<int64_t> sizes, places;

  bool is_known() const { return !ends.empty(); }
  int64_t Begin(size_t arena) const { return arena == 0 ? 0 : ArenaBehind(ends[arena - 1]); }
  SlotPlace PlaceOf(int64_t place, uint32_t own) const;  // `own`: the register of what lies behind all
  friend bool operator==(const Earlier&, const Earlier&) = default;
};

// What a plan gives for some sizes.
struct Planned {
  std::vector<int64_t> low, high;
  Earlier earlier;
  std::vector<SlotPlace> places;  // at the upper ends, by value; empty: these have none
  bool is_sure = false;           // they are those of each run
  ByteRange bytes, lower_bound;
};

// What is shared by the walks of one forecast.
struct Journey {
  // Operand words looked at, registers of states copied: a second or so.
  static constexpr int64_t kMostWork = int64_t{1} << 28;

  const Program& program;
  Recorder& recorder;
  ObjectTable objects;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> contexts;  // of a call: {caller's, word} -> its own
  std::map<std::pair<uint32_t, uint32_t>, Planned> plans;      // by context and word: the last one there
  bool is_recording = false;
  int64_t work = 0;
};

struct Arguments {
  std::vector<Interval> scalars;
  std::vector<Ref> refs;
};

// One function in one chain of calls.
class FunctionWalk {
 public:
  FunctionWalk(Journey* journey, FunctionId function, uint32_t context, const FunctionWalk* caller,
               uint32_t entry_word);

  // The state in which it is left: results in the order of the signature; nullopt where no run comes back.
  // Errors: as ForecastMemory.
  Expected<std::optional<State>> Walk(const Arguments& arguments, const State& start);

 private:
  // The words and operands of one instruction.
  using Instruction = DecodedInstruction;

  Status Sweep(bool widens, bool* is_stable);
  Status Step(uint32_t number, State state);
  void NoteUses(const Instruction& instruction, const State& state);
  // False: no run goes on behind the instruction.
  Expected<bool> Follow(const Instruction& instruction, State* state);
  Expected<bool> FollowScalar(const Instruction& instruction, State* state);
  Expected<bool> FollowReference(const Instruction& instruction, State* state);
  Expected<bool> FollowGuard(const Instruction& instruction, State* state);
  Expected<bool> FollowCall(const Instruction& instruction, State* state);
  void FollowHost(const Instruction& instruction, State* state);
  void FollowLaunch(const Instruction& instruction, const State& state);
  void FollowReturn(const Instruction& instruction, State* state);
  Status MakeTensor(const Instruction& instruction, State* state, uint32_t reg, DType dtype,
                    std::span<const uint32_t> dims, uint32_t device, const std::string& output);
  bool TakeDonated(const Instruction& instruction, State* state, uint32_t reg, DType dtype);
  // Memory that the instruction makes, its result number `number`; the state's registers hold what they held.
  ObjectId Make(const Instruction& instruction, State* state, const Object& object, uint32_t number);
  void NotePeak(State* state, ObjectId added, ByteRange more = {}, const std::vector<ObjectId>& gone = {});
  Dims DimsFrom(const State& state, std::span<const uint32_t> list) const;
  Place PlaceOf(const Instruction& instruction, const State& state) const;
  tl::unexpected<Error> Fail(const Instruction& instruction, const std::string& what) const;
  // ---- stages.cc ----
  void FindSlots();
  // Of slots.among; not known where a run may find something else.
  Earlier FindEarlier(const Instruction& instruction, const State& state) const;
  Expected<bool> FollowSlots(const Instruction& instruction, State* state);
  Expected<const Planned*> PlanFor(const Instruction& instruction, const State& state, uint32_t plan,
                                   std::span<const uint32_t> sizes);
  Status MakeArena(const Instruction& instruction, State* state, uint32_t reg, uint32_t device,
                   const ByteRange& bytes);
  // The memory that a view of the slot holds.
  ObjectId ObjectOfSlot(const Instruction& instruction, const State& state, uint32_t slot);

  Journey& journey_;
  const FunctionSpec& function_;
  FunctionId id_;
  uint32_t context_, entry_word_;
  const FunctionWalk* caller_;
  const State* current_ = nullptr;  // while a callee is walked
  std::vector<Block> blocks_;
  bool has_loops_ = false;
  struct SlotOrigin {
    uint32_t word = UINT32_MAX;  // of the instruction that makes it ...
    uint32_t number = 0;         // ... its value
    bool is_sure = true;         // nothing else sets it
    bool is_swapped = false;
  };
  std::vector<SlotOrigin> origins_;                   // by slot
  std::vector<std::pair<uint32_t, uint32_t>> swaps_;  // of slots
  std::optional<State> start_;
  std::vector<std::optional<State>> entries_;                 // by block
  std::vector<std::array<std::optional<State>, 2>> leaving_;  // by block: falling through, jumping
  std::vector<std::optional<State>> returned_;                // by block
};

}  // namespace tvmvm::forecast
