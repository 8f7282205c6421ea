#include "compiler/tensor/schedule_gpu_product.h"

#include "compiler/codegen/gpu_codegen.h"
#include "tests/compiler/tensor/gpu_group.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::ValueId;
using Ints = std::vector<int64_t>;

constexpr int64_t kMostEvaluated = 3'000'000;

// A product of x and y, either of them transposed, with a bias and a clamp behind it.
ir::NodeId Product(GroupBuilder& b, bool is_left_transposed, bool is_right_transposed, const Dim& k,
                   const Dim& n, DType left = DType::kF32, DType right = DType::kF32) {
  ValueId x = b.Input(left, is_left_transposed ? Dims{k, M()} : Dims{M(), k});
  ValueId y = b.Input(right, is_right_transposed ? Dims{n, k} : Dims{k, n});
  ValueId product = b.Add("contract", {x, y},
                          {{"lhs_batch", Ints{}},
                           {"rhs_batch", Ints{}},
                           {"lhs_contract", Ints{is_left_transposed ? 0 : 1}},
                           {"rhs_contract", Ints{is_right_transposed ? 1 : 0}},
                           {"dtype", DType::kF32}});
  b.Output(b.Add("max", {b.Add("add", {product, b.Input(DType::kF32, {n})}), b.Number(0)}));
  return b.Finish();
}

void CheckTile(GroupBuilder& b, ir::NodeId node, const ProductTile& tile, const Symbols& symbols) {
  GroupView group(b.function(), node);
  GpuGroup scheduled(b.function(), node, ScheduleProductByTile(group, tile));
  std::vector<HostTensor> inputs = RandomInputs(group, symbols);
  std::vector<HostTensor> wanted = RunNaively(group, inputs, symbols);
  std::vector<std::vector<HostTensor>> all = scheduled.Run(inputs, symbols, kMostEvaluated);
  EXPECT_FALSE(all.empty()) << "nothing ran";
  for (const std::vector<HostTensor>& given : all) CompareTensors(wanted[0], given[0], 1e-4, 0);
}

std::string NameOf(const ProductTile& t) {
  return std::to_string(t.rows) + "x" + std::to_string(t.columns) + "x" + std::to_string(t.depth);
}

// Tiles of the table, and others that benches try: one with fewer work-items,
// one with parts of several vectors.
std::vector<ProductTile> Tiles() {
  std::vector<ProductTile> tiles(ProductTiles().begin(), ProductTiles().end());
  tiles.push_back({64, 128, 16, 8, 8, 16});
  tiles.push_back({32, 64, 8, 4, 8, 8});
  return tiles;
}

class EveryTile : public testing::TestWithParam<ProductTile> {};
INSTANTIATE_TEST_SUITE_P(GpuProduct, EveryTile, testing::ValuesIn(Tiles()),
                         [](const auto& tile) { return "t" + NameOf(tile.param); });

TEST_P(EveryTile, SizesThatItDividesAndOthers) {
  const ProductTile& tile = GetParam();
  for (bool is_transposed : {false, true}) {
    SCOPED_TRACE(is_transposed ? "transposed" : "plain");
    GroupBuilder b;
    ir::NodeId node = Product(b, is_transposed, is_transposed, K(), N());
    // One tile without edges; edges on all sides, read by fours; the same, one by one.
    for (const Symbols& symbols : {Symbols{{"m", tile.rows}, {"n", tile.columns}, {"k", tile.depth}},
                                   Symbols{{"m", tile.rows + 4}, {"n", 12}, {"k", 2 * tile.depth + 4}},
                                   Symbols{{"m", 3}, {"n", tile.columns + 1}, {"k", tile.depth + 3}}})
      CheckTile(b, node, tile, symbols);
  }
}

