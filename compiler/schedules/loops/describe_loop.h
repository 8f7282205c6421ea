// The body of a `loop` node as data for the outliner. Private to outline_loop.cc.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/loops/outline.h"
#include "compiler/schedules/group.h"
#include "compiler/schedules/loops/outline_loop.h"

namespace tvmvm::lowering {

// Builds the description for one target. Every method that gives bool gives false where the loop cannot be
// outlined.
class LoopDescriber {
 public:
  LoopDescriber(const ir::Function& function, ir::NodeId loop, const Views& views,
                const ir::RangeLookup& ranges, const TargetInfo& target, tensor::ScheduleCache* schedules);

  bool Run();
  const tensor::LoopBody& body() const { return body_; }
  const std::vector<LoopArgument>& arguments() const { return arguments_; }
  const ir::Dims& bytes() const { return bytes_; }
  const ir::Dims& facts() const { return facts_; }
  std::vector<PackedOfGroup>& packed() { return packed_; }

 private:
  using Steps = std::vector<tensor::BodyStep>;

  // --- uses ---
  void NumberNodes();
  void Read(ir::ValueId value, int position);
  void ReadAll(const ir::Node& node, int position);
  bool IsInner(const ir::Dim& dim) const;
  bool HasLargeDims(const ir::Node& node) const;
  // --- buffers ---
  uint32_t AddArgument(std::string name, DType dtype, Access access, LoopArgument argument,
                       const ir::Dim& elements);
  tensor::BufferPart AddValue(const std::string& name, DType dtype, const ir::Dim& elements);
  std::optional<tensor::BufferPart> PartOf(ir::ValueId value);
  bool IsWhole(ir::ValueId value) const;  // of its root
  bool AddCarried();
  bool PlaceResults();
  bool IsNew(ir::ValueId root) const;
  bool CanReplace(size_t carried, ir::ValueId root);
  bool UpdatesInPlace(ir::NodeId producer, ir::ValueId read, ir::ValueId written);
  // --- steps ---
  bool Region(ir::RegionId region, Steps* steps);
  bool AddNode(ir::NodeId id, Steps* steps);
  bool AddGroup(ir::NodeId id, Steps* steps);
  bool AddBranch(ir::NodeId id, Steps* steps);
  bool BranchResults(const ir::Node& node, ir::RegionId region, Steps* steps);
  void AddRequirements(const ir::Node& node, Steps* steps);
  bool MakeOutputs(const ir::Node& node);
  bool AddResults(Steps* steps);
  void Copy(const tensor::BufferPart& from, const tensor::BufferPart& to, const ir::Type& type, Steps* steps);
  const tensor::GroupProgram* Schedule(ir::NodeId id);

  const ir::Function& function_;
  const ir::Node& loop_;
  const ir::Region& region_;
  const Views& views_;
  const ir::RangeLookup& ranges_;
  const TargetInfo& target_;
  tensor::ScheduleCache& schedules_;
  tensor::LoopBody body_;
  std::vector<tensor::BodyBuffer> values_;  // appended to the arguments in the end
  std::vector<LoopArgument> arguments_;
  ir::Dims bytes_;  // of each argument
  ir::Dims facts_;  // that the steps take for granted
  std::vector<PackedOfGroup> packed_;
  std::map<ir::ValueId, tensor::BufferPart> places_;  // by root
  std::map<ir::NodeId, std::shared_ptr<const tensor::GroupProgram>> programs_;
  std::map<ir::ValueId, int> last_read_;  // position of the last reader in the body
  std::map<ir::ValueId, int> made_at_;    // position of the producer in the body
  std::map<ir::ValueId, ir::NodeId> made_by_;
  std::set<ir::ValueId> inside_;  // made by some region of the loop
  ir::SymbolSet inner_symbols_;
  std::vector<bool> is_direct_;  // by result: made where it belongs
  int64_t statements_ = 0;
  int branches_ = 0;  // around the node at hand
};

}  // namespace tvmvm::lowering
