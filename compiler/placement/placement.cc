#include "compiler/placement/placement.h"

#include <fmt/format.h>

#include <algorithm>

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

Expected<Placement> PlaceModule(ir::Module* module, const PlacementOptions& options) {
  Placement placement;
  std::vector<PlacementRow>& rows = placement.rows;
  std::vector<std::string> obstacles;
  for (ir::Function& function : module->functions) {
    Placer placer(&function, module->Ranges(), options);
    placer.Run();
    rows.insert(rows.end(), placer.rows().begin(), placer.rows().end());
    obstacles.insert(obstacles.end(), placer.obstacles().begin(), placer.obstacles().end());
    for (const PlacementRow& row : placer.rows())
      if (row.device == DeviceClass::kCpu && placer.obstacles().empty())
        obstacles.push_back(fmt::format("{} ({}): {}", row.what, row.source, row.reason));
    InsertTransfers(&function, lowering::Views(function));
    const std::vector<WaitingLoop> waiting = placer.FindWaitingLoops();
    placement.waiting.insert(placement.waiting.end(), waiting.begin(), waiting.end());
  }
  if (options.strict && !obstacles.empty()) return tl::unexpected(NotStrict(obstacles, options.gpu_name));
  return placement;
}

std::string PlacementTable(const std::vector<PlacementRow>& rows, const PlacementOptions& options) {
  auto device = [&](const PlacementRow& row) {
    return row.device == DeviceClass::kCpu ? std::string("cpu") : options.gpu_name;
  };
  size_t widths[3] = {6, 4, 4};  // of the headings
  for (const PlacementRow& row : rows) {
    widths[0] = std::max(widths[0], device(row).size());
    widths[1] = std::max(widths[1], row.what.size());
    widths[2] = std::max(widths[2], row.source.size());
  }
  std::string text = fmt::format("{:{}}  {:{}}  {:{}}  {}\n", "device", widths[0], "runs", widths[1], "node",
                                 widths[2], "reason");
  size_t on_gpu = 0;
  for (const PlacementRow& row : rows) {
    on_gpu += row.device == DeviceClass::kGpu;
    text += fmt::format("{:{}}  {:{}}  {:{}}  {}\n", device(row), widths[0], row.what, widths[1], row.source,
                        widths[2], row.reason);
  }
  return text + fmt::format("{} of {} run on {}\n", on_gpu, rows.size(), options.gpu_name);
}

}  // namespace tvmvm::placement