TEST(GpuProduct, FactorsOfHalfPrecision) {
  const ProductTile& tile = ProductTiles().back();
  constexpr DType kF16 = DType::kF16, kF32 = DType::kF32;
  for (auto [left, right] : {std::pair{kF16, kF16}, {kF32, kF16}, {kF16, kF32}}) {
    SCOPED_TRACE(std::string(DTypeName(left)) + " and " + std::string(DTypeName(right)));
    GroupBuilder b;
    ir::NodeId node = Product(b, left == kF16, right == kF16, K(), N(), left, right);
    for (const Symbols& symbols : {Symbols{{"m", tile.rows}, {"n", tile.columns}, {"k", tile.depth}},
                                   Symbols{{"m", tile.rows + 4}, {"n", 12}, {"k", 2 * tile.depth + 4}},
                                   Symbols{{"m", 3}, {"n", tile.columns + 1}, {"k", tile.depth + 3}}})
      CheckTile(b, node, tile, symbols);
  }
}

TEST_P(EveryTile, NothingToSum) {
  GroupBuilder b;
  ir::NodeId node = Product(b, false, false, K(), N());
  CheckTile(b, node, GetParam(), {{"m", 5}, {"n", 8}, {"k", 0}});
}

// The kernel for a product of known sizes that the tile divides, as text.
std::string PrintedFor(const ProductTile& tile, int64_t n, int64_t k, size_t* calls) {
  GroupBuilder b;
  ir::NodeId node = Product(b, false, false, k, n);
  auto program = ScheduleProductByTile(GroupView(b.function(), node), tile);
  EXPECT_TRUE(program.has_value());
  *calls = program->calls.size();
  codegen::KernelSource source{"product", &program->calls[0].kernel, {}};
  return codegen::PrintGlslKernel(source).value_or("");
}

TEST(GpuProduct, AFewRowsByGroupsThatShareTheDepth) {
  for (bool is_transposed : {false, true}) {
    GroupBuilder b;
    ir::NodeId node = Product(b, is_transposed, is_transposed, K(), N());
    GroupView group(b.function(), node);
    GpuGroup scheduled(b.function(), node);
    for (const Symbols& symbols :
         {Symbols{{"m", 1}, {"n", 19}, {"k", 70}}, Symbols{{"m", 8}, {"n", 3}, {"k", 33}},
          Symbols{{"m", 17}, {"n", 19}, {"k", 40}}, Symbols{{"m", 32}, {"n", 8}, {"k", 0}},
          // By eights of the depth, then fours, then one by one; in whole vectors and not.
          Symbols{{"m", 5}, {"n", 9}, {"k", 452}}, Symbols{{"m", 1}, {"n", 9}, {"k", 453}}}) {
      std::vector<HostTensor> inputs = RandomInputs(group, symbols);
      std::vector<HostTensor> wanted = RunNaively(group, inputs, symbols);
      for (const std::vector<HostTensor>& given : scheduled.Run(inputs, symbols, kMostEvaluated))
        CompareTensors(wanted[0], given[0], 1e-4, 0);
    }
  }
}

TEST(GpuProduct, SeveralGroupsShareALongDepth) {
  for (bool is_transposed : {false, true}) {
    GroupBuilder b;
    ir::NodeId node = Product(b, is_transposed, is_transposed, K(), N());
    GroupView group(b.function(), node);
    GpuGroup scheduled(b.function(), node);
    // The last share is shorter than the first: read by fours, and one by one.
    Symbols symbols =
        is_transposed ? Symbols{{"m", 34}, {"n", 9}, {"k", 261}} : Symbols{{"m", 36}, {"n", 12}, {"k", 268}};
    std::vector<HostTensor> inputs = RandomInputs(group, symbols);
    std::vector<HostTensor> wanted = RunNaively(group, inputs, symbols);
    std::vector<std::vector<HostTensor>> all = scheduled.Run(inputs, symbols, kMostEvaluated);
    EXPECT_FALSE(all.empty()) << "nothing ran";
    for (const std::vector<HostTensor>& given : all) CompareTensors(wanted[0], given[0], 1e-4, 0);
  }
}

