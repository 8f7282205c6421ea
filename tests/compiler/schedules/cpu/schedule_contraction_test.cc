#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/group.h"
#include "compiler/schedules/packing.h"
#include "tests/compiler/schedules/group_harness.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::ValueId;
using Ints = std::vector<int64_t>;

ValueId Contract(GroupBuilder& b, ValueId x, ValueId y, Ints lhs_batch, Ints rhs_batch, Ints lhs_contract,
                 Ints rhs_contract, DType dtype = DType::kF32) {
  return b.Add("contract", {x, y},
               {{"lhs_batch", lhs_batch},
                {"rhs_batch", rhs_batch},
                {"lhs_contract", lhs_contract},
                {"rhs_contract", rhs_contract},
                {"dtype", dtype}});
}

// Builds a group around a contraction and compares it with the definition for each assignment of symbols.
void Check(const std::function<void(GroupBuilder&)>& build, const std::vector<Symbols>& cases,
           double tolerance = 1e-4) {
  GroupBuilder builder;
  build(builder);
  ir::NodeId node = builder.Finish();
  ASSERT_TRUE(TakesContraction(GroupView(builder.function(), node)));
  ScheduledGroup scheduled(builder.function(), node);
  for (const Symbols& symbols : cases) {
    std::string text;
    for (const auto& [name, value] : symbols) text += name + "=" + std::to_string(value) + " ";
    SCOPED_TRACE(text);
    scheduled.Check(symbols, tolerance);
    if (testing::Test::HasFailure()) return;
  }
}

std::vector<Symbols> Rows(std::initializer_list<int64_t> rows) {
  std::vector<Symbols> cases;
  for (int64_t m : rows) cases.push_back({{"m", m}});
  return cases;
}

TEST(ScheduleContraction, PackedConstantWithBiasAndRelu) {
  // Heights of tiles 1 to 12, several tiles, several blocks; tails of columns and depth.
  Check(
      [](GroupBuilder& b) {
        ValueId x = b.Input(DType::kF32, {M(), 19}), w = b.Constant(DType::kF32, {19, 70}),
                bias = b.Constant(DType::kF32, {70});
        ValueId y = b.Add("add", {Contract(b, x, w, {}, {}, {1}, {0}), bias});
        b.Output(b.Add("max", {y, b.Number(0)}));
      },
      Rows({0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 17, 25, 97}));
}

TEST(ScheduleContraction, TheOriginalConstantIsNotRead) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {M(), 8}), w = b.Constant(DType::kF32, {8, 32});
  b.Output(Contract(b, x, w, {}, {}, {1}, {0}));
  const ir::NodeId group = b.Finish();
  auto program = ScheduleGroup(b.function(), group, TargetInfoFor(CpuLevel::kX86_64_V3));
  ASSERT_TRUE(program.has_value());
  ASSERT_EQ(program->calls.size(), 1u);
  for (const KernelArgument& argument : program->calls[0].arguments)
    EXPECT_FALSE(argument.kind == ArgumentKind::kInput && argument.index == 1);
  ASSERT_EQ(program->packed.size(), 1u);
  EXPECT_EQ(program->packed[0](ConstantsOf(b.function(), group)).dims, (Ints{1, 2, 8, 16}));
}

TEST(ScheduleContraction, WidthsOfBlocks) {
  for (int64_t columns : {1, 8, 16, 20, 32, 48, 50, 64, 66, 100, 130}) {
    Check(
        [&](GroupBuilder& b) {
          ValueId x = b.Input(DType::kF32, {M(), 5}), w = b.Constant(DType::kF32, {5, columns});
          b.Output(Contract(b, x, w, {}, {}, {1}, {0}));
        },
        Rows({1, 3, 7, 14}));
  }
}

TEST(ScheduleContraction, FixedRows) {
  for (int64_t rows : {1, 2, 6, 9, 12, 29, 100}) {
    Check(
        [&](GroupBuilder& b) {
          ValueId x = b.Input(DType::kF32, {rows, 8}), w = b.Constant(DType::kF32, {8, 40});
          b.Output(Contract(b, x, w, {}, {}, {1}, {0}));
        },
        {{}});
  }
}

