// Common subexpressions: pure nodes of equal operator, attributes and inputs are computed once.

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <string>

#include "compiler/graph/core_op.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/pass.h"
#include "fmt/format.h"

namespace tvmvm::passes {
namespace {

using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::TensorData;
using ir::ValueId;

bool IsPure(const Node& node) {
  return node.regions.empty() && node.op->kind != OpKind::kDefineDims && node.op->kind != OpKind::kRequire &&
         node.op->kind != OpKind::kHost && !IsControl(*node.op);
}

std::string DataKey(const TensorData& data) {
  std::string key = fmt::format("{}[{}]", DTypeName(data.dtype), fmt::join(data.dims, ","));
  for (const std::string& text : data.strings) key += fmt::format("{}:{}", text.size(), text);
  XXH128_hash_t digest = XXH3_128bits(data.bytes.data(), data.bytes.size());
  return key + fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
}

struct AttributeKey {
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return fmt::format("{:a}", value); }
  std::string operator()(const std::string& value) const { return fmt::format("{}:{}", value.size(), value); }
  std::string operator()(DType value) const { return std::string(DTypeName(value)); }
  std::string operator()(ir::Layout value) const { return std::string(ir::LayoutName(value)); }
  std::string operator()(const ir::Dim& value) const { return value.ToString(); }
  std::string operator()(const ir::Dims& value) const { return ir::ToString(value); }
  std::string operator()(const std::vector<int64_t>& value) const {
    return fmt::format("{}", fmt::join(value, ","));
  }
  std::string operator()(const std::vector<double>& value) const {
    return fmt::format("{:a}", fmt::join(value, ","));
  }
  std::string operator()(const std::vector<std::string>& value) const {
    std::string key;
    for (const std::string& text : value) key += (*this)(text);
    return key;
  }
  std::string operator()(const ir::SymbolId& value) const { return (*this)(value.name()); }
  std::string operator()(const std::vector<ir::SymbolId>& value) const {
    std::string key;
    for (const ir::SymbolId& symbol : value) key += (*this)(symbol);
    return key;
  }
  std::string operator()(const std::shared_ptr<const TensorData>& value) const {
    return value ? DataKey(*value) : "none";
  }
};

std::string KeyOf(const Node& node, const std::vector<ValueId>& inputs) {
  std::string key(node.op->name);
  for (ValueId input : inputs) key += fmt::format(" {}", input.index);
  for (const auto& [name, attribute] : node.attributes)
    key += fmt::format(" {}={}", name, std::visit(AttributeKey{}, attribute));
  for (const ir::DecisionField& field : ir::DecisionFields())
    if (int64_t value = field.Get(node.decided); value != 0) key += fmt::format(" {}={}", field.name, value);
  return key;
}

}  // namespace

Status EliminateCommon(ir::Module& module, const PassContext&) {
  for (ir::Function& function : module.functions) {
    GraphRewriter rewriter(&module, &function);
    // By region, from the outside in: what a region computes is known to those inside.
    std::vector<std::map<std::string, NodeId>> known(1);
    auto visit = [&](NodeId id) {
      const Node& node = function.node(id);
      if (!IsPure(node)) return false;
      std::vector<ValueId> inputs = node.inputs;
      for (ValueId& input : inputs) input = rewriter.Map(input);
      std::string key = KeyOf(node, inputs);
      auto knows = [&](const auto& nodes) { return nodes.count(key) != 0; };
      auto found = std::find_if(known.begin(), known.end(), knows);
      if (found == known.end()) {
        known.back().emplace(std::move(key), id);
        return false;
      }
      const Node& same = function.node(found->at(key));
      for (size_t i = 0; i < node.outputs.size(); ++i)
        if (node.outputs[i].valid() && same.outputs[i].valid())
          rewriter.SetMap(node.outputs[i], rewriter.Map(same.outputs[i]));
      return true;
    };
    rewriter.Run(visit, [&](bool begins) {
      if (begins)
        known.emplace_back();
      else
        known.pop_back();
    });
    TVMVM_CHECK_OK(rewriter.Finish());
  }
  return {};
}

}  // namespace tvmvm::passes