TEST(GpuProduct, TilesThatDoNotFitAGroupAreRefused) {
  GroupBuilder b;
  ir::NodeId node = Product(b, false, false, K(), N());
  GroupView group(b.function(), node);
  for (const ProductTile& tile : {ProductTile{16, 64, 8, 4, 8, 4}, ProductTile{16, 16, 2, 2, 8, 2},
                                  ProductTile{16, 512, 8, 8, 8, 8}, ProductTile{}})
    EXPECT_FALSE(ScheduleProductByTile(group, tile).has_value());
}

TEST(GpuProduct, TheInnerLoopIsLoadsOfVectorsAndFma) {
  size_t calls = 0;
  const ProductTile& tile = ProductTiles()[0];
  std::string text = PrintedFor(tile, 256, 128, &calls);
  EXPECT_EQ(calls, 1u) << "known sizes need one kernel";
  size_t begin = text.find("for ("), from = text.find("a_", begin);
  ASSERT_NE(begin, std::string::npos);
  std::string loop = text.substr(from, text.find("barrier()", from) - from);  // of one half
  size_t products = 0, vectors = 0, others = 0;
  std::istringstream lines(loop.substr(0, loop.find('\n', loop.rfind("= fma("))));
  for (std::string line; std::getline(lines, line);) {
    bool is_product = line.find("= fma(") != std::string::npos;
    bool is_vector = line.find("= left_") != std::string::npos || line.find("= right_") != std::string::npos;
    (is_product ? products : is_vector ? vectors : others) += line.find(';') != std::string::npos;
  }
  size_t steps = static_cast<size_t>(tile.depth);
  EXPECT_EQ(products, steps * static_cast<size_t>(tile.item_rows * tile.item_columns / 4)) << loop;
  EXPECT_EQ(vectors, steps * static_cast<size_t>((tile.item_rows + tile.item_columns) / 4));
  EXPECT_EQ(others, 0u) << loop;
  EXPECT_NE(text.find("load_aligned_f32x4("), std::string::npos);
  EXPECT_EQ(text.find("i64", begin), std::string::npos) << "its indices fit in 32 bits";
  EXPECT_NE(text.find("store_f32x4("), std::string::npos);
}

TEST(GpuProduct, RowsThatNoFourDividesAreReadOneByOne) {
  size_t calls = 0;
  std::string text = PrintedFor(ProductTiles()[0], 255, 127, &calls);
  EXPECT_EQ(calls, 1u);
  EXPECT_EQ(text.find("load_aligned_f32x4("), std::string::npos);
}

TEST(GpuProduct, SizesKnownAtRunTimeGetAKernelForEachCase) {
  GroupBuilder b;
  ir::NodeId node = Product(b, false, false, K(), N());
  auto program = ScheduleGroup(b.function(), node, GpuTargetInfo(DeviceKind::kVulkan));
  ASSERT_TRUE(program.has_value());
  for (const Symbols& symbols :
       {Symbols{{"m", 1}, {"n", 8}, {"k", 8}}, Symbols{{"m", 7}, {"n", 8}, {"k", 8}},
        Symbols{{"m", 40}, {"n", 8}, {"k", 8}}, Symbols{{"m", 40}, {"n", 9}, {"k", 8}},
        Symbols{{"m", 900}, {"n", 900}, {"k", 8}}, Symbols{{"m", 90}, {"n", 900}, {"k", 800}},
        Symbols{{"m", 4000}, {"n", 4001}, {"k", 8}}, Symbols{{"m", 1 << 20}, {"n", 1 << 10}, {"k", 8}},
        Symbols{{"m", 1 << 20}, {"n", 1 << 11}, {"k", 8}}}) {
    int launched = 0;
    bool is_small = symbols.at("m") * symbols.at("n") <= kSmallSize;
    for (const KernelCall& call : program->calls) {
      if (ValueOf(call.when, symbols) == 0) continue;
      launched += call.kernel.buffers[call.kernel.argument_count - 1].name != "partials";
      EXPECT_EQ(call.kernel.small_sizes, is_small);
    }
    EXPECT_EQ(launched, 1);
  }
}

}  // namespace
}  // namespace tvmvm::tensor
