#include "compiler/placement/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/transfers.h"
#include "compiler/placement/placer.h"

namespace tvmvm::placement {
namespace {

// All obstacles, each once.
Error NotStrict(const std::vector<std::string>& obstacles, const std::string& device) {
  std::string text = fmt::format("not everything can run on {}:", device);
  std::vector<std::string> seen;
  for (const std::string& obstacle : obstacles) {
    if (std::find(seen.begin(), seen.end(), obstacle) != seen.end()) continue;
    seen.push_back(obstacle);
    text += "\n  " + obstacle;
  }
  return {Code::kUnsupported, text};
}

}  // namespace

Expected<Placement> PlaceModule(ir::Module* module, const PlacementOptions& options,
                                tensor::ScheduleCache* schedules) {
  Placement placement;
  std::vector<PlacementRow>& rows = placement.rows;
  std::vector<std::string> obstacles;
  for (ir::Function& function : module->functions) {
    ++schedules->counters().placements;
    Placer placer(&function, module->Ranges(), options, schedules);
    placer.Run();
    rows.insert(rows.end(), placer.rows().begin(), placer.rows().end());
    obstacles.insert(obstacles.end(), placer.obstacles().begin(), placer.obstacles().end());
    for (const PlacementRow& row : placer.rows())
      if (row.device == kHostDevice && placer.obstacles().empty())
        obstacles.push_back(fmt::format("{} ({}): {}", row.what, row.source, row.reason));
    ir::InsertTransfers(&function, lowering::Views(function));
    for (WaitingLoop waiting : placer.FindWaitingLoops()) {
      waiting.function = static_cast<size_t>(&function - module->functions.data());
      placement.waiting.push_back(waiting);
    }
  }
  if (options.strict && !obstacles.empty()) return tl::unexpected(NotStrict(obstacles, options.gpu_names[0]));
  return placement;
}

namespace {

// The rows of one function, in the order in which it runs.
class RowList {
 public:
  RowList(const ir::Function& function, const std::vector<PlacementRow>& before) : function_(function) {
    for (const PlacementRow& row : before)
      if (row.function == function.name) known_[row.node] = &row;
  }

  void AddRegion(ir::RegionId region, std::vector<PlacementRow>* rows) const {
    for (ir::NodeId id : function_.region(region).nodes) {
      const ir::Node& node = function_.node(id);
      auto known = known_.find(id);
      const bool runs_regions = ir::HasControlRegions(node) && known == known_.end();
      for (ir::RegionId inner : node.regions)
        if (runs_regions) AddRegion(inner, rows);
      if (runs_regions || (known == known_.end() && !Runs(node))) continue;
      PlacementRow row{function_.name, Described(function_, node),
                       node.source,    ir::DeviceOf(function_, node),
                       "has a kernel", id};
      if (known != known_.end() && known->second->device == row.device) row.reason = known->second->reason;
      rows->push_back(std::move(row));
    }
  }

 private:
  bool Runs(const ir::Node& node) const {
    switch (node.op->kind) {
      case ir::OpKind::kConstant:
      case ir::OpKind::kRequire:
      case ir::OpKind::kTransfer:
      case ir::OpKind::kDefineDims:
      case ir::OpKind::kDimsTensor:
        return false;
      default:
        return !lowering::Views::IsView(function_, node);
    }
  }

  const ir::Function& function_;
  std::map<ir::NodeId, const PlacementRow*> known_;
};

}  // namespace

std::vector<PlacementRow> RowsOf(const ir::Module& module, const std::vector<PlacementRow>& before) {
  std::vector<PlacementRow> rows;
  for (const ir::Function& function : module.functions)
    RowList(function, before).AddRegion(function.body, &rows);
  return rows;
}

std::string PlacementTable(const std::vector<PlacementRow>& rows, const PlacementOptions& options) {
  auto device = [&](const PlacementRow& row) {
    return row.device == kHostDevice ? std::string("cpu") : options.gpu_names[row.device - ir::kFirstGpu];
  };
  size_t widths[3] = {6, 4, 4};  // of the headings
  for (const PlacementRow& row : rows) {
    widths[0] = std::max(widths[0], device(row).size());
    widths[1] = std::max(widths[1], row.what.size());
    widths[2] = std::max(widths[2], row.source.size());
  }
  std::string text = fmt::format("{:{}}  {:{}}  {:{}}  {}\n", "device", widths[0], "runs", widths[1], "node",
                                 widths[2], "reason");
  std::vector<size_t> on_gpu(options.gpu_names.size());
  for (const PlacementRow& row : rows) {
    if (row.device != kHostDevice) ++on_gpu[row.device - ir::kFirstGpu];
    text += fmt::format("{:{}}  {:{}}  {:{}}  {}\n", device(row), widths[0], row.what, widths[1], row.source,
                        widths[2], row.reason);
  }
  for (size_t gpu = 0; gpu < on_gpu.size(); ++gpu)
    text += fmt::format("{} of {} run on {}\n", on_gpu[gpu], rows.size(), options.gpu_names[gpu]);
  return text;
}

}  // namespace tvmvm::placement
