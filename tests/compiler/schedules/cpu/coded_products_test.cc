// Products whose constant right operand is kept as codes: every width, zero points of all kinds, blocks that
// divide the depth and that do not, few rows and many.
#include <cmath>
#include <limits>

#include "compiler/graph/tensor_elements.h"
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

// x [m, K] by weights [N, K], or [K, N] without `by_rows`.
ValueId Product(GroupBuilder& b, ValueId x, ValueId w, bool by_rows = true) {
  return b.Add("contract", {x, w},
               {{"lhs_batch", Ints{}},
                {"rhs_batch", Ints{}},
                {"lhs_contract", Ints{1}},
                {"rhs_contract", Ints{by_rows ? 1 : 0}},
                {"dtype", DType::kF32}});
}

// The same plus a bias.
void Check(const Coded& coded, int64_t depth, int64_t columns, bool by_rows, bool is_packed = true) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {M(), depth});
  ValueId w = Weights(b, coded, by_rows ? Ints{columns, depth} : Ints{depth, columns});
  ValueId bias = b.Constant(DType::kF32, {columns});
  ValueId product = Product(b, x, w, by_rows);
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

// From 128 columns on, in blocks of whole words of bytes, few rows are multiplied as digits.
TEST(CodedProducts, DigitsOfManyColumns) {
  Check({DType::kU4, DType::kF32, DType::kInvalid, {1, 32}}, 96, 128, true);
  Check({DType::kU4, DType::kF16, DType::kU8, {1, 16}}, 50, 150, true);
  Check({DType::kI4, DType::kF32, DType::kI4, {32, 1}}, 100, 144, false);
  Check({DType::kU2, DType::kF32, DType::kU2, {1, 32}}, 130, 130, true);
  Check({DType::kI2, DType::kF32, DType::kInvalid, {16, 1}}, 32, 128, false);
  Check({DType::kU4, DType::kF16, DType::kF32, {1, 32}}, 128, 200, true);
  Check({DType::kI8, DType::kF32, DType::kInvalid, {1, 32}}, 70, 129, true);  // of too many bits
  Check({DType::kU4, DType::kF16, DType::kF32, {1, 128}}, 128, 129, true);    // too long
}

// More than stay in the first level of cache together, and more than a grid point has.
TEST(CodedProducts, DigitsOfManyRows) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {M(), 40});
  ValueId w = Weights(b, {DType::kU4, DType::kF32, DType::kU8, {1, 16}}, {130, 40});
  b.Output(Product(b, x, w));
  ir::NodeId node = b.Finish();
  ScheduledGroup scheduled(b.function(), node, false);
  for (int64_t rows : {96, 97, 385}) scheduled.Check({{"m", rows}}, 2e-4);
}

TEST(CodedProducts, DigitsAreAsExactAsFloats) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {M(), 512});
  ValueId w = Weights(b, {DType::kU4, DType::kF32, DType::kInvalid, {1, 32}}, {128, 512});
  b.Output(Product(b, x, w));
  ir::NodeId node = b.Finish();
  GroupView view(b.function(), node);
  ScheduledGroup scheduled(b.function(), node, false);
  std::vector<HostTensor> inputs = RandomInputs(view, {{"m", 4}});
  auto* numbers = reinterpret_cast<float*>(inputs[0].bytes.data());
  const std::vector<ir::TensorData> weights{*b.function().ConstantOf(view.outer_inputs()[1]),
                                            *b.function().ConstantOf(view.outer_inputs()[2])};
  // One row has numbers of all sizes, one is zero but for a block, one is small.
  for (int k = 0; k < 512; ++k) numbers[512 + k] *= std::ldexp(1.0F, k % 61 - 30);
  for (int k = 0; k < 512; ++k) numbers[1024 + k] = k / 32 == 3 ? numbers[1024 + k] : 0;
  for (int k = 0; k < 512; ++k) numbers[1536 + k] *= 1e-20F;
  for (const std::vector<HostTensor>& given : scheduled.Run(inputs, {{"m", 4}})) {
    for (int64_t row = 0; row < 4; ++row) {
      for (int64_t column = 0; column < 128; ++column) {
        double sum = 0, most = 0;
        for (int64_t k = 0; k < 512; ++k) {
          const double code = static_cast<double>(ir::ReadElement(weights[0], column * 512 + k).integer);
          const double scale = ir::ReadElement(weights[1], column * 16 + k / 32).number;
          sum += numbers[row * 512 + k] * code * scale;
          most += std::abs(numbers[row * 512 + k] * code * scale);
        }
        ASSERT_NEAR(given[0].at(row * 128 + column).number, sum, 4e-7 * most) << row << " " << column;
      }
    }
  }
}

TEST(CodedProducts, DigitsOfWhatIsNotFinite) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {M(), 96});
  ValueId w = Weights(b, {DType::kI4, DType::kF32, DType::kInvalid, {1, 32}}, {130, 96});
  b.Output(Product(b, x, w));
  ir::NodeId node = b.Finish();
  GroupView view(b.function(), node);
  ScheduledGroup scheduled(b.function(), node, false);
  const Symbols symbols{{"m", 4}};
  std::vector<HostTensor> inputs = RandomInputs(view, symbols);
  auto* numbers = reinterpret_cast<float*>(inputs[0].bytes.data());
  numbers[40] = std::numeric_limits<float>::infinity();
  numbers[96 + 70] = -std::numeric_limits<float>::infinity();
  numbers[2 * 96 + 5] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<HostTensor> wanted = RunNaively(view, inputs, symbols);
  for (const std::vector<HostTensor>& given : scheduled.Run(inputs, symbols))
    CompareTensors(wanted[0], given[0], 1e-4, 0);
}

void CheckBatch(int64_t columns) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {3, M(), 40});
  ValueId w = Weights(b, {DType::kU4, DType::kF32, DType::kU8, {1, 1, 16}}, {3, columns, 40});
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

TEST(CodedProducts, EachBatchEntryHasWeights) {
  CheckBatch(21);
  CheckBatch(130);
}

void CheckRowsOfHalves(int64_t columns) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF16, {M(), 40});
  ValueId w = Weights(b, {DType::kU4, DType::kF32, DType::kU8, {1, 16}}, {columns, 40});
  b.Output(Product(b, b.Add("cast", {x}, {{"to", DType::kF32}}), w));
  ir::NodeId node = b.Finish();
  ScheduledGroup scheduled(b.function(), node);
  for (int64_t rows : {1, 6, 20}) scheduled.Check({{"m", rows}}, 2e-4);
}

TEST(CodedProducts, RowsThatAreNotFloatsAreGathered) {
  CheckRowsOfHalves(21);
  CheckRowsOfHalves(140);
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
  b.Output(Product(b, x, w));
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
