// Where the values of a function live, decided before code is emitted: inputs, constants, the caller's
// outputs, places in arenas, objects.
//
// - A tensor whose size is known before it is made has a place in the arena of a *stage*: a point of the
//   program from which its dims are known. Sizes that do not depend on what a region computes belong to a
//   stage outside of it, so that a loop's step allocates nothing.
// - A carried value of fixed size has two places that change roles with every step ("twins"): the step reads
//   one and writes the other. With the attribute `in_place` on the node that makes the next value it has one.
// - What has no fixed size, or is no tensor of numbers, is an object in a reference register.
// - Results of a region are made where they belong (the place of the node's result, the other half of a
//   carried value, a step's part of a collected one) where nothing stands against it; else they are copied.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "bytecode/builder.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/storage.h"
#include "compiler/lowering/steps.h"

namespace tvmvm::lowering {

enum class MemoryKind : uint8_t {
  kInput,  // an input of the function
  kConstant,
  kOutput,  // an output of the function, in the caller's memory where it gave some
  kArena,   // a slot of a stage's plan
  kPart,    // a step's part of a collected value: of a slot, or of an output
  kObject,  // a register holds it
  kShared,  // none of its own: its values have taken another's
};

struct Memory {
  MemoryKind kind = MemoryKind::kArena;
  uint32_t device = kHostDevice;
  uint32_t number = 0;           // input or output number
  ir::ValueId value;             // kConstant
  ir::Dim bytes;                 // kArena
  uint32_t first = 0, last = 0;  // positions
  int stage = 0;                 // kArena
  int whole = -1;                // kPart: what it is part of
  bool carried = false;          // kArena: a carried value's
  int twin = -1;                 // the other half of a carried value's, where it has two
  ir::RegionId region;           // kObject: of the steps after whose last the register is released, if any
  // Once emitted:
  RefReg ref;
  SlotReg slot;      // kArena, and parts of it
  ScalarReg offset;  // kPart of an output
};

// The tensor of a caller's that can stand in for a place, so that nothing is copied.
struct StandIn {
  int memory = -1;
  bool is_input = false;  // else an output
  uint32_t number = 0;
};

class MemoryTable {
 public:
  MemoryTable(const ir::Function& function, const Views& views) : function_(function), views_(views) {}

  // By output: the number of the input whose memory the caller may give for it; -1: none. Before Assign.
  void SetDonations(std::vector<int> inputs) { donated_ = std::move(inputs); }
  // Gives memory to every value and numbers the stages in the steps. `shares`: values take the memory of what
  // dies where they are made.
  void Assign(RegionSteps* body, bool shares);

  Memory& operator[](int number) { return memory_[static_cast<size_t>(number)]; }
  const Memory& operator[](int number) const { return memory_[static_cast<size_t>(number)]; }
  size_t size() const { return memory_.size(); }
  // The memory of each root.
  const std::map<ir::ValueId, int>& places() const { return of_; }
  // Of the value's root; made on demand for constants.
  int Of(ir::ValueId value);
  // The other half of a carried value: where a step's result goes. The same as Of(parameter) when in place.
  int NextOf(ir::ValueId parameter) const { return next_of_.at(parameter); }
  // The step's part of a collected value of fixed size; -1: it is collected by copies into a growing buffer.
  int ElementOf(ir::ValueId collected) const { return element_of_.at(collected); }
  // Made by this function: neither an input nor a constant.
  bool IsComputed(ir::ValueId value);
  // Whether an object's register is not read after the step.
  bool IsLastUse(ir::ValueId value, const Step& step) const;
  // Objects of the region that are not needed after [first, last].
  std::vector<int> DeadAfter(ir::RegionId region, uint32_t first, uint32_t last) const;
  // The memory that is the function's output itself, or -1: the value is copied (or, an object, given).
  int OutputSource(size_t output) const { return output_sources_[output]; }
  int DonatedTo(size_t output) const { return output < donated_.size() ? donated_[output] : -1; }
  // Places on the GPU that hold an input as a whole and nothing else, or, in the end, an output.
  const std::vector<StandIn>& stand_ins() const { return stand_ins_; }

 private:
  struct LoopRange {
    uint32_t first, last;
  };

  int Add(Memory memory);
  int AddArena(const ir::Dim& bytes, const Step& step, uint32_t device);
  int AddArena(ir::ValueId value, const Step& step);  // as large as the value, on its device
  int AddObject(ir::ValueId value, const Step& step);
  bool NeedsObject(const ir::Type& type, const ir::SymbolSet& unknown) const;
  void AssignRegion(RegionSteps* region);
  void AssignStep(Step* step);
  void AssignMade(ir::ValueId value, const Step& step);
  void AssignIf(Step* step);
  void AssignLoop(Step* step);
  void AssignOutlinedLoop(Step* step);
  // `unknown`: symbols of the region; symbols that are known after the loop.
  void AssignCarried(const Step& step, size_t number, const ir::SymbolSet& unknown);
  void AssignCollected(const Step& step, size_t number, const ir::SymbolSet& unknown);
  void PlaceResult(const RegionSteps& region, ir::ValueId result, int destination);
  void UseRegion(const RegionSteps& region);
  void Use(ir::ValueId value, uint32_t position);
  void Extend(int memory, uint32_t position);
  void AssignOutputs(const RegionSteps& body);
  // ---- share_memory.cc ----
  // Whether what the step makes for `written` may lie where what it reads of memory `read` does.
  bool CanTakeOver(const Step& step, int read, ir::ValueId written) const;
  // Whether output memory that begins where the input's does may be written: all of the input is read by
  // then.
  bool MayWriteOver(const RegionSteps& body, int input, ir::ValueId result) const;
  // Values take the memory of what dies where they are made.
  void ShareMemory(const RegionSteps& region, bool is_body);
  void ShareMemory(const Step& step, bool is_body);
  bool MayBeTaken(const Step& step, int number, const ir::Dim& bytes) const;
  bool IsKnownAtEntry(const ir::Type& type) const;
  void Merge(int from, int into);
  void FindStandIns(const RegionSteps& body);
  // The value's own place, which is as large as the value; -1: it has none.
  int WholeOf(ir::ValueId value) const;
  void NumberStages(RegionSteps* region, bool is_body);
  int StageOf(const ir::Dim& dim) const;

  const ir::Function& function_;
  const Views& views_;
  std::deque<Memory> memory_;                    // references stay good while constants are added
  std::multimap<uint32_t, int> objects_by_end_;  // by their last position
  std::map<ir::ValueId, int> of_;                // by root
  std::map<ir::ValueId, int> next_of_, element_of_;
  std::vector<LoopRange> loops_;  // around the step in hand
  ir::RegionId region_;           // of the step in hand
  std::unordered_map<ir::SymbolId, int> symbol_stage_;
  int stages_ = 0;
  std::vector<int> output_sources_;
  std::vector<int> donated_;                      // inputs, by output
  std::vector<std::vector<ir::ValueId>> values_;  // by memory, while it is shared
  std::vector<StandIn> stand_ins_;
};

}  // namespace tvmvm::lowering