// The right operand is packed a part of the depth at a time; the last part may be short, or all there is.
TEST(ScheduleContraction, LongDepths) {
  const Dim k = Dim::Symbol("k"), n = Dim::Symbol("n");
  for (const bool lies_along_depth : {false, true}) {
    Check(
        [&](GroupBuilder& b) {
          ValueId x = b.Input(DType::kF32, {M(), k}),
                  y = lies_along_depth ? b.Input(DType::kF32, {n, k}) : b.Input(DType::kF32, {k, n});
          ValueId product = Contract(b, x, y, {}, {}, {1}, {lies_along_depth ? 1 : 0});
          b.Output(b.Add("max", {product, b.Number(0)}));
        },
        {{{"m", 26}, {"k", 0}, {"n", 5}},
         {{"m", 26}, {"k", 1023}, {"n", 17}},
         {{"m", 13}, {"k", 1024}, {"n", 16}},
         {{"m", 5}, {"k", 1025}, {"n", 40}},
         {{"m", 26}, {"k", 2048}, {"n", 33}},
         {{"m", 1}, {"k", 3000}, {"n", 3}},
         {{"m", 390}, {"k", 2100}, {"n", 70}}},
        2e-3);
  }
  for (const int64_t depth : {1100, 2048})
    Check(
        [&](GroupBuilder& b) {
          ValueId x = b.Input(DType::kF64, {M(), depth}), y = b.Input(DType::kF64, {depth, n});
          b.Output(Contract(b, x, y, {}, {}, {1}, {0}, DType::kF64));
        },
        {{{"m", 26}, {"n", 17}}, {{"m", 3}, {"n", 1}}}, 1e-9);
}

TEST(ScheduleContraction, ProductsOfBytes) {
  // Depths that four does and does not divide; one block of columns, and several.
  for (auto [depth, columns] : {std::pair<int64_t, int64_t>{1, 70}, {3, 16}, {4, 5}, {18, 70}, {64, 16}})
    Check(
        [depth, columns](GroupBuilder& b) {
          ValueId x = b.Input(DType::kU8, {M(), depth}), w = b.Constant(DType::kI8, {columns, depth});
          ValueId sum = Contract(b, x, w, {}, {}, {1}, {1}, DType::kI32);
          b.Output(b.Add("cast", {sum}, {{"to", DType::kF32}}));
        },
        Rows({0, 1, 4, 7, 13, 97}), 0);
}

TEST(ScheduleContraction, BatchesOfProductsOfBytes) {
  Check(
      [](GroupBuilder& b) {
        ValueId x = b.Input(DType::kU8, {3, M(), 6}), w = b.Constant(DType::kI8, {3, 6, 20});
        b.Output(Contract(b, x, w, {0}, {0}, {2}, {1}, DType::kI32));
      },
      Rows({1, 5}), 0);
}

TEST(ScheduleContraction, ResidualOfTheSameDims) {
  Check(
      [](GroupBuilder& b) {
        ValueId x = b.Input(DType::kF32, {N(), M(), 9}), w = b.Constant(DType::kF32, {9, 33});
        ValueId residual = b.Input(DType::kF32, {N(), M(), 33});
        ValueId y = Contract(b, x, w, {}, {}, {2}, {0});
        b.Output(b.Add("add", {b.Add("mul", {y, b.Add("sigmoid", {y})}), residual}));
      },
      {{{"n", 2}, {"m", 5}}, {{"n", 3}, {"m", 7}}, {{"n", 0}, {"m", 7}}});
}

TEST(ScheduleContraction, TransposedOperandsThatChange) {
  for (bool lhs : {false, true}) {
    for (bool rhs : {false, true}) {
      Check(
          [&](GroupBuilder& b) {
            ValueId x = b.Input(DType::kF32, lhs ? Dims{K(), M()} : Dims{M(), K()});
            ValueId y = b.Input(DType::kF32, rhs ? Dims{N(), K()} : Dims{K(), N()});
            b.Output(Contract(b, x, y, {}, {}, {lhs ? 0 : 1}, {rhs ? 1 : 0}));
          },
          {{{"m", 5}, {"n", 7}, {"k", 3}},
           {{"m", 2}, {"n", 37}, {"k", 35}},
           {{"m", 31}, {"n", 64}, {"k", 18}},
           {{"m", 3}, {"n", 81}, {"k", 1}},
           {{"m", 4}, {"n", 5}, {"k", 0}},
           {{"m", 4}, {"n", 0}, {"k", 5}},
           {{"m", 1}, {"n", 1}, {"k", 1}}});
    }
  }
}

