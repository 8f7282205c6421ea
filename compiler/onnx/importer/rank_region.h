// Nodes that hang together by values of unknown rank: one choice among the ranks for all of them, instead of
// one for each.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/onnx/importer/choice_branches.h"
#include "compiler/onnx/importer/flat_views.h"
#include "compiler/onnx/model/onnx_model.h"

namespace tvmvm::ir {

// Who makes and who reads which name in a list of nodes, subgraphs included; found once for the list.
class NodeNames {
 public:
  // `results`: the names that are read after the nodes.
  NodeNames(const std::vector<OnnxNode>& nodes, std::set<std::string> results);

  std::optional<size_t> MakerOf(const std::string& name) const;
  const std::vector<size_t>& ReadersOf(const std::string& name) const;
  bool IsResult(const std::string& name) const { return results_.contains(name); }

 private:
  void AddGraph(const OnnxGraph& graph, size_t reader);

  std::map<std::string, size_t> makers_;
  std::map<std::string, std::vector<size_t>> readers_;
  std::set<std::string> results_;
};

// What the importer does for a region.
struct RankRegionImporter {
  // A value of the scope around; null: not imported yet, or not at all.
  std::function<std::optional<ValueId>(const std::string& name)> find;
  // Whether the node is an operator without subgraphs.
  std::function<bool(const OnnxNode& node)> may_join;
  // Imports the node in the region that the builder is in. Its outputs; nothing, and no report, where it
  // cannot be imported.
  std::function<std::optional<std::vector<ValueId>>(const OnnxNode& node, const std::vector<ValueId>& inputs)>
      lower;
  // Imports node `index` now, before the region. False: it did not work.
  std::function<bool(size_t index)> import_before;
  std::function<void(const OnnxNode& node)> joined;
  std::function<void()> abandon;  // those that joined do not belong to a region after all
  std::function<void(const std::string& name, ValueId value)> define;
  bool keep_all_values = false;
};

class RankRegion {
 public:
  // `done`: the nodes that are imported; those of the region are added.
  RankRegion(const std::vector<OnnxNode>& nodes, const NodeNames& names, OpBuilder* b, FlatViews* flats,
             RankRegionImporter importer, std::vector<bool>* done);

  // Imports the region that begins with a node; node by node, where none of it needs to know the rank. False:
  // the node is not imported.
  bool Import(size_t first);

 private:
  using Values = std::map<std::string, ValueId>;

  bool Open(size_t first);
  bool TryJoin(size_t index);
  bool CanRead(size_t index);
  bool BringForward(const std::string& name, int depth);
  bool IsInside(const std::string& name) const { return names_inside_.contains(name); }
  void ImportOneByOne();
  bool LowerIn(size_t branch, const OnnxNode& node, std::vector<ValueId>* outputs);
  ValueId InputIn(size_t branch, const std::string& name);
  ValueId Ranked(size_t branch, ValueId value);
  bool IsUnrankedOutside(const std::string& name) const;
  void Grow(const OnnxNode& node, std::set<size_t>* candidates) const;
  bool NeedsRank(const std::string& name) const;
  void Close();
  std::vector<std::string> Exported() const;

  const std::vector<OnnxNode>& nodes_;
  const NodeNames& names_;
  OpBuilder& b_;
  FlatViews& flats_;
  const RankRegionImporter importer_;
  std::vector<bool>& done_;
  ValueId decided_;  // the value whose rank decides
  std::optional<ChoiceBranches> branches_;
  std::vector<Values> values_;                      // by branch: of the region's names
  std::vector<std::map<ValueId, ValueId>> ranked_;  // by branch: values of unknown rank as they are there
  std::vector<Dims> dims_;                          // by branch: of the value that decides
  std::vector<size_t> members_;
  std::set<std::string> names_inside_;
  bool needs_rank_ = false;  // some member does more than something to each element
};

}  // namespace tvmvm::ir
