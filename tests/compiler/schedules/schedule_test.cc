#include <gtest/gtest.h>

#include "tests/compiler/schedules/group_harness.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::ValueId;
using Ints = std::vector<int64_t>;

// Sizes around the widths of vectors and blocks, 0 and 1 among them.
const int64_t kSizes[] = {0, 1, 3, 8, 17, 40};

void CheckSizes(const std::function<ir::NodeId(GroupBuilder&)>& build, double tolerance = 1e-5) {
  GroupBuilder builder;
  ir::NodeId group = build(builder);
  ScheduledGroup scheduled(builder.function(), group);
  for (int64_t n : kSizes) {
    for (int64_t m : {1, 5, 33}) {
      SCOPED_TRACE("n=" + std::to_string(n) + " m=" + std::to_string(m));
      scheduled.Check({{"n", n}, {"m", m}, {"k", 7}}, tolerance);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(ScheduleGeneric, ChainOfElementwiseOperators) {
  CheckSizes([](GroupBuilder& b) {
    ValueId x = b.Input(DType::kF32, {N(), M()}), y = b.Input(DType::kF32, {M()});
    ValueId sum = b.Add("add", {x, y});
    b.Output(b.Add("mul", {b.Add("tanh", {sum}), b.Add("exp", {x})}));
    return b.Finish();
  });
}

TEST(ScheduleGeneric, EqualShapesAreOneFlatLoop) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {N(), M(), 4}), y = b.Input(DType::kF32, {N(), M(), 4});
  b.Output(b.Add("add", {x, y}));
  Expected<GroupProgram> program =
      ScheduleGroup(b.function(), b.Finish(), TargetInfoFor(CpuLevel::kX86_64_V3));
  ASSERT_TRUE(program.has_value());
  ASSERT_EQ(program->calls.size(), 1u);
  const LoopKernel& kernel = program->calls[0].kernel;
  EXPECT_EQ(kernel.grid_size[0], CeilDiv(N() * M() * Dim(4), Dim(8192)));
  EXPECT_EQ(kernel.grid_size[1], Dim(1));
  EXPECT_EQ(kernel.grid_size[2], Dim(1));
}

// Blocks of sizes that vectors divide have nothing left behind them, whatever the number of rows is.
TEST(ScheduleGeneric, SizesThatVectorsDivideHaveNoTails) {
  auto kernel_of = [](const Dim& columns) {
    GroupBuilder b;
    ValueId x = b.Input(DType::kF32, {N(), M(), columns});
    b.Output(b.Add("mul", {x, x}));
    const Expected<GroupProgram> program =
        ScheduleGroup(b.function(), b.Finish(), TargetInfoFor(CpuLevel::kX86_64_V3));
    return program.has_value() ? ToString(program->calls[0].kernel) : std::string();
  };
  EXPECT_EQ(kernel_of(24).find("whole"), std::string::npos) << kernel_of(24);
  EXPECT_NE(kernel_of(20).find("whole"), std::string::npos) << kernel_of(20);
}

TEST(ScheduleGeneric, LongChainStaysLinear) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {N()});
  ValueId y = x;
  for (int i = 0; i < 40; ++i) y = b.Add("mul", {b.Add("sigmoid", {y}), y});
  b.Output(y);
  ir::NodeId group = b.Finish();
  Expected<GroupProgram> program = ScheduleGroup(b.function(), group, TargetInfoFor(CpuLevel::kX86_64_V3));
  ASSERT_TRUE(program.has_value());
  EXPECT_LT(ToString(program->calls[0].kernel).size(), 20000u);
  CheckGroup(b, group, {{"n", 19}});
}

TEST(ScheduleGeneric, BroadcastsInTheMiddleAndOfScalars) {
  CheckSizes([](GroupBuilder& b) {
    ValueId x = b.Input(DType::kF32, {3, N(), 2, M()}), y = b.Input(DType::kF32, {N(), 1, 1});
    ValueId z = b.Input(DType::kF32, {1, 1, M()});
    b.Output(b.Add("mul", {b.Add("add", {x, y}), b.Add("sub", {z, b.Number(0.5f)})}));
    return b.Finish();
  });
}

