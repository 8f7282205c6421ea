// What there is to place in one function, as a cut problem. Implementation of placement.h.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/graph/storage.h"
#include "compiler/placement/divide.h"
#include "compiler/placement/min_cut.h"
#include "compiler/placement/placement.h"
#include "compiler/schedules/group.h"

namespace tvmvm::placement {

class Placer {
 public:
  Placer(ir::Function* function, ir::RangeLookup ranges, const PlacementOptions& options,
         tensor::ScheduleCache* schedules);

  // Gives a device to every value and takes the attribute `outline` from loops that are not to be one kernel.
  void Run();
  const std::vector<PlacementRow>& rows() const { return rows_; }
  // Reasons why something cannot be on the GPU.
  const std::vector<std::string>& obstacles() const { return obstacles_; }
  // After transfers were put in: those that could run on the GPU alone.
  std::vector<WaitingLoop> FindWaitingLoops() const;

 private:
  using Item = MinCut::Item;

  // A value with memory of its own.
  struct Root {
    Item item = 0;
    int64_t times = 1;  // how often it is made
    bool is_input = false;
    std::vector<Item> users;
  };
  struct Row {
    Item item;
    size_t row;
  };
  // What an item takes in a call, in nanoseconds.
  struct Work {
    Item item;
    int64_t on_gpu, on_cpu;
  };
  // Of a group's kernels; the GPU's without launches.
  struct KernelTimes {
    int64_t on_gpu = 0, on_cpu = 0, launches = 0;
  };
  struct OpenLoop {
    ir::NodeId node;
    Item first, last;   // items of what is in it
    int64_t step_time;  // of the GPU for one step
  };

  void Region(ir::RegionId region, int64_t times);
  void Visit(ir::NodeId id, int64_t times);
  void VisitLaunch(ir::NodeId id, int64_t times);
  void VisitCheck(ir::NodeId id, int64_t times);
  KernelTimes TimesOf(const tensor::GroupProgram& program) const;
  void VisitIf(ir::NodeId id, int64_t times);
  void VisitLoop(ir::NodeId id, int64_t times);
  // A loop that runs as one kernel on the CPU.
  bool VisitOutlined(ir::NodeId id, int64_t times);
  void OnCpu(ir::NodeId id, int64_t times, std::string reason);

  Item Fixed();  // an item of the CPU
  Item Free() { return cut_.Add(0, 0); }
  Item ItemFor(const ir::Type& type, bool may_move);  // free where a GPU can hold such a value
  void Define(ir::ValueId value, Item item, int64_t times, bool is_input = false);
  void Use(ir::ValueId value, Item by);
  void Tie(Item a, Item b);
  void AddCopies();
  void AddRow(ir::NodeId id, Item item, std::string reason);
  void AddWork(Item item, int64_t on_gpu, int64_t on_cpu);
  int64_t TimeOf(const std::vector<bool>& on_cpu) const;
  void Divide();  // among the GPUs
  void Assign(const std::vector<bool>& on_cpu, const std::string& why_cpu);

  int64_t Estimate(const ir::Dim& dim, int64_t otherwise) const;
  int64_t CopyTime(ir::ValueId value) const;
  int64_t StepsWorthAWait(const OpenLoop& loop) const;
  bool CouldMove(ir::RegionId region) const;

  ir::Function& function_;
  ir::RangeLookup ranges_;
  const PlacementOptions& options_;
  tensor::ScheduleCache& schedules_;
  lowering::Views views_;
  MinCut cut_;
  Item cpu_ = 0;
  uint32_t items_ = 0;
  std::map<ir::ValueId, Root> roots_;
  std::vector<PlacementRow> rows_;
  std::vector<Row> decided_;  // rows whose device the cut decides
  std::vector<Work> work_;
  std::vector<OpenLoop> loops_;
  std::set<ir::NodeId> bound_;  // to the CPU
  int64_t time_ = 0;            // of the GPU for what was visited of the region in hand
  std::vector<BodyNode> body_;
  std::vector<std::string> obstacles_;
};

// "gemm", or "add+mul+neg+..." of a group.
std::string Described(const ir::Function& function, const ir::Node& node);

}  // namespace tvmvm::placement
