// Products whose constant right operand is kept as codes: every width, zero points of all kinds, blocks that
// divide the depth and that do not, few rows and many.
#include "compiler/schedules/coded_panels.h"
#include "compiler/schedules/cpu/tiles/coded_kernel.h"
#include "tests/compiler/schedules/group_harness.h"

namespace tvmvm::tensor {
namespace {

using ir::Dims;
using ir::ValueId;
using Ints = std::vector<int64_t>;

struct Coded {
  DType codes = DType::kU4;
  DType scale = DType::kF32;
  DType zero = DType::kInvalid;  // none
  Ints blocks;                   // by axis of the weights
};

ValueId Weights(GroupBuilder& b, const Coded& coded, const Ints& dims) {
  Ints entries;
  for (size_t i = 0; i < dims.size(); ++i)
    entries.push_back((dims[i] + coded.blocks[i] - 1) / coded.blocks[i]);
  std::vector<ValueId> inputs{b.Constant(coded.codes, dims), b.Constant(coded.scale, entries)};
  if (coded.zero != DType::kInvalid) inputs.push_back(b.Constant(coded.zero, entries));
  return b.Add("dequantize", inputs, {{"blocks", coded.blocks}});
}

// x [m, K] by weights [K, N], or [N, K] with `by_rows`, plus a bias.
void Check(const Coded& coded, int64_t depth, int64_t columns, bool by_rows, bool is_packed = true) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {M(), depth});
  ValueId w = Weights(b, coded, by_rows ? Ints{columns, depth} : Ints{depth, columns});
  ValueId bias = b.Constant(DType::kF32, {columns});
  ValueId product = b.Add("contract", {x, w},
                          {{"lhs_batch", Ints{}},
                           {"rhs_batch", Ints{}},
                           {"lhs_contract", Ints{1}},
                           {"rhs_contract", Ints{by_rows ? 1 : 0}},
                           {"dtype", DType::kF32}});
  b.Output(b.Add("add", {product, bias}));
  ir::NodeId node = b.Finish();
  GroupView view(b.function(), node);
  const OperandAxes axes = by_rows ? OperandAxes{{}, {1}, {0}} : OperandAxes{{}, {0}, {1}};
  EXPECT_EQ(CodedPanels::Find(view, w, axes, (columns + 15) / 16, 1).has_value(), is_packed);
  ScheduledGroup scheduled(b.function(), node);
  for (int64_t rows : {0, 1, 2, 4, 7, 8, 9, 30}) {
    SCOPED_TRACE(rows);
    scheduled.Check({{"m", rows}}, 2e-4);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(CodedProducts, FourBitsInBlocks) { Check({DType::kU4, DType::kF32, DType::kU8, {1, 16}}, 50, 70, true); }

TEST(CodedProducts, SignedCodesAreSymmetric) {
  Check({DType::kI4, DType::kF16, DType::kInvalid, {32, 1}}, 64, 48, false);
  Check({DType::kI8, DType::kF32, DType::kInvalid, {1, 24}}, 48, 33, true);
}

TEST(CodedProducts, ZeroPointsOfTheCodesOwnType) {
  Check({DType::kI4, DType::kF32, DType::kI4, {16, 1}}, 37, 20, false);
  Check({DType::kI8, DType::kF32, DType::kI8, {1, 64}}, 130, 17, true);
}

TEST(CodedProducts, ZeroPointsThatAreNoIntegers) {
  Check({DType::kU8, DType::kF32, DType::kF16, {1, 32}}, 64, 64, true);
}

TEST(CodedProducts, OneScaleForAColumn) {
  Check({DType::kU8, DType::kF32, DType::kU8, {101, 1}}, 101, 65, false);
  Check({DType::kU4, DType::kF32, DType::kInvalid, {101, 5}}, 101, 7, false);
}

TEST(CodedProducts, TwoBits) {
  Check({DType::kU2, DType::kF32, DType::kU2, {1, 16}}, 48, 20, true);
  Check({DType::kI2, DType::kF32, DType::kInvalid, {1, 128}}, 150, 16, true);
}

TEST(CodedProducts, BlocksThatAreTooShortAreDecodedElementByElement) {
  Check({DType::kI8, DType::kF32, DType::kInvalid, {1, 1}}, 20, 18, true, false);
}

TEST(CodedProducts, EachBatchEntryHasWeights) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {3, M(), 40});
  ValueId w = Weights(b, {DType::kU4, DType::kF32, DType::kU8, {1, 1, 16}}, {3, 21, 40});
  b.Output(b.Add("contract", {x, w},
                 {{"lhs_batch", Ints{0}},
                  {"rhs_batch", Ints{0}},
                  {"lhs_contract", Ints{2}},
                  {"rhs_contract", Ints{2}},
                  {"dtype", DType::kF32}}));
  ir::NodeId node = b.Finish();
  ScheduledGroup scheduled(b.function(), node);
  for (int64_t rows : {1, 6, 20}) scheduled.Check({{"m", rows}}, 2e-4);
}