TEST(ScheduleGeneric, SymbolThatMayBeOneBroadcastsAtRunTime) {
  for (int64_t k : {1, 33}) {
    GroupBuilder b;
    ValueId x = b.Input(DType::kF32, {N(), K()}), y = b.Input(DType::kF32, {N(), 33});
    b.Output(b.Add("add", {x, y}));
    CheckGroup(b, b.Finish(), {{"n", 5}, {"k", k}});
  }
}

TEST(ScheduleGeneric, Transposes) {
  CheckSizes([](GroupBuilder& b) {
    ValueId x = b.Input(DType::kF32, {N(), M()});
    b.Output(b.Add("transpose", {x}, {{"perm", Ints{1, 0}}}));
    return b.Finish();
  });
  CheckSizes([](GroupBuilder& b) {
    ValueId x = b.Input(DType::kF32, {2, N(), 3, M()});
    b.Output(b.Add("neg", {b.Add("transpose", {x}, {{"perm", Ints{0, 2, 1, 3}}})}));
    return b.Finish();
  });
  CheckSizes([](GroupBuilder& b) {
    ValueId x = b.Input(DType::kU8, {2, N(), 3, M()});
    b.Output(b.Add("transpose", {x}, {{"perm", Ints{3, 1, 2, 0}}}));
    return b.Finish();
  });
}

// Tiles in registers: what is left of them, rows shorter than a vector, operands that lie as the result does.
TEST(ScheduleGeneric, TransposesWithOperands) {
  for (DType dtype : {DType::kF32, DType::kU8}) {
    CheckSizes([&](GroupBuilder& b) {
      ValueId x = b.Input(dtype, {N(), M()}), y = b.Input(dtype, {M(), N()});
      b.Output(b.Add("add", {b.Add("transpose", {x}, {{"perm", Ints{1, 0}}}), y}));
      return b.Finish();
    });
  }
  for (int64_t channels : {3, 8}) {
    for (DType dtype : {DType::kF32, DType::kU8}) {
      CheckSizes([&](GroupBuilder& b) {
        ValueId x = b.Input(dtype, {2, channels, N()}), y = b.Input(dtype, {channels, 1});
        ValueId sum = b.Add("add", {x, y});
        b.Output(b.Add("transpose", {sum}, {{"perm", Ints{0, 2, 1}}}));
        return b.Finish();
      });
    }
  }
}

TEST(ScheduleGeneric, ElementsRepeatedAlongTheInnermostAxis) {
  for (int64_t times : {2, 5}) {
    CheckSizes([&](GroupBuilder& b) {
      ValueId x = b.Input(DType::kF32, {M(), 1, N(), 1});
      b.Output(b.Add("expand", {x}, {{"dims", Dims{M(), 2, N(), times}}}));
      return b.Finish();
    });
  }
}

TEST(ScheduleGeneric, HeadsSplitThroughReshape) {
  CheckSizes([](GroupBuilder& b) {
    ValueId x = b.Input(DType::kF32, {2, N(), 3 * M()});
    ValueId split = b.Add("reshape", {x}, {{"dims", Dims{2, N(), 3, M()}}});
    ValueId moved = b.Add("transpose", {split}, {{"perm", Ints{0, 2, 1, 3}}});
    b.Output(b.Add("reshape", {b.Add("add", {moved, moved})}, {{"dims", Dims{6, N() * M()}}}));
    return b.Finish();
  });
}

TEST(ScheduleGeneric, ReshapeBetweenOperatorsThatNeedDifferentAxes) {
  CheckSizes([](GroupBuilder& b) {
    ValueId x = b.Input(DType::kF32, {N(), 6}), y = b.Input(DType::kF32, {6}),
            z = b.Input(DType::kF32, {N() * 2, 1});
    ValueId sum = b.Add("add", {x, y});
    b.Output(b.Add("mul", {b.Add("reshape", {sum}, {{"dims", Dims{N() * 2, 3}}}), z}));
    return b.Finish();
  });
}

