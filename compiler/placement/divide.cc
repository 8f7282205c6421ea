#include "compiler/placement/divide.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

#include "compiler/graph/control.h"
#include "compiler/graph/storage.h"

namespace tvmvm::placement {
namespace {

using ir::NodeId;
using ir::ValueId;

class Division {
 public:
  Division(ir::Function* function, std::span<const BodyNode> body,
           const std::function<int64_t(const ir::Type&)>& bytes)
      : function_(*function), body_(body), views_(*function), made_(body.size()) {
    for (size_t i = 0; i < body.size(); ++i) {
      ListMade(body[i].node, &made_[i]);
      if (RunsOnGpu(i)) steps_.push_back(i);
    }
    FindAlive(bytes);
  }

  void Run(uint32_t gpus) {
    const auto parts = static_cast<uint32_t>(std::min<size_t>(gpus, steps_.size()));
    size_t begin = 0;  // of the part, in steps_
    for (uint32_t part = 1; part < parts; ++part) {
      begin = BeginOf(part, parts, begin + 1);
      Give(steps_[begin], ir::kFirstGpu + part);
    }
    for (size_t i = 0; i < function_.values.size(); ++i) {
      const ValueId value{static_cast<uint32_t>(i)};
      if (const ValueId root = views_.PlaceOf(value).root; !(root == value))
        function_.value(value).device = function_.value(root).device;
    }
  }

 private:
  // What the node defines, the values of its regions included.
  void ListMade(NodeId id, std::vector<ValueId>* made) const {
    const ir::Node& node = function_.node(id);
    for (ValueId output : node.outputs)
      if (output.valid()) made->push_back(output);
    if (!ir::HasControlRegions(node)) return;
    for (ir::RegionId region : node.regions) {
      const std::vector<ValueId>& parameters = function_.region(region).parameters;
      made->insert(made->end(), parameters.begin(), parameters.end());
      for (NodeId inner : function_.region(region).nodes) ListMade(inner, made);
    }
  }

  bool IsOnGpu(ValueId value) const { return function_.value(value).device == ir::kFirstGpu; }

  bool RunsOnGpu(size_t i) const {
    return !lowering::Views::IsView(function_, function_.node(body_[i].node)) &&
           std::ranges::any_of(made_[i], [&](ValueId value) { return IsOnGpu(value); });
  }

  // alive_[i]: bytes on the GPU that are made before node i of the body and used from it on.
  void FindAlive(const std::function<int64_t(const ir::Type&)>& bytes) {
    std::map<ValueId, size_t> last;
    for (size_t i = 0; i < body_.size(); ++i)
      for (ValueId value : ir::UsesOf(function_, function_.node(body_[i].node)))
        if (value.valid()) last[views_.PlaceOf(value).root] = i;
    alive_.assign(body_.size() + 1, 0);
    for (size_t i = 0; i < body_.size(); ++i)
      for (ValueId value : made_[i]) {
        const auto used = last.find(value);
        if (used == last.end() || used->second <= i || !IsOnGpu(value)) continue;
        const int64_t size = bytes(function_.type(value));
        alive_[i + 1] += size;
        alive_[used->second + 1] -= size;
      }
    for (size_t i = 1; i < alive_.size(); ++i) alive_[i] += alive_[i - 1];
  }

  // Where part `part` of `parts` begins, at `first` or later: of the places that a quarter of a part lies
  // around the even division, the one with least alive; without such places, the nearest.
  size_t BeginOf(uint32_t part, uint32_t parts, size_t first) const {
    const auto weight = [&](size_t step) { return std::max<int64_t>(body_[steps_[step]].time, 1); };
    int64_t total = 0, before = 0;
    for (size_t i = 0; i < steps_.size(); ++i) total += weight(i);
    const double even = static_cast<double>(total) * part / parts;
    const double near = static_cast<double>(total) / parts / 4;
    std::optional<size_t> best;
    double best_distance = 0;
    const size_t end = steps_.size() - (parts - part) + 1;  // each later part has a step, too
    for (size_t i = 0; i < end; before += weight(i++)) {
      if (i < first) continue;
      const double distance = std::abs(static_cast<double>(before) - even);
      const bool is_near = distance <= near, best_is_near = best && best_distance <= near;
      const bool is_better = !best || (is_near != best_is_near ? is_near
                                       : is_near && alive_[steps_[i]] != alive_[steps_[*best]]
                                           ? alive_[steps_[i]] < alive_[steps_[*best]]
                                           : distance < best_distance);
      if (!is_better) continue;
      best = i;
      best_distance = distance;
    }
    return *best;
  }

  // What is made from node `begin` of the body on goes to the GPU, but for what is on the CPU.
  void Give(size_t begin, uint32_t gpu) {
    for (size_t i = begin; i < body_.size(); ++i)
      for (ValueId value : made_[i])
        if (function_.value(value).device != kHostDevice) function_.value(value).device = gpu;
  }

  ir::Function& function_;
  std::span<const BodyNode> body_;
  const lowering::Views views_;
  std::vector<std::vector<ValueId>> made_;  // by the nodes of the body
  std::vector<size_t> steps_;               // nodes that run on the GPU
  std::vector<int64_t> alive_;
};

}  // namespace

void DivideAmongGpus(ir::Function* function, std::span<const BodyNode> body, uint32_t gpus,
                     const std::function<int64_t(const ir::Type&)>& bytes) {
  if (gpus > 1) Division(function, body, bytes).Run(gpus);
}

}  // namespace tvmvm::placement