TEST(CodedProducts, RowsThatAreNotFloatsAreGathered) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF16, {M(), 40});
  ValueId w = Weights(b, {DType::kU4, DType::kF32, DType::kU8, {1, 16}}, {21, 40});
  b.Output(b.Add("contract", {b.Add("cast", {x}, {{"to", DType::kF32}}), w},
                 {{"lhs_batch", Ints{}},
                  {"rhs_batch", Ints{}},
                  {"lhs_contract", Ints{1}},
                  {"rhs_contract", Ints{1}},
                  {"dtype", DType::kF32}}));
  ir::NodeId node = b.Finish();
  ScheduledGroup scheduled(b.function(), node);
  for (int64_t rows : {1, 6, 20}) scheduled.Check({{"m", rows}}, 2e-4);
}

// x [n, C, h, w] with weights [M, C, k, k].
void CheckConvolution(const Coded& coded, const Ints& weights, int64_t stride, int64_t pad) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {N(), weights[1], 9, 7});
  ValueId w = Weights(b, coded, weights);
  b.Output(b.Add("conv", {x, w},
                 {{"strides", Ints{stride, stride}},
                  {"dilations", Ints{1, 1}},
                  {"low", Dims{pad, pad}},
                  {"high", Dims{pad, pad}},
                  {"groups", int64_t{1}}}));
  ir::NodeId node = b.Finish();
  EXPECT_TRUE(TakesConvolution(GroupView(b.function(), node)));
  ScheduledGroup scheduled(b.function(), node);
  for (int64_t batch : {1, 2}) scheduled.Check({{"n", batch}}, 3e-4);
}

TEST(CodedProducts, Convolutions) {
  CheckConvolution({DType::kI8, DType::kF32, DType::kInvalid, {1, 24, 3, 3}}, {20, 24, 3, 3}, 1, 1);
  CheckConvolution({DType::kU4, DType::kF16, DType::kU8, {1, 16, 1, 1}}, {20, 32, 3, 3}, 2, 0);
  CheckConvolution({DType::kU8, DType::kF32, DType::kU8, {1, 48, 1, 1}}, {130, 48, 1, 1}, 1, 0);
  CheckConvolution({DType::kI4, DType::kF32, DType::kInvalid, {1, 2, 1, 1}}, {5, 6, 3, 3}, 1,
                   1);  // too short
}

TEST(CodedPanels, WordsHoldTheCodesOfABlockInOrder) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {M(), 20});
  ValueId w = Weights(b, {DType::kU4, DType::kF32, DType::kInvalid, {1, 16}}, {3, 20});
  b.Output(b.Add("contract", {x, w},
                 {{"lhs_batch", Ints{}},
                  {"rhs_batch", Ints{}},
                  {"lhs_contract", Ints{1}},
                  {"rhs_contract", Ints{1}},
                  {"dtype", DType::kF32}}));
  ir::NodeId node = b.Finish();
  GroupView view(b.function(), node);
  auto panels = CodedPanels::Find(view, w, {{}, {1}, {0}}, 1, 1);
  ASSERT_TRUE(panels);
  EXPECT_EQ(panels->layout().block, 16);
  EXPECT_EQ(panels->layout().blocks(), 2);
  EXPECT_EQ(panels->layout().words_of_block(), 2);
  GroupProgram program;
  panels->AddTo(&program);
  ASSERT_EQ(program.packed.size(), 2u);
  const ir::TensorData words = program.packed[0]({}), scales = program.packed[1]({});
  EXPECT_EQ(words.dims, (Ints{1, 1, 4, 16}));
  EXPECT_EQ(scales.dims, (Ints{1, 1, 2, 16}));
  const ir::TensorData& codes = *b.function().ConstantOf(view.outer_inputs()[1]);
  for (int64_t column = 0; column < 3; ++column) {
    for (int64_t k = 0; k < 20; ++k) {
      const auto nibble =
          static_cast<uint32_t>(codes.bytes[static_cast<size_t>((column * 20 + k) / 2)]) >> (k % 2 * 4) & 15;
      uint32_t word;
      std::memcpy(&word, words.bytes.data() + (k / 8 * 16 + column) * 4, 4);
      EXPECT_EQ(word >> (k % 8 * 4) & 15, nibble) << column << " " << k;
    }
  }
}

}  // namespace
}  // namespace tvmvm::tensor