TEST(ScheduleGeneric, ConcatSlicePad) {
  for (int64_t axis : {0, 1, 2}) {
    CheckSizes([axis](GroupBuilder& b) {
      Dims dims{N(), 4, M()};
      Dims other = dims;
      other[axis] = 3;
      ValueId x = b.Input(DType::kF32, dims), y = b.Input(DType::kF32, other), z = b.Input(DType::kF32, dims);
      b.Output(b.Add("exp", {b.Add("concat", {x, y, z}, {{"axis", axis}})}));
      return b.Finish();
    });
  }
  CheckSizes([](GroupBuilder& b) {
    ValueId x = b.Input(DType::kF32, {N() + 3, 7, M()});
    b.Output(b.Add("slice", {x},
                   {{"starts", Dims{2, 5, 0}}, {"steps", Dims{1, -2, 1}}, {"dims", Dims{N(), 3, M()}}}));
    return b.Finish();
  });
  for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
    GroupBuilder b;
    ValueId x = b.Input(DType::kF32, {N(), 3, M()});
    b.Output(b.Add("pad", {x, b.Number(2.5f)},
                   {{"low", Dims{1, 0, 2}}, {"high", Dims{0, 0, 1}}, {"mode", std::string(mode)}}));
    CheckGroup(b, b.Finish(), {{"n", 5}, {"m", 19}});
  }
}

// Padding within an axis has no divisions; what goes beyond it, once or several times, does.
TEST(ScheduleGeneric, PaddingBySizesOfALaunch) {
  for (const char* mode : {"edge", "reflect", "wrap"}) {
    SCOPED_TRACE(mode);
    GroupBuilder b;
    ValueId x = b.Input(DType::kF32, {2, N(), M()});
    b.Output(b.Add("pad", {x, b.Number(0)},
                   {{"low", Dims{0, 3, 2}}, {"high", Dims{0, 1, 5}}, {"mode", std::string(mode)}}));
    ScheduledGroup scheduled(b.function(), b.Finish());
    for (int64_t n : {1, 2, 3, 4, 9})
      for (int64_t m : {1, 3, 5, 6, 16, 61}) {
        SCOPED_TRACE("n=" + std::to_string(n) + " m=" + std::to_string(m));
        scheduled.Check({{"n", n}, {"m", m}}, 0);
      }
  }
}

TEST(ScheduleGeneric, PaddingOfElementsShorterThanAWord) {
  for (const char* mode : {"reflect", "wrap"}) {
    GroupBuilder b;
    ValueId x = b.Input(DType::kU8, {N(), M(), 3});
    b.Output(
        b.Add("pad", {x}, {{"low", Dims{2, 4, 0}}, {"high", Dims{1, -1, 0}}, {"mode", std::string(mode)}}));
    ScheduledGroup scheduled(b.function(), b.Finish());
    for (int64_t m : {2, 5, 70}) scheduled.Check({{"n", 3}, {"m", m}}, 0);
  }
}

// Rows that are the same, of few and of many elements.
TEST(ScheduleGeneric, RepeatedRows) {
  for (const Dim& rows : {Dim(2), Dim(3), Dim(5), M()}) {
    for (DType dtype : {DType::kF32, DType::kU8}) {
      GroupBuilder b;
      ValueId x = b.Input(dtype, {2, 1, N()});
      b.Output(b.Add("expand", {b.Add("neg", {x})}, {{"dims", Dims{2, rows, N()}}}));
      ScheduledGroup scheduled(b.function(), b.Finish());
      for (int64_t n : {0, 1, 16, 37, 300}) scheduled.Check({{"n", n}, {"m", 6}}, 0);
      for (int64_t m : {0, 1, 3, 4}) scheduled.Check({{"n", 37}, {"m", m}}, 0);
      scheduled.Check({{"n", 5000}, {"m", 2}}, 0);
    }
  }
}

