#include "compiler/memory/slice_batches.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/storage.h"
#include "compiler/memory/split.h"

namespace tvmvm::memory {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::Type;
using ir::ValueId;

constexpr int64_t kTypicalSide = 224;       // of a picture whose size is open
constexpr int64_t kLargeBytes = 512 << 10;  // of a sample's value: a few of them leave a core's own cache
constexpr int64_t kLargestBytes = 1 << 20;  // what the largest of them has at least, seen at run time
constexpr size_t kFewestConvolutions = 3;
constexpr size_t kLookAhead = 2;  // nodes behind the last large value among which the loop may end

Dim SampleBytes(const Type& type) {
  Dim bytes = DTypeBits(type.dtype) / 8;
  for (size_t axis = 1; axis < type.dims.size(); ++axis) bytes = bytes * type.dims[axis];
  return bytes;
}

int64_t TypicalBytes(const Type& type) {
  return Evaluate(SampleBytes(type), [](const auto&) { return std::optional<int64_t>(kTypicalSide); })
      .value_or(0);
}

// 1 or 0. Nothing else is to be known of it: kernels and packed weights are the same in the loop and outside.
Dim IsAtLeast(const Dim& a, int64_t bound) { return FloorDiv(a, Max(a, Dim(bound))); }

bool IsConvolution(const Function& function, const Node& node) {
  if (node.op->kind == OpKind::kConvolution) return true;
  return node.op->kind == OpKind::kFused &&
         std::ranges::any_of(function.region(node.regions[0]).nodes,
                             [&](NodeId id) { return IsConvolution(function, function.node(id)); });
}

class Slicer {
 public:
  explicit Slicer(ir::Module* module) : module_(*module), function_(module->main()) {
    for (ValueId result : function_.region(function_.body).results) used_by_[result].push_back({});
    for (NodeId id : function_.region(function_.body).nodes)
      for (ValueId use : ir::UsesOf(function_, function_.node(id))) used_by_[use].push_back(id);
  }

  void Run() {
    std::vector<NodeId> run;
    for (NodeId id : std::vector<NodeId>(function_.region(function_.body).nodes)) {
      if (function_.node(id).op->kind == OpKind::kConstant) continue;
      if (!run.empty() && !Continues(run, id)) {
        Consider(run);
        run.clear();
      }
      if (run.empty() ? Begins(id) : true) run.push_back(id);
    }
    Consider(run);
  }

 private:
  const Type& TypeOf(NodeId id) const { return function_.type(function_.node(id).outputs[0]); }

  bool Begins(NodeId id) {
    const Node& node = function_.node(id);
    if (node.outputs.size() != 1 || (node.op->kind != OpKind::kFused && !node.regions.empty())) return false;
    const Type& type = TypeOf(id);
    return type.kind == ir::TypeKind::kTensor && type.ranked && type.dims.size() > 2 &&
           !(type.dims[0].is_constant() && type.dims[0].value() <= 1) && DTypeBits(type.dtype) >= 8 &&
           type.dtype != DType::kString && MakesSamples(&function_, id);
  }
  bool Continues(const std::vector<NodeId>& run, NodeId id) {
    return Begins(id) && TypeOf(id).dims[0] == TypeOf(run[0]).dims[0];
  }

  // Values of a part of the run that others read.
  std::vector<ValueId> ResultsOf(std::span<const NodeId> part) const {
    std::vector<ValueId> results;
    for (NodeId id : part) {
      const ValueId value = function_.node(id).outputs[0];
      auto found = used_by_.find(value);
      const auto is_outside = [&](NodeId user) { return std::ranges::find(part, user) == part.end(); };
      if (found != used_by_.end() && std::ranges::any_of(found->second, is_outside)) results.push_back(value);
    }
    return results;
  }

  int64_t BytesOf(const std::vector<ValueId>& values) const {
    int64_t bytes = 0;
    for (ValueId value : values) bytes += TypicalBytes(function_.type(value));
    return bytes;
  }

  bool IsView(NodeId id) const { return lowering::Views::IsView(function_, function_.node(id)); }

  // The part that ends where least leaves it, soon after the last large value, and all of that in memory of
  // its own.
  std::span<const NodeId> PartOf(const std::vector<NodeId>& run) const {
    size_t last = run.size();
    for (size_t i = 0; i < run.size(); ++i)
      if (TypicalBytes(TypeOf(run[i])) >= kLargeBytes && !IsView(run[i])) last = i;
    if (last == run.size()) return {};
    std::span<const NodeId> best;
    for (size_t end = last + 1; end <= std::min(last + 1 + kLookAhead, run.size()); ++end) {
      const std::span<const NodeId> part = std::span(run).first(end);
      const std::vector<ValueId> results = ResultsOf(part);
      if (std::ranges::any_of(results,
                              [&](ValueId value) { return IsView(function_.value(value).producer); }))
        continue;
      if (best.empty() || BytesOf(results) < BytesOf(ResultsOf(best))) best = part;
    }
    return best;
  }

  void Consider(const std::vector<NodeId>& run) {
    const std::span<const NodeId> part = PartOf(run);
    const auto convolutions =
        std::ranges::count_if(part, [&](NodeId id) { return IsConvolution(function_, function_.node(id)); });
    if (static_cast<size_t>(convolutions) < kFewestConvolutions) return;
    const NodeId largest =
        *std::ranges::max_element(part, {}, [&](NodeId id) { return TypicalBytes(TypeOf(id)); });
    // 1: sample by sample; 0: all at once. A batch of one is no loop, which would hold its results
    // throughout.
    const Dim batch = TypeOf(part[0]).dims[0];
    const Dim slices = IsAtLeast(SampleBytes(TypeOf(largest)), kLargestBytes) * IsAtLeast(batch, 2);
    if (slices.IsConstant(0)) return;
    Function changed = function_;
    const Samples samples{{function_.body, {part.begin(), part.end()}},
                          ResultsOf(part),
                          batch - batch * slices,
                          batch * slices,
                          slices};
    if (SplitIntoLoop(&module_, &changed, samples)) function_ = std::move(changed);
  }

  ir::Module& module_;
  Function& function_;
  std::map<ValueId, std::vector<NodeId>> used_by_;  // an invalid node: a result of the function
};

}  // namespace

void SliceBatches(ir::Module* module) { Slicer(module).Run(); }

}  // namespace tvmvm::memory
