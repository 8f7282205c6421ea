// The table of core operators is complete: every scalar operation has a row, every row has what its kind
// needs.
#include "compiler/graph/core_op.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/folders.h"
#include "tests/golden/golden.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

TEST(CoreOpTest, RowsHaveWhatTheirKindNeeds) {
  std::set<std::string_view> names;
  for (const CoreOp* op : CoreOps()) {
    SCOPED_TRACE(std::string(op->name));
    EXPECT_TRUE(names.insert(op->name).second) << "two rows of one name";
    EXPECT_EQ(FindCoreOp(op->name), op);
    EXPECT_FALSE(op->meaning.empty());
    EXPECT_TRUE(op->max_inputs == -1 || op->max_inputs >= op->min_inputs);
    bool is_pull = false;
    switch (op->kind) {
      case OpKind::kElementwise:
      case OpKind::kMovement:
      case OpKind::kView:
      case OpKind::kReduce:
      case OpKind::kContraction:
      case OpKind::kConvolution:
      case OpKind::kTransposedConvolution:
      case OpKind::kWindow:
        is_pull = true;
        break;
      default:
        break;
    }
    EXPECT_EQ(op->element != nullptr, is_pull);
    EXPECT_EQ(op->loops != nullptr, BuildsLoops(op->kind));
    EXPECT_EQ(op->work != nullptr, BuildsLoops(op->kind)) << "what runs in threads and where follows from it";
    EXPECT_EQ(op->infer == nullptr, IsControl(*op) || op->kind == OpKind::kHost);
    EXPECT_EQ(op->host.has_value(), op->kind == OpKind::kHost);
    EXPECT_EQ(op->kind == OpKind::kElementwise,
              op->traits.axes == AxisMap::kBroadcast && op->traits.reorder == Reorder::kFreely);
    EXPECT_EQ(op->kind == OpKind::kView, op->traits.axes == AxisMap::kRegroup);
    EXPECT_TRUE(op->traits.data_inputs <= op->min_inputs || op->max_inputs == -1);
  }
  EXPECT_EQ(FindCoreOp("nothing"), nullptr);
}

TEST(CoreOpTest, EveryScalarOperationHasARow) {
  for (int i = static_cast<int>(ExprOp::kAdd); i <= static_cast<int>(ExprOp::kFma); ++i) {
    auto op = static_cast<ExprOp>(i);
    const CoreOp* row = ElementwiseOp(op);
    ASSERT_NE(row, nullptr) << i;
    EXPECT_EQ(row->scalar, op);
  }
  EXPECT_EQ(ElementwiseOp(ExprOp::kConstant), nullptr);
}

const std::string kDocument = SourcePath("docs/core_operators.md");

std::string_view Chapter(const CoreOp& op) {
  switch (op.kind) {
    case OpKind::kElementwise:
      return "Elementwise";
    case OpKind::kMovement:
    case OpKind::kView:
      return "Movement";
    case OpKind::kReduce:
    case OpKind::kWindow:
      return "Reductions";
    case OpKind::kProcedural:
      return "Operators that build their loops themselves";
    case OpKind::kHost:
      return "Functions of the host library";
    default:
      return IsProduct(op) ? "Products" : IsControl(op) ? "Control" : "Definitions";
  }
}

// "moves, pull": the traits that are set.
std::string TraitsText(const CoreOp& op) {
  const Traits& traits = op.traits;
  std::vector<std::string_view> names;
  const std::pair<bool, std::string_view> kFlags[] = {{traits.moves, "moves"},
                                                      {traits.pull, "pull"},
                                                      {traits.final_move, "final move"},
                                                      {op.view_offset != nullptr, "may be a view"},
                                                      {traits.free, "free"},
                                                      {traits.cheap, "cheap"},
                                                      {traits.delicate, "delicate"},
                                                      {traits.reads_bits, "reads bits"},
                                                      {traits.updates, "may be in place"}};
  for (const auto& [is_set, name] : kFlags)
    if (is_set) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string Document() {
  std::string text =
      "# Core operators\n\n"
      "The small vocabulary that every ONNX operator is decomposed into, from the rows of "
      "`compiler/graph/core/`. Made by\n"
      "`TVMVM_UPDATE_GOLDEN=1 build/tests/compiler_tests --gtest_filter='CoreOpTest.*'`; the test compares "
      "it with the rows.\n"
      "What the traits mean, `compiler/graph/traits.h` says.\n";
  std::vector<std::string_view> chapters;
  for (const CoreOp* op : CoreOps())
    if (std::ranges::find(chapters, Chapter(*op)) == chapters.end()) chapters.push_back(Chapter(*op));
  for (std::string_view chapter : chapters) {
    text += fmt::format(
        "\n## {}\n\n| operator | inputs | attributes | result | traits |\n"
        "| --- | --- | --- | --- | --- |\n",
        chapter);
    for (const CoreOp* op : CoreOps()) {
      if (Chapter(*op) != chapter) continue;
      std::string inputs = op->max_inputs == op->min_inputs ? std::to_string(op->min_inputs)
                           : op->max_inputs < 0             ? fmt::format("{} or more", op->min_inputs)
                                                : fmt::format("{} to {}", op->min_inputs, op->max_inputs);
      text += fmt::format("| {} | {} | {} | {} | {} |\n", op->name, inputs, op->attributes, op->meaning,
                          TraitsText(*op));
    }
  }
  return text;
}

TEST(CoreOpTest, DocumentIsFresh) {
  const std::string text = Document();
  if (UpdateGolden()) std::ofstream(kDocument, std::ios::binary) << text;
  EXPECT_EQ(ReadText(kDocument), text) << "TVMVM_UPDATE_GOLDEN=1 writes it anew";
}

TEST(CoreOpTest, ReduceKindsRoundTrip) {
  for (int i = 0; i <= static_cast<int>(tensor::ReduceKind::kArgMax); ++i) {
    auto kind = static_cast<tensor::ReduceKind>(i);
    EXPECT_EQ(ReduceKindFromName(ReduceKindName(kind)), kind);
  }
  EXPECT_FALSE(ReduceKindFromName("mean"));
}

TEST(CoreOpTest, BroadcastingFollowsNumpy) {
  Dim n = Dim::Symbol("n"), m = Dim::Symbol("m");
  auto text = [](const Dims& a, const Dims& b) {
    Expected<Dims> dims = BroadcastDims(a, b);
    return dims ? ToString(*dims) : dims.error().message;
  };
  EXPECT_EQ(text({n, 1}, {4}), "[n, 4]");
  EXPECT_EQ(text({}, {n}), "[n]");
  EXPECT_EQ(text({n}, {4}), "[4]");
  EXPECT_EQ(text({n}, {m}), "[select(eq(n, 1), m, n)]");
  EXPECT_EQ(text({2, 3}, {2, 4}), "shapes [2, 3] and [2, 4] do not broadcast: 3 and 4 differ");
}

}  // namespace
}  // namespace tvmvm::ir