// Windows that share many rows take tiles of 8 rows, and lower ones for what is left.
TEST(ScheduleGeneric, HighWindowsOfDepthwiseConvolutions) {
  struct Windows {
    int64_t taps, stride, dilation;
  };
  for (const auto& [taps, stride, dilation] : {Windows{5, 1, 1}, {7, 2, 1}, {7, 1, 2}, {11, 1, 1}}) {
    SCOPED_TRACE(taps);
    GroupBuilder b;
    ValueId x = b.Input(DType::kF32, {1, 2, N(), M()}), w = b.Constant(DType::kF32, {2, 1, taps, 3});
    b.Output(b.Add("conv", {x, w},
                   {{"strides", Ints{stride, 1}},
                    {"dilations", Ints{dilation, 1}},
                    {"low", Dims{taps / 2 * dilation, 1}},
                    {"high", Dims{taps / 2 * dilation, 1}},
                    {"groups", int64_t{2}},
                    {"dtype", DType::kF32},
                    {"layout", ir::Layout::kChannelsFirst}}));
    ScheduledGroup scheduled(b.function(), b.Finish());
    for (int64_t n : {1, 4, 5, 8, 11, 12, 16, 19, 23})
      for (int64_t m : {1, 40}) {
        SCOPED_TRACE("n=" + std::to_string(n) + " m=" + std::to_string(m));
        scheduled.Check({{"n", n}, {"m", m}}, 1e-4);
      }
  }
}

TEST(ScheduleGeneric, Gathers) {
  CheckSizes([](GroupBuilder& b) {
    ValueId x = b.Input(DType::kF32, {10, M()}), i = b.Input(DType::kI64, {N(), 2});
    b.Output(b.Add("gather", {x, i}, {{"axis", int64_t{0}}}));
    return b.Finish();
  });
  CheckSizes([](GroupBuilder& b) {
    ValueId x = b.Input(DType::kF32, {M(), 10, 3}), i = b.Input(DType::kI64, {N()});
    b.Output(b.Add("gather", {x, i}, {{"axis", int64_t{1}}}));
    return b.Finish();
  });
}

TEST(ScheduleGeneric, ElementTypes) {
  for (DType dtype : {DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kU8, DType::kI16,
                      DType::kI32, DType::kI64, DType::kU64}) {
    SCOPED_TRACE(DTypeName(dtype));
    GroupBuilder b;
    ValueId x = b.Input(dtype, {N(), M()}), y = b.Input(dtype, {M()});
    b.Output(b.Add("max", {b.Add("mul", {x, y}), y}));
    CheckGroup(b, b.Finish(), {{"n", 9}, {"m", 37}},
               dtype == DType::kF16 || dtype == DType::kBF16 ? 1e-2 : 1e-5);
  }
  GroupBuilder b;
  ValueId x = b.Input(DType::kU8, {N(), M()});
  b.Output(b.Add("cast", {x}, {{"to", DType::kF32}}));
  CheckGroup(b, b.Finish(), {{"n", 9}, {"m", 37}});
}

TEST(ScheduleGeneric, NeighboursInOneByteBelongToOneGridPoint) {
  for (DType dtype : {DType::kI4, DType::kU4, DType::kU2}) {
    GroupBuilder b;
    ValueId x = b.Input(dtype, {N(), M()});
    b.Output(b.Add("transpose", {x}, {{"perm", Ints{1, 0}}}));
    CheckGroup(b, b.Finish(), {{"n", 7}, {"m", 33}});
  }
}

