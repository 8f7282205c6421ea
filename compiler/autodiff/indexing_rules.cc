// Gradients of gathers, scatters and sorts: what gathers scatters back, and the other way round.

#include <algorithm>
#include <string>

#include "compiler/autodiff/gradient_rule.h"
#include "compiler/expr/expr.h"

namespace tvmvm::autodiff {
namespace {

using tensor::ExprOp;

ir::Attributes Reduction(const char* kind) { return {{"reduction", std::string(kind)}}; }

// Indices as tuples of one along a new last axis.
ValueId AsTuples(OpBuilder& b, ValueId indices) { return b.Unsqueeze(indices, {b.rank(indices)}); }

// The gathered axis first, the axes of the indices behind it in its place.
void Gather(RuleContext& c) {
  OpBuilder& b = c.b;
  int64_t axis = c.node.Int("axis"), count = b.rank(c.in(1)), rank = b.rank(c.in(0));
  std::vector<int64_t> to_front, back;
  for (int64_t i = 0; i < count; ++i) to_front.push_back(axis + i);
  for (int64_t i = 0; i < axis; ++i) to_front.push_back(i);
  for (int64_t i = axis + count; i < rank - 1 + count; ++i) to_front.push_back(i);
  for (int64_t i = 0; i < axis; ++i) back.push_back(i + 1);
  back.push_back(0);
  for (int64_t i = axis + 1; i < rank; ++i) back.push_back(i);
  Dims dims = b.dims(c.in(0));
  std::rotate(dims.begin(), dims.begin() + axis, dims.begin() + axis + 1);
  ValueId sums =
      b.Emit("scatter_nd",
             {Zeros(b, b.dtype(c.in(0)), dims), AsTuples(b, c.in(1)), b.Transpose(c.gradient(), to_front)},
             Reduction("add"));
  c.Add(0, b.Transpose(sums, back));
}

ValueId AddElements(RuleContext& c, ValueId indices, ValueId updates) {
  OpBuilder& b = c.b;
  ir::Attributes attributes = Reduction("add");
  attributes["axis"] = c.node.Int("axis");
  return b.Emit("scatter_elements", {Zeros(b, b.dtype(c.in(0)), b.dims(c.in(0))), indices, updates},
                std::move(attributes));
}

void GatherElements(RuleContext& c) { c.Add(0, AddElements(c, c.in(1), c.gradient())); }

// Batch axes become leading parts of the tuples.
void GatherNd(RuleContext& c) {
  OpBuilder& b = c.b;
  int64_t batch = c.node.Int("batch_dims");
  Dims single = b.dims(c.in(1));
  single.back() = 1;
  std::vector<ValueId> parts;
  for (int64_t axis = 0; axis < batch; ++axis)
    parts.push_back(b.Iota(b.dtype(c.in(1)), single, static_cast<int>(axis)));
  parts.push_back(c.in(1));
  ValueId tuples = b.Concat(std::move(parts), b.rank(c.in(1)) - 1);
  c.Add(0, b.Emit("scatter_nd", {Zeros(b, b.dtype(c.in(0)), b.dims(c.in(0))), tuples, c.gradient()},
                  Reduction("add")));
}

// Sorted by size: the second result tells where from.
void TopK(RuleContext& c) {
  if (c.gradient().valid()) c.Add(0, AddElements(c, c.out(1), c.gradient()));
}

// ---- scatters ----

// `scatter` and `gather` write and read a tensor of the data's shape at the node's indices.
template <class Write, class Read>
void ScatterRule(RuleContext& c, Write scatter, Read gather) {
  OpBuilder& b = c.b;
  const std::string& reduction = c.node.String("reduction");
  if (reduction == "add") {
    c.Add(0, c.gradient());
    if (c.wants(2)) c.Add(2, gather(c.gradient()));
    return;
  }
  if (reduction != "none") return c.Unsupported("of reduction '" + reduction + "'");
  const Dims updates = b.dims(c.in(2));
  if (c.wants(0)) c.Add(0, scatter(c.gradient(), Zeros(b, b.dtype(c.in(2)), updates)));
  if (!c.wants(2)) return;
  // Of several updates in one place only the last counts: each writes its number, and sees whether it stays.
  ValueId numbers = b.Reshape(b.Iota(DType::kI64, {Product(updates)}, 0), updates);
  ValueId last = scatter(Zeros(b, DType::kI64, b.dims(c.in(0))), numbers);
  ValueId stays = b.Binary(ExprOp::kEqual, gather(last), numbers);
  c.Add(2, b.Where(stays, gather(c.gradient()), c.Constant(0)));
}

void ScatterElements(RuleContext& c) {
  ir::Attributes axis{{"axis", c.node.Int("axis")}};
  ir::Attributes attributes = Reduction("none");
  attributes.insert(axis.begin(), axis.end());
  ScatterRule(
      c,
      [&](ValueId x, ValueId updates) {
        return c.b.Emit("scatter_elements", {x, c.in(1), updates}, attributes);
      },
      [&](ValueId x) {
        return c.b.Emit("gather_elements", {x, c.in(1)}, axis);
      });
}

void ScatterNd(RuleContext& c) {
  ScatterRule(
      c,
      [&](ValueId x, ValueId updates) {
        return c.b.Emit("scatter_nd", {x, c.in(1), updates}, Reduction("none"));
      },
      [&](ValueId x) {
        return c.b.Emit("gather_nd", {x, c.in(1)}, {{"batch_dims", int64_t{0}}});
      });
}

constexpr GradientRule kRules[] = {
    {"gather", Gather}, {"gather_elements", GatherElements},   {"gather_nd", GatherNd},
    {"topk", TopK},     {"scatter_elements", ScatterElements}, {"scatter_nd", ScatterNd},
};

}  // namespace

std::span<const GradientRule> IndexingRules() { return kRules; }

}  // namespace tvmvm::autodiff
