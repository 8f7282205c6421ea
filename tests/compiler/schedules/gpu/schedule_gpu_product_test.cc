#include "compiler/schedules/gpu/schedule_gpu_product.h"

#include <algorithm>

#include "compiler/codegen/c/glsl_to_spirv.h"
#include "compiler/codegen/c/spirv_matrices.h"
#include "compiler/codegen/gpu_codegen.h"
#include "tests/compiler/schedules/gpu_group.h"

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

void CheckTile(GroupBuilder& b, ir::NodeId node, const ProductTile& tile, const Symbols& symbols,
               const TargetInfo& target = GpuTargetInfo(DeviceKind::kOpenCl)) {
  GroupView group(b.function(), node);
  GpuGroup scheduled(b.function(), node, ScheduleProductByTile(group, tile, target));
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

// By rows and by columns of both factors: with sizes that tiles divide, edges read by eights, and one by one.
// The largest tile differs from them in numbers only, and the evaluator takes long for it.
TEST(GpuProduct, ByMatrices) {
  constexpr DType kF16 = DType::kF16;
  for (const ProductTile& tile : HalfProductTiles().subspan(1)) {
    for (bool is_left_transposed : {false, true}) {
      for (bool is_right_transposed : {false, true}) {
        GroupBuilder b;
        ir::NodeId node = Product(b, is_left_transposed, is_right_transposed, K(), N(), kF16, kF16);
        for (const Symbols& symbols :
             {Symbols{{"m", tile.rows}, {"n", tile.columns}, {"k", 32}},
              Symbols{{"m", tile.rows + 8}, {"n", 24}, {"k", 40}},
              Symbols{{"m", tile.rows + 4}, {"n", 12}, {"k", 36}}, Symbols{{"m", 4}, {"n", 4}, {"k", 4}},
              Symbols{{"m", 3}, {"n", tile.columns + 1}, {"k", 35}}, Symbols{{"m", 5}, {"n", 8}, {"k", 0}}})
          CheckTile(b, node, tile, symbols, GpuTargetWithMatrices(DeviceKind::kVulkan));
      }
    }
  }
}

// Sizes that are known to be multiples of eight, of four, and neither.
TEST(GpuProduct, ByMatricesOfKnownSizes) {
  constexpr DType kF16 = DType::kF16;
  struct {
    int64_t k, n;
    const char *wanted, *unwanted;
  } constexpr kCases[] = {{40, 72, "load_aligned_halves8(", "load_aligned_halves4("},
                          {36, 76, "load_aligned_halves4(", "load_aligned_halves8("},
                          {35, 73, "bitfieldInsert", "load_aligned_halves"}};
  const ProductTile& tile = HalfProductTiles()[1];
  for (const auto& c : kCases) {
    GroupBuilder b;
    ir::NodeId node = Product(b, false, false, c.k, c.n, kF16, kF16);
    const TargetInfo target = GpuTargetWithMatrices(DeviceKind::kVulkan);
    CheckTile(b, node, tile, {{"m", tile.rows + 1}}, target);
    auto program = ScheduleProductByTile(GroupView(b.function(), node), tile, target);
    ASSERT_TRUE(program.has_value() && program->calls.size() == 1);
    std::string text = codegen::PrintGlslKernel({"product", &program->calls[0].kernel, {}}).value_or("");
    EXPECT_NE(text.find(c.wanted), std::string::npos) << text;
    EXPECT_EQ(text.find(c.unwanted), std::string::npos) << text;
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

using Thin = testing::TestWithParam<DType>;
INSTANTIATE_TEST_SUITE_P(GpuProduct, Thin, testing::Values(DType::kF32, DType::kF16),
                         [](const auto& dtype) { return std::string(DTypeName(dtype.param)); });

TEST_P(Thin, AFewRowsByGroupsThatShareTheDepth) {
  for (bool is_transposed : {false, true}) {
    GroupBuilder b;
    ir::NodeId node = Product(b, is_transposed, is_transposed, K(), N(), GetParam(), GetParam());
    GroupView group(b.function(), node);
    GpuGroup scheduled(b.function(), node);
    for (const Symbols& symbols :
         {Symbols{{"m", 1}, {"n", 19}, {"k", 70}}, Symbols{{"m", 8}, {"n", 3}, {"k", 33}},
          Symbols{{"m", 17}, {"n", 19}, {"k", 40}}, Symbols{{"m", 32}, {"n", 8}, {"k", 0}},
          // By eights of the depth, then fours, then one by one; in whole vectors and not.
          Symbols{{"m", 5}, {"n", 9}, {"k", 456}}, Symbols{{"m", 5}, {"n", 9}, {"k", 452}},
          Symbols{{"m", 1}, {"n", 9}, {"k", 453}},
          // Four columns at once.
          Symbols{{"m", 5}, {"n", 12}, {"k", 812}}, Symbols{{"m", 1}, {"n", 36}, {"k", 68}},
          Symbols{{"m", 12}, {"n", 4}, {"k", 4}}}) {
      std::vector<HostTensor> inputs = RandomInputs(group, symbols);
      std::vector<HostTensor> wanted = RunNaively(group, inputs, symbols);
      for (const std::vector<HostTensor>& given : scheduled.Run(inputs, symbols, kMostEvaluated))
        CompareTensors(wanted[0], given[0], 1e-4, 0);
    }
  }
}

// Factors of f16 and weights that lie column by column, row by row.
TEST(GpuProduct, AFewRowsReadHalvesByVectors) {
  for (bool is_right_transposed : {false, true}) {
    for (const Dim& m : {Dim(1), Dim(7)}) {
      GroupBuilder b;
      ValueId x = b.Input(DType::kF16, {m, 768});
      ValueId y = b.Input(DType::kF16, is_right_transposed ? Dims{512, 768} : Dims{768, 512});
      b.Output(b.Add("contract", {x, y},
                     {{"lhs_batch", Ints{}},
                      {"rhs_batch", Ints{}},
                      {"lhs_contract", Ints{1}},
                      {"rhs_contract", Ints{is_right_transposed ? 1 : 0}},
                      {"dtype", DType::kF32}}));
      ir::NodeId node = b.Finish();
      auto program = ScheduleGroup(b.function(), node, GpuTargetInfo(DeviceKind::kVulkan));
      ASSERT_TRUE(program.has_value());
      ASSERT_EQ(program->calls.size(), 1u);
      const LoopKernel& kernel = program->calls[0].kernel;
      for (size_t i : {0, 1}) EXPECT_EQ(kernel.buffers[i].access, Access::kReadAligned);
      for (const std::string& text : {codegen::PrintGlslKernel({"product", &kernel, {}}).value_or(""),
                                      codegen::PrintOpenClKernel({"product", &kernel, {}}).value_or("")}) {
        EXPECT_NE(text.find("load_aligned_f16x4("), std::string::npos) << text;
        EXPECT_EQ(text.find("decode_f16("), std::string::npos) << text;
      }
    }
  }
}

using Shares = testing::TestWithParam<DType>;
INSTANTIATE_TEST_SUITE_P(GpuProduct, Shares, testing::Values(DType::kF32, DType::kF16),
                         [](const auto& dtype) { return std::string(DTypeName(dtype.param)); });

TEST_P(Shares, SeveralGroupsShareALongDepth) {
  for (bool is_transposed : {false, true}) {
    GroupBuilder b;
    ir::NodeId node = Product(b, is_transposed, is_transposed, K(), N(), GetParam(), GetParam());
    GroupView group(b.function(), node);
    const TargetInfo target = GetParam() == DType::kF16 ? GpuTargetWithMatrices(DeviceKind::kVulkan)
                                                        : GpuTargetInfo(DeviceKind::kVulkan);
    GpuGroup scheduled(b.function(), node, ScheduleGroup(b.function(), node, target));
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

// The loop over slices of a kernel by matrices, from the first of its lines that holds `first`.
std::string MatrixLoop(const std::string& text, const std::string& first) {
  size_t begin = text.find("for ("), from = text.find(first, begin);
  if (begin == std::string::npos || from == std::string::npos) return "";
  return text.substr(from, text.find("barrier()", from) - from);
}

int Count(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(GpuProduct, TheInnerLoopByMatricesIsLoadsOfMatricesAndMultiplications) {
  struct {
    int down, across;  // matrices of sums that 32 work-items hold
  } constexpr kHeld[] = {{4, 2}, {2, 2}, {2, 1}};
  for (size_t i = 0; i < HalfProductTiles().size(); ++i) {
    const ProductTile& tile = HalfProductTiles()[i];
    SCOPED_TRACE(NameOf(tile));
    GroupBuilder b;
    ir::NodeId node = Product(b, false, false, 128, 256, DType::kF16, DType::kF16);
    auto program = ScheduleProductByTile(GroupView(b.function(), node), tile,
                                         GpuTargetWithMatrices(DeviceKind::kVulkan));
    ASSERT_TRUE(program.has_value());
    ASSERT_EQ(program->calls.size(), 1u) << "known sizes need one kernel";
    codegen::KernelSource source{"product", &program->calls[0].kernel, {}};
    std::string text = codegen::PrintGlslKernel(source).value_or("");
    std::string loop = MatrixLoop(text, "matrix_load_left(");
    const auto [down, across] = kHeld[i];
    constexpr int kSteps = 2;  // matrices in a slice's depth
    EXPECT_EQ(Count(loop, "matrix_load_left("), kSteps * down) << loop;
    EXPECT_EQ(Count(loop, "matrix_load_right("), kSteps * across) << loop;
    EXPECT_EQ(Count(loop, "= matrix_multiply("), kSteps * down * across) << loop;
    EXPECT_EQ(Count(text, "= matrix_multiply("), kSteps * down * across) << "elsewhere";
    EXPECT_EQ(Count(text, "matrix_store("), down * across) << text;
    std::string reads = text.substr(text.find("for ("));
    EXPECT_GT(Count(reads.substr(0, reads.find("matrix_load_left(")), "load_aligned_halves8("), 0)
        << "eight neighbours move at once";
    EXPECT_EQ(text.find("i64", text.find("for (")), std::string::npos) << "its indices fit in 32 bits";
  }
}

TEST(GpuProduct, ModulesByMatricesDeclareThem) {
  GroupBuilder b;
  ir::NodeId node = Product(b, false, true, 128, 256, DType::kF16, DType::kF16);
  auto program = ScheduleProductByTile(GroupView(b.function(), node), HalfProductTiles()[1],
                                       GpuTargetWithMatrices(DeviceKind::kVulkan));
  ASSERT_TRUE(program.has_value());
  const LoopKernel& kernel = program->calls[0].kernel;
  codegen::CodegenOptions options{GpuTargetInfo(DeviceKind::kVulkan), KernelForm::kSpirV, 1};
  options.target.shared_memory_bytes = 48 << 10;
  auto refused = codegen::CheckGpuKernel(kernel, options.target);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("needs matrices"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(codegen::CheckGpuKernel(kernel, GpuTargetWithMatrices(DeviceKind::kVulkan)));
  EXPECT_FALSE(codegen::PrintOpenClKernel({"product", &kernel, {}}).has_value());
  auto text = codegen::PrintGlsl({"product", &kernel, {}});
  ASSERT_TRUE(text.has_value()) << text.error().message;
  auto words = codegen::GlslToSpirv(*text, "product");
  if (!words && words.error().code == Code::kUnsupported) GTEST_SKIP() << words.error().message;
  ASSERT_TRUE(words.has_value()) << words.error().message;
  EXPECT_TRUE(codegen::HasMatrixTypes(*words));
  constexpr uint32_t kCapability = 2 << 16 | 17;
  for (uint32_t number : {9u, 6022u}) {
    const uint32_t wanted[] = {kCapability, number};
    EXPECT_NE(std::search(words->begin(), words->end(), std::begin(wanted), std::end(wanted)), words->end())
        << number;
  }
}

// Where the module of a kernel by matrices takes the place of the base form's, the launch stays as it is.
TEST(GpuProduct, BothFormsOfHalvesAreLaunchedAlike) {
  GroupBuilder b;
  ir::NodeId node = Product(b, false, false, K(), N(), DType::kF16, DType::kF16);
  TargetInfo target = GpuTargetInfo(DeviceKind::kVulkan);
  target.awaits_matrices = true;
  auto base = ScheduleGroup(b.function(), node, target);
  auto better = ScheduleGroup(b.function(), node, GpuTargetWithMatrices(DeviceKind::kVulkan));
  ASSERT_TRUE(base.has_value() && better.has_value());
  ASSERT_EQ(base->calls.size(), better->calls.size());
  ASSERT_EQ(base->workspaces.size(), 1u);
  ASSERT_EQ(better->workspaces.size(), 1u);
  EXPECT_EQ(base->workspaces[0].elements, better->workspaces[0].elements);
  int by_matrices = 0;
  for (size_t i = 0; i < base->calls.size(); ++i) {
    const KernelCall &one = base->calls[i], &other = better->calls[i];
    EXPECT_EQ(one.when, other.when);
    EXPECT_EQ(one.kernel.small_sizes, other.kernel.small_sizes);
    for (int axis = 0; axis < 3; ++axis) EXPECT_EQ(one.kernel.grid_size[axis], other.kernel.grid_size[axis]);
    ASSERT_EQ(one.arguments.size(), other.arguments.size());
    for (size_t j = 0; j < one.arguments.size(); ++j) {
      EXPECT_EQ(one.arguments[j].kind, other.arguments[j].kind);
      EXPECT_EQ(one.arguments[j].index, other.arguments[j].index);
      EXPECT_EQ(one.kernel.buffers[j].access, other.kernel.buffers[j].access);
    }
    EXPECT_FALSE(HasMatrices(one.kernel));
    by_matrices += HasMatrices(other.kernel);
  }
  EXPECT_EQ(by_matrices, 8) << "three tiles and shares, with vectors and without";
}

bool AddsUpShares(const KernelCall& call) {
  bool has_partials = std::ranges::any_of(call.arguments, [](const KernelArgument& argument) {
    return argument.kind == ArgumentKind::kWorkspace;
  });
  return has_partials && call.kernel.buffers[call.kernel.argument_count - 1].name != "partials";
}

TEST(GpuProduct, HalvesTakeTheLargestTileOfWhichThereAreMany) {
  GroupBuilder b;
  ir::NodeId node = Product(b, false, false, K(), N(), DType::kF16, DType::kF16);
  auto program = ScheduleGroup(b.function(), node, GpuTargetWithMatrices(DeviceKind::kVulkan));
  ASSERT_TRUE(program.has_value());
  struct {
    int64_t m, n, k, groups;
    bool has_matrices;
  } constexpr kCases[] = {
      {1024, 1024, 64, 64, true},  // 128 x 128
      {1024, 1000, 64, 64, true},  // the same, with an edge
      {896, 1024, 64, 224, true},  // 64 x 64
      {384, 768, 3072, 72, true},  // the same: a long depth is not shared
      {384, 512, 64, 192, true},   // 32 x 32
      {64, 3072, 768, 384, true},  // 64 x 64, the depth shared by eight
      {8, 3072, 768, 0, false},    // thin
      {1, 3072, 768, 0, false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(std::to_string(c.m) + " x " + std::to_string(c.n));
    const Symbols symbols = {{"m", c.m}, {"n", c.n}, {"k", c.k}};
    int launched = 0;
    for (const KernelCall& call : program->calls) {
      if (ValueOf(call.when, symbols) == 0) continue;
      if (AddsUpShares(call)) continue;
      ++launched;
      EXPECT_EQ(HasMatrices(call.kernel), c.has_matrices);
      int64_t groups = 1;
      for (const Dim& size : call.kernel.grid_size) groups *= ValueOf(size, symbols);
      if (c.has_matrices) {
        EXPECT_EQ(groups, c.groups);
      }
    }
    EXPECT_EQ(launched, 1);
  }
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