TEST(ScheduleGeneric, ReductionsOfAnyAxes) {
  for (Dims flags : {Dims{1, 0, 0}, Dims{0, 1, 0}, Dims{0, 0, 1}, Dims{1, 1, 0}, Dims{0, 1, 1}, Dims{1, 0, 1},
                     Dims{1, 1, 1}}) {
    for (const char* kind : {"sum", "max", "product", "argmin"}) {
      if (std::string(kind) == "argmin" && Product(flags) != Dim(0)) continue;
      if (std::string(kind) == "argmin" && flags[0] + flags[1] + flags[2] != Dim(1)) continue;
      GroupBuilder b;
      ValueId x = b.Input(DType::kF32, {N(), K(), M()});
      b.Output(b.Add("reduce", {x}, {{"flags", flags}, {"kind", std::string(kind)}}));
      ir::NodeId group = b.Finish();
      ScheduledGroup scheduled(b.function(), group);
      for (int64_t n : {1, 6}) {
        for (int64_t m : {1, 40, 70}) {
          SCOPED_TRACE(kind + ir::ToString(flags) + std::to_string(n) + "," + std::to_string(m));
          scheduled.Check({{"n", n}, {"k", 5}, {"m", m}}, 2e-5);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST(ScheduleGeneric, ReductionsOfManyColumns) {
  for (int64_t columns : {65, 92, 128, 200, 256}) {
    SCOPED_TRACE(columns);
    GroupBuilder b;
    ValueId x = b.Input(DType::kF32, {N(), columns});
    for (const char* kind : {"max", "sum"})
      b.Output(b.Add("reduce", {x}, {{"flags", Dims{1, 0}}, {"kind", std::string(kind)}}));
    CheckGroup(b, b.Finish(), {{"n", 7}});
  }
}

TEST(ScheduleGeneric, ReductionOfNothingIsTheIdentity) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {N(), M()});
  b.Output(b.Add("reduce", {x}, {{"flags", Dims{0, 1}}, {"kind", std::string("sum")}}));
  CheckGroup(b, b.Finish(), {{"n", 5}, {"m", 0}});
}

TEST(ScheduleGeneric, ReducedAxesKnownAtRunTime) {
  for (int64_t k : {0, 1}) {
    GroupBuilder b;
    ValueId x = b.Input(DType::kF32, {N(), M()});
    b.Output(b.Add("reduce", {x}, {{"flags", Dims{K(), 1 - K()}}, {"kind", std::string("sum")}}));
    CheckGroup(b, b.Finish(), {{"n", 5}, {"m", 21}, {"k", k}});
  }
}

TEST(ScheduleGeneric, LongSumsAreAccurate) {
  for (Dims flags : {Dims{1, 0}, Dims{0, 1}}) {
    GroupBuilder b;
    ValueId x = b.Input(DType::kF32, {N(), M()});
    ValueId positive = b.Add("abs", {x});
    b.Output(b.Add("reduce", {positive}, {{"flags", flags}, {"kind", std::string("sum")}}));
    bool is_first = flags[0].IsConstant(1);
    CheckGroup(b, b.Finish(), {{"n", is_first ? 300000 : 3}, {"m", is_first ? 3 : 300000}}, 1e-6);
  }
}

TEST(ScheduleGeneric, Windows) {
  CheckSizes([](GroupBuilder& b) {
    ValueId x = b.Input(DType::kF32, {2, N() + 4, 9, M()});
    std::map<std::string, ir::Attribute> attributes{{"kind", std::string("average")},
                                                    {"kernel", Ints{1, 3, 2, 1}},
                                                    {"strides", Ints{1, 2, 1, 1}},
                                                    {"dilations", Ints{1, 1, 2, 1}},
                                                    {"low", Dims{0, 1, 0, 0}},
                                                    {"high", Dims{0, 1, 0, 0}},
                                                    {"dims", Dims{2, FloorDiv(N() + 3, 2) + 1, 7, M()}},
                                                    {"include_padding", int64_t{0}}};
    b.Output(b.Add("window", {x}, attributes));
    return b.Finish();
  });
}

TEST(ScheduleGeneric, SeveralOutputs) {
  CheckSizes([](GroupBuilder& b) {
    ValueId x = b.Input(DType::kF32, {N(), M()});
    ValueId doubled = b.Add("add", {x, x});
    b.Output(doubled);
    b.Output(b.Add("exp", {doubled}));
    b.Output(b.Add("transpose", {doubled}, {{"perm", Ints{1, 0}}}));
    return b.Finish();
  });
}

// Rows of all lengths, short ones as well, and operands that lie along the other axis.
TEST(ScheduleGeneric, OutputsMadeOfOneAnother) {
  for (const Dim& row : {Dim(2), Dim(3), Dim(4), Dim(8), M()})
    for (bool is_turned : {false, true}) {
      SCOPED_TRACE(ir::ToString(Dims{row}));
      CheckSizes([&](GroupBuilder& b) {
        const Dims dims{N(), row};
        ValueId x = b.Input(DType::kF32, is_turned ? Dims{row, N()} : Dims{N(), Dim(1)});
        ValueId y = b.Input(DType::kF32, is_turned ? dims : Dims{Dim(1), row});
        if (is_turned) x = b.Add("transpose", {x}, {{"perm", Ints{1, 0}}});
        ValueId sum = b.Add("add", {x, y}), product = b.Add("mul", {sum, y});
        ValueId is_less = b.Add("less", {product, sum});
        b.Output(is_less);
        b.Output(product);
        b.Output(b.Add("cast", {is_less}, {{"to", DType::kI64}}));
        b.Output(b.Add("where", {is_less, product, x}));
        b.Output(sum);
        return b.Finish();
      });
    }
}

ValueId Reduced(GroupBuilder& b, ValueId x, const Dims& flags, const char* kind) {
  return b.Add("reduce", {x}, {{"flags", flags}, {"kind", std::string(kind)}});
}

ValueId Softmax(GroupBuilder& b, ValueId x, const Dims& flags) {
  ValueId shifted = b.Add("exp", {b.Add("sub", {x, Reduced(b, x, flags, "max")})});
  return b.Add("div", {shifted, Reduced(b, shifted, flags, "sum")});
}

TEST(ScheduleRows, SoftmaxOverAnyAxis) {
  for (Dims flags :
       {Dims{0, 0, 1}, Dims{0, 1, 0}, Dims{1, 0, 0}, Dims{0, 1, 1}, Dims{1, 0, 1}, Dims{1, 1, 1}}) {
    SCOPED_TRACE(ir::ToString(flags));
    CheckSizes([&](GroupBuilder& b) {
      ValueId x = b.Input(DType::kF32, {N(), K(), M()});
      b.Output(Softmax(b, x, flags));
      ir::NodeId group = b.Finish();
      EXPECT_TRUE(TakesRows(GroupView(b.function(), group)));
      return group;
    });
  }
}

// Though the maximum passes over it.
TEST(ScheduleRows, NanReachesAllOfItsRow) {
  for (Dims flags : {Dims{0, 0, 1}, Dims{0, 1, 0}})
    CheckSizes([&](GroupBuilder& b) {
      const ValueId x = b.Input(DType::kF32, {N(), K(), M()});
      const ValueId some_nan = b.Add("log", {b.Add("add", {x, b.Number(0.9F)})});
      b.Output(Softmax(b, some_nan, flags));
      return b.Finish();
    });
}

// The elements of all rows are the same ones there: none.
TEST(ScheduleRows, KeptElementsOfAnAxisOfSizeZero) {
  CheckSizes([&](GroupBuilder& b) {
    ValueId x = b.Input(DType::kF32, {N(), Dim(0), M()}), mask = b.Input(DType::kBool, {Dim(0), M()});
    ValueId costly = b.Add("expm1", {b.Add("mul", {b.Add("erf", {x}), x})});
    b.Output(b.Add("where", {mask, Softmax(b, costly, {0, 0, 1}), b.Number(0)}));
    return b.Finish();
  });
}

TEST(ScheduleRows, LayerNormWithResidualAndScale) {
  for (Dims flags : {Dims{0, 0, 1}, Dims{0, 1, 0}}) {
    CheckSizes(
        [&](GroupBuilder& b) {
          ValueId x = b.Input(DType::kF32, {N(), K(), M()}), y = b.Input(DType::kF32, {N(), K(), M()});
          ValueId gamma = b.Input(DType::kF32, {M()}), beta = b.Input(DType::kF32, {M()});
          ValueId sum = b.Add("add", {x, y});
          ValueId mean = b.Add("mul", {Reduced(b, sum, flags, "sum"), b.Number(0.1f)});
          ValueId centered = b.Add("sub", {sum, mean});
          ValueId variance =
              b.Add("mul", {Reduced(b, b.Add("mul", {centered, centered}), flags, "sum"), b.Number(0.1f)});
          ValueId scale = b.Add("rsqrt", {b.Add("add", {variance, b.Number(1e-3f)})});
          b.Output(b.Add("add", {b.Add("mul", {b.Add("mul", {centered, scale}), gamma}), beta}));
          return b.Finish();
        },
        1e-4);
  }
}

TEST(ScheduleRows, StatisticsAndRowsAsOutputs) {
  CheckSizes([](GroupBuilder& b) {
    ValueId x = b.Input(DType::kF32, {N(), M()});
    ValueId largest = Reduced(b, x, {0, 1}, "max");
    ValueId sum = Reduced(b, b.Add("exp", {b.Add("sub", {x, largest})}), {0, 1}, "sum");
    ValueId log_sum = b.Add("add", {b.Add("log", {sum}), largest});
    b.Output(b.Add("sub", {x, log_sum}));
    b.Output(log_sum);
    return b.Finish();
  });
}

}  // namespace
}  // namespace tvmvm::tensor
