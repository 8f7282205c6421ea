// What the walk finds, collected into a forecast.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "allocator/planner.h"
#include "tvm-vm/forecast.h"
#include "vm/forecast/interval.h"

namespace tvmvm::forecast {

// Where in the program something happens.
struct Place {
  FunctionId function;
  uint32_t word = 0;
  uint32_t context = 0;     // of the chain of calls; 0: the entry function
  uint32_t entry_word = 0;  // of the entry function: where its call stands
  bool is_certain = true;
};

// Where a value lies: in the memory of a register.
struct SlotPlace {
  uint32_t arena = 0;
  int64_t offset = 0;
  friend bool operator==(const SlotPlace&, const SlotPlace&) = default;
};

class Recorder {
 public:
  Recorder(const Program& program, FunctionId entry, MemoryForecast* forecast);

  // The arena that a plan's last values take with sizes up to `high`; `low` have the same length. `arena`:
  // the register that holds it; `places`: at the upper ends, empty where these have none.
  void AddStage(const Place& place, uint32_t plan, uint32_t device, uint32_t arena,
                const std::vector<int64_t>& low, const std::vector<int64_t>& high,
                const std::vector<SlotPlace>& places, const ByteRange& bytes, const ByteRange& lower_bound);
  // `object` stands for its memory while the function is followed.
  void AddTensor(const Place& place, uint32_t object, const ByteRange& bytes, uint32_t device,
                 const std::string& output);
  // What a function of the host library has for itself while it works.
  void AddWorkspace(const Place& place, const ByteRange& bytes);
  // Something reads or writes memory: a tensor that each run makes lives until there.
  void Use(const Place& place, uint32_t object);
  void AddDonated(const ByteRange& bytes);
  void AddScratch(const ByteRange& bytes);
  void AddReason(const Place& place, const std::string& what);
  // All that is held at one point, at most: in all, then by device.
  void AddPeak(const std::vector<int64_t>& bytes);
  // Of runs that end: the most they held at least, in the same order.
  void SetLeastPeak(const std::vector<int64_t>& bytes);
  void Finish();

 private:
  // By function: words at which values of plans begin, and their positions, ascending.
  using Positions = std::vector<std::pair<uint32_t, uint32_t>>;
  struct Extent {
    uint32_t first = 0, last = 0;  // positions
    uint32_t device = 0;
    int64_t low = 0, high = 0;  // as it counts in a sum of what is alive
    int32_t stage = -1;
    bool is_certain = true;
    uint32_t object = 0;
  };

  Positions PositionsOf(const FunctionSpec& function) const;
  uint32_t PositionAt(uint32_t function, uint32_t word);
  std::string NodeAt(FunctionId function, uint32_t word) const;
  void SetBounds();

  const Program& program_;
  FunctionId entry_;
  MemoryForecast* forecast_;
  std::map<uint32_t, Positions> positions_;                  // by function
  std::map<uint32_t, std::vector<Extent>> extents_;          // by context
  std::map<std::pair<uint32_t, uint32_t>, int32_t> arenas_;  // stages, by context and register
  std::vector<ForecastValue> tensor_values_;                 // behind those of stages
  std::vector<uint32_t> tensors_;  // by object: its number among the extents of where it is made
  std::vector<int64_t> most_, least_;
  std::set<std::string> reasons_;
};

}  // namespace tvmvm::forecast