TEST(ScheduleContraction, RightOperandInPlaceOrGatheredByRows) {
  Check(
      [](GroupBuilder& b) {
        ValueId x = b.Input(DType::kF32, {M(), 6}), y = b.Input(DType::kF32, {6, 80});
        b.Output(Contract(b, x, y, {}, {}, {1}, {0}));
      },
      Rows({1, 8, 24, 25, 60}));
}

TEST(ScheduleContraction, AttentionScores) {
  for (bool heads_first : {true, false}) {
    Check(
        [&](GroupBuilder& b) {
          Dims q = heads_first ? Dims{N(), 3, M(), 8} : Dims{N(), M(), 3, 8};
          Dims k = heads_first ? Dims{N(), 3, K(), 8} : Dims{N(), K(), 3, 8};
          Ints batch = heads_first ? Ints{0, 1} : Ints{0, 2};
          ValueId x = b.Input(DType::kF32, q), y = b.Input(DType::kF32, k),
                  mask = b.Input(DType::kF32, {N(), 1, 1, K()});
          ValueId scores = b.Add("mul", {Contract(b, x, y, batch, batch, {3}, {3}), b.Number(0.25f)});
          b.Output(b.Add("add", {scores, mask}));
        },
        {{{"n", 1}, {"m", 1}, {"k", 9}}, {{"n", 2}, {"m", 7}, {"k", 17}}, {{"n", 2}, {"m", 40}, {"k", 3}}});
  }
}

TEST(ScheduleContraction, AttentionValuesWithTransposedResult) {
  Check(
      [](GroupBuilder& b) {
        ValueId p = b.Input(DType::kF32, {N(), 3, M(), K()}), v = b.Input(DType::kF32, {N(), 3, K(), 16});
        ValueId y = Contract(b, p, v, {0, 1}, {0, 1}, {3}, {2});
        b.Output(b.Add("transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}}));
      },
      {{{"n", 1}, {"m", 1}, {"k", 9}}, {{"n", 2}, {"m", 7}, {"k", 17}}, {{"n", 1}, {"m", 30}, {"k", 5}}});
}

TEST(ScheduleContraction, SeveralFreeAndSummedAxes) {
  Check(
      [](GroupBuilder& b) {
        ValueId x = b.Input(DType::kF32, {3, M(), 4, 2}), w = b.Constant(DType::kF32, {2, 5, 3, 7});
        b.Output(Contract(b, x, w, {}, {}, {0, 3}, {2, 0}));
      },
      Rows({1, 2, 9}));
}

TEST(ScheduleContraction, MatrixTimesVector) {
  Check(
      [](GroupBuilder& b) {
        ValueId w = b.Constant(DType::kF32, {37, 11}), x = b.Input(DType::kF32, {11, 1});
        b.Output(Contract(b, w, x, {}, {}, {1}, {0}));
      },
      {{}});
  Check(
      [](GroupBuilder& b) {
        ValueId x = b.Input(DType::kF32, {M(), K()}), y = b.Input(DType::kF32, {K()});
        b.Output(Contract(b, x, y, {}, {}, {1}, {0}));
      },
      {{{"m", 5}, {"k", 20}}, {{"m", 33}, {"k", 3}}});
}

TEST(ScheduleContraction, ConstantLeftOperandAndBatchedConstant) {
  Check(
      [](GroupBuilder& b) {
        ValueId w = b.Constant(DType::kF32, {21, 10}), x = b.Input(DType::kF32, {10, M()});
        b.Output(Contract(b, w, x, {}, {}, {1}, {0}));
      },
      Rows({1, 18, 70}));
  Check(
      [](GroupBuilder& b) {
        ValueId x = b.Input(DType::kF32, {3, M(), 10}), w = b.Constant(DType::kF32, {3, 10, 20});
        b.Output(Contract(b, x, w, {0}, {0}, {2}, {1}));
      },
      Rows({1, 18}));
}

TEST(ScheduleContraction, ElementwiseWorkBeforeTheProduct) {
  Check(
      [](GroupBuilder& b) {
        ValueId x = b.Input(DType::kF32, {M(), 21}), scale = b.Input(DType::kF32, {21}),
                w = b.Constant(DType::kF32, {21, 24});
        b.Output(Contract(b, b.Add("mul", {x, scale}), w, {}, {}, {1}, {0}));
      },
      Rows({1, 7, 30}));
}

TEST(ScheduleContraction, RowsOfSizeOneTakenFromTheMiddle) {
  // The coordinate of an axis of size 1 still moves the slice.
  Check(
      [](GroupBuilder& b) {
        ValueId x = b.Input(DType::kF32, {5, M(), 7}), w = b.Input(DType::kF32, {7, 9});
        ValueId row = b.Add("slice", {x},
                            {{"starts", Dims{2, 0, 0}}, {"steps", Dims{1, 1, 1}}, {"dims", Dims{1, M(), 7}}});
        b.Output(Contract(b, row, w, {}, {}, {2}, {0}));
      },
      Rows({1, 3, 40}));
}

TEST(ScheduleContraction, OtherElementTypes) {
  struct Types {
    DType a, b, result;
    double tolerance;
  };
  for (const Types& types :
       {Types{DType::kF64, DType::kF64, DType::kF64, 1e-12},
        Types{DType::kF16, DType::kF16, DType::kF16, 4e-3},
        Types{DType::kBF16, DType::kBF16, DType::kF32, 1e-3}, Types{DType::kU8, DType::kI8, DType::kI32, 0},
        Types{DType::kI8, DType::kI8, DType::kI32, 0}}) {
    for (bool is_constant : {true, false}) {
      SCOPED_TRACE(std::string(DTypeName(types.a)) + (is_constant ? " constant" : ""));
      Check(
          [&](GroupBuilder& b) {
            ValueId x = b.Input(types.a, {M(), 18});
            ValueId y = is_constant ? b.Constant(types.b, {18, 36}) : b.Input(types.b, {18, 36});
            b.Output(Contract(b, x, y, {}, {}, {1}, {0}, types.result));
          },
          Rows({1, 5, 30}), types.tolerance);
    }
  }
}

TEST(ScheduleContraction, LeavesOtherGroupsAlone) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {M(), 8}), y = b.Input(DType::kF32, {M()});
  b.Output(b.Add("add", {x, b.Add("reshape", {y}, {{"dims", Dims{M(), 1}}})}));
  EXPECT_FALSE(TakesContraction(GroupView(b.function(), b.Finish())));
}

TEST(Packing, PanelsOfATransposedMatrix) {
  // [columns 3, depth 2]
  ir::TensorData data = ir::TensorData::FromVector<float>(DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6});
  OperandAxes axes{{}, {1}, {0}};
  ASSERT_TRUE(CheckPackable(data.dtype, data.dims, axes, 1).has_value());
  ir::TensorData packed = PackPanels(data, axes, 1);
  ASSERT_EQ(packed.dims, (Ints{1, 1, 2, 16}));
  auto* numbers = reinterpret_cast<const float*>(packed.bytes.data());
  EXPECT_EQ(std::vector<float>(numbers, numbers + 4), (std::vector<float>{1, 3, 5, 0}));
  EXPECT_EQ(std::vector<float>(numbers + 16, numbers + 20), (std::vector<float>{2, 4, 6, 0}));
}

TEST(Packing, RefusesWhatHasNoBytes) {
  ir::TensorData data;
  data.dtype = DType::kI4;
  data.dims = {2, 2};
  EXPECT_FALSE(CheckPackable(data.dtype, data.dims, OperandAxes{{}, {0}, {1}}, 1).has_value());
}

}  // namespace
}  // namespace tvmvm::tensor
