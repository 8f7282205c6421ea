#include <array>

#include "tests/compiler/schedules/group_harness.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::ValueId;
using Ints = std::vector<int64_t>;

struct Convolution {
  Ints data;  // [spatial..., channels]
  int64_t outputs = 1;
  Ints kernel, strides, dilations, low, high;
  int64_t groups = 1;
  bool channels_last = true;
  bool constant_weights = true;
  DType dtype = DType::kF32;
  bool of_bytes = false;  // u8 data and i8 weights, summed in i32
  int64_t tile = 0;       // of Winograd's
};

// With the batch and the spatial dims as numbers and as symbols, with bias and a clamp behind.
void Check(const Convolution& c, double tolerance = 1e-4) {
  size_t axes = c.kernel.size();
  for (bool symbolic : {false, true}) {
    SCOPED_TRACE(symbolic ? "symbolic" : "fixed");
    GroupBuilder b;
    Symbols symbols{{"n", 2}};
    Dims spatial;
    for (size_t i = 0; i < axes; ++i) {
      std::string name = "d" + std::to_string(i);
      symbols[name] = c.data[i];
      spatial.push_back(symbolic ? Dim::Symbol(name) : Dim(c.data[i]));
    }
    Dims data{symbolic ? Dim::Symbol("n") : Dim(2)};
    Ints bias_dims(axes + 2, 1);
    bias_dims[c.channels_last ? axes + 1 : 1] = c.outputs;
    if (!c.channels_last) data.push_back(c.data.back());
    data.insert(data.end(), spatial.begin(), spatial.end());
    if (c.channels_last) data.push_back(c.data.back());
    Ints weights{c.outputs, c.data.back() / c.groups};
    weights.insert(weights.end(), c.kernel.begin(), c.kernel.end());

    DType weight_type = c.of_bytes ? DType::kI8 : c.dtype, sum_type = c.of_bytes ? DType::kI32 : c.dtype;
    ValueId x = b.Input(c.of_bytes ? DType::kU8 : c.dtype, data);
    ValueId w = c.constant_weights ? b.Constant(weight_type, weights)
                                   : b.Input(weight_type, Dims(weights.begin(), weights.end()));
    ValueId bias = b.Constant(sum_type, bias_dims);
    auto dims = [](const Ints& list) { return Dims(list.begin(), list.end()); };
    ValueId y = b.Add("conv", {x, w},
                      {{"strides", c.strides},
                       {"dilations", c.dilations},
                       {"low", dims(c.low)},
                       {"high", dims(c.high)},
                       {"groups", c.groups},
                       {"tile", c.tile},
                       {"dtype", sum_type},
                       {"layout", c.channels_last ? ir::Layout::kChannelsLast : ir::Layout::kChannelsFirst}});
    b.Output(b.Add("max", {b.Add("add", {y, bias}), bias}));
    ir::NodeId node = b.Finish();
    ASSERT_TRUE(TakesConvolution(GroupView(b.function(), node)));
    CheckGroup(b, node, symbols, tolerance);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(ScheduleConvolution, PointwiseWithAndWithoutStride) {
  Check({.data = {3, 4, 5},
         .outputs = 19,
         .kernel = {1, 1},
         .strides = {1, 1},
         .dilations = {1, 1},
         .low = {0, 0},
         .high = {0, 0}});
  Check({.data = {5, 4, 8},
         .outputs = 33,
         .kernel = {1, 1},
         .strides = {2, 3},
         .dilations = {1, 1},
         .low = {0, 0},
         .high = {0, 0}});
}

TEST(ScheduleConvolution, ProductsOfBytes) {
  Convolution window{.data = {6, 7, 5},
                     .outputs = 35,
                     .kernel = {3, 2},
                     .strides = {1, 2},
                     .dilations = {1, 1},
                     .low = {1, 0},
                     .high = {1, 1},
                     .of_bytes = true};
  Check(window, 0);
  window.channels_last = false;
  Check(window, 0);
  window.constant_weights = false;
  Check(window, 0);
  Check({.data = {4, 5, 8},
         .outputs = 33,
         .kernel = {1, 1},
         .strides = {1, 1},
         .dilations = {1, 1},
         .low = {0, 0},
         .high = {0, 0},
         .of_bytes = true},
        0);
  Check({.data = {5, 5, 12},
         .outputs = 9,
         .kernel = {3, 3},
         .strides = {1, 1},
         .dilations = {1, 1},
         .low = {1, 1},
         .high = {1, 1},
         .groups = 3,
         .of_bytes = true},
        0);
}

TEST(ScheduleConvolution, DepthwiseOfBytes) {
  for (int64_t channels : {5, 16, 35})
    Check({.data = {6, 9, channels},
           .outputs = channels,
           .kernel = {3, 3},
           .strides = {1, 2},
           .dilations = {1, 1},
           .low = {1, 1},
           .high = {1, 1},
           .groups = channels,
           .of_bytes = true},
          0);
}

TEST(ScheduleConvolution, PointwiseWithPadding) {
  Check({.data = {3, 4, 5},
         .outputs = 7,
         .kernel = {1, 1},
         .strides = {2, 1},
         .dilations = {1, 1},
         .low = {0, 1},
         .high = {3, 0}});
}

TEST(ScheduleConvolution, Windows) {
  Check({.data = {5, 6, 3},
         .outputs = 20,
         .kernel = {3, 3},
         .strides = {1, 1},
         .dilations = {1, 1},
         .low = {1, 1},
         .high = {1, 1}});
  Check({.data = {7, 6, 16},
         .outputs = 17,
         .kernel = {3, 2},
         .strides = {2, 1},
         .dilations = {1, 1},
         .low = {0, 1},
         .high = {2, 0}});
  Check({.data = {8, 9, 4},
         .outputs = 16,
         .kernel = {3, 3},
         .strides = {1, 2},
         .dilations = {2, 3},
         .low = {2, 3},
         .high = {2, 3}});
}

TEST(ScheduleConvolution, WindowLargerThanTheData) {
  Check({.data = {2, 1, 6},
         .outputs = 5,
         .kernel = {3, 3},
         .strides = {1, 1},
         .dilations = {1, 1},
         .low = {1, 1},
         .high = {1, 1}});
}

TEST(ScheduleConvolution, Groups) {
  Check({.data = {5, 5, 6},
         .outputs = 8,
         .kernel = {3, 3},
         .strides = {1, 1},
         .dilations = {1, 1},
         .low = {1, 1},
         .high = {1, 1},
         .groups = 2});
  Check({.data = {3, 3, 12},
         .outputs = 60,
         .kernel = {1, 1},
         .strides = {1, 1},
         .dilations = {1, 1},
         .low = {0, 0},
         .high = {0, 0},
         .groups = 3});
}

TEST(ScheduleConvolution, OneAndThreeAxes) {
  Check({.data = {13, 6},
         .outputs = 18,
         .kernel = {5},
         .strides = {2},
         .dilations = {1},
         .low = {2},
         .high = {2}});
  Check({.data = {3, 4, 3, 2},
         .outputs = 5,
         .kernel = {2, 3, 1},
         .strides = {1, 1, 2},
         .dilations = {1, 1, 1},
         .low = {1, 0, 0},
         .high = {0, 1, 0}});
}

TEST(ScheduleConvolution, ChannelsFirst) {
  Check({.data = {5, 6, 3},
         .outputs = 20,
         .kernel = {3, 3},
         .strides = {1, 1},
         .dilations = {1, 1},
         .low = {1, 1},
         .high = {1, 1},
         .channels_last = false});
  Check({.data = {3, 4, 5},
         .outputs = 19,
         .kernel = {1, 1},
         .strides = {1, 2},
         .dilations = {1, 1},
         .low = {0, 0},
         .high = {0, 0},
         .channels_last = false});
}

// Sizes from which on the padded picture is gathered once. Its last columns end within a vector, behind the
// only row, too; zeros between rows are as many as there are on either side.
TEST(ScheduleConvolution, TapsShareThePicture) {
  const auto check = [](Ints data, Ints kernel, Ints dilations, Ints low, Ints high) {
    SCOPED_TRACE(testing::PrintToString(data) + " " + testing::PrintToString(kernel));
    const Ints strides(kernel.size(), 1);
    Check({.data = std::move(data),
           .outputs = 2,
           .kernel = std::move(kernel),
           .strides = strides,
           .dilations = std::move(dilations),
           .low = std::move(low),
           .high = std::move(high),
           .channels_last = false});
  };
  check({394, 8}, {3}, {1}, {1}, {1});
  check({401, 8}, {9}, {1}, {4}, {4});
  check({1, 395, 8}, {1, 3}, {1, 1}, {0, 1}, {0, 1});
  check({1, 1, 397, 8}, {1, 1, 3}, {1, 1, 1}, {0, 0, 1}, {0, 0, 1});
  check({20, 21, 8}, {3, 3}, {1, 1}, {3, 2}, {2, 3});
  check({21, 20, 8}, {3, 2}, {2, 3}, {2, 1}, {1, 2});
  check({5, 9, 11, 8}, {3, 3, 2}, {1, 1, 1}, {1, 1, 0}, {1, 0, 1});
}

TEST(ScheduleConvolution, WeightsThatChange) {
  Check({.data = {5, 4, 3},
         .outputs = 20,
         .kernel = {3, 2},
         .strides = {1, 1},
         .dilations = {1, 1},
         .low = {1, 0},
         .high = {1, 1},
         .constant_weights = false});
}

TEST(ScheduleConvolution, HalfPrecision) {
  Check({.data = {4, 4, 3},
         .outputs = 5,
         .kernel = {2, 2},
         .strides = {1, 1},
         .dilations = {1, 1},
         .low = {1, 1},
         .high = {0, 0},
         .dtype = DType::kF16},
        1e-2);
}

TEST(ScheduleConvolution, Depthwise) {
  for (int64_t channels : {5, 16, 20, 33}) {
    for (int64_t stride : {1, 2}) {
      Check({.data = {5, 9, channels},
             .outputs = channels,
             .kernel = {3, 3},
             .strides = {stride, stride},
             .dilations = {1, 1},
             .low = {1, 1},
             .high = {1, 1},
             .groups = channels});
    }
  }
  Check({.data = {4, 12, 8},
         .outputs = 8,
         .kernel = {2, 5},
         .strides = {1, 1},
         .dilations = {2, 2},
         .low = {0, 4},
         .high = {1, 3},
         .groups = 8});
}

TEST(ScheduleConvolution, DepthwiseOneAndThreeAxes) {
  Check({.data = {17, 6},
         .outputs = 6,
         .kernel = {5},
         .strides = {1},
         .dilations = {1},
         .low = {4},
         .high = {0},
         .groups = 6});
  Check({.data = {3, 3, 6, 4},
         .outputs = 4,
         .kernel = {2, 3, 3},
         .strides = {1, 1, 1},
         .dilations = {1, 1, 1},
         .low = {1, 1, 1},
         .high = {0, 1, 1},
         .groups = 4});
}

TEST(ScheduleConvolution, DepthwiseWindowLargerThanTheData) {
  Check({.data = {1, 1, 16},
         .outputs = 16,
         .kernel = {3, 3},
         .strides = {1, 1},
         .dilations = {1, 1},
         .low = {1, 1},
         .high = {1, 1},
         .groups = 16});
}

// Several groups share a vector: channels of a group, outputs of a group, groups.
TEST(ScheduleConvolution, GroupsNarrowerThanVectors) {
  for (auto [channels, outputs, groups] : {std::array<int64_t, 3>{4, 4, 8},
                                           {8, 8, 3},
                                           {2, 2, 5},
                                           {1, 2, 21},
                                           {1, 4, 4},
                                           {3, 8, 4},
                                           {2, 1, 18},
                                           {16, 4, 4},
                                           {5, 2, 7},
                                           {6, 1, 3}}) {
    SCOPED_TRACE(testing::Message() << groups << " groups, " << channels << " to " << outputs);
    Check({.data = {5, 13, channels * groups},
           .outputs = outputs * groups,
           .kernel = {3, 3},
           .strides = {1, 1},
           .dilations = {1, 1},
           .low = {1, 1},
           .high = {1, 1},
           .groups = groups});
  }
  Check({.data = {7, 12, 24},
         .outputs = 24,
         .kernel = {3, 2},
         .strides = {2, 3},
         .dilations = {1, 2},
         .low = {0, 3},
         .high = {2, 0},
         .groups = 6});
  Check({.data = {40, 12},
         .outputs = 24,
         .kernel = {7},
         .strides = {1},
         .dilations = {2},
         .low = {12},
         .high = {0},
         .groups = 6});
  Check({.data = {3, 4, 6, 8},
         .outputs = 8,
         .kernel = {2, 3, 3},
         .strides = {1, 1, 1},
         .dilations = {1, 1, 1},
         .low = {1, 1, 1},
         .high = {0, 1, 1},
         .groups = 2});
}

// Axes of one tap in front of the picture's belong to the batch.
TEST(ScheduleConvolution, BatchesOfPictures) {
  Convolution c{.data = {3, 5, 7, 6},
                .outputs = 21,
                .kernel = {1, 3, 2},
                .strides = {1, 2, 1},
                .dilations = {1, 1, 2},
                .low = {0, 1, 0},
                .high = {0, 1, 1}};
  Check(c);
  c.constant_weights = false;
  Check(c);
  c.groups = 3;
  Check(c);
  c.constant_weights = true;
  Check(c);
  c = {.data = {2, 3, 6, 8},
       .outputs = 8,
       .kernel = {1, 3, 3},
       .strides = {1, 1, 1},
       .dilations = {1, 1, 1},
       .low = {0, 1, 1},
       .high = {0, 1, 1},
       .groups = 8};
  Check(c);
  c = {.data = {2, 3, 5, 4},
       .outputs = 18,
       .kernel = {1, 1, 3},
       .strides = {1, 1, 1},
       .dilations = {1, 1, 1},
       .low = {0, 0, 1},
       .high = {0, 0, 1}};
  Check(c);
}

TEST(ScheduleConvolution, WinogradOfPlanes) {
  Convolution c{.data = {3, 4, 5, 16},
                .outputs = 32,
                .kernel = {3, 3, 3},
                .strides = {1, 1, 1},
                .dilations = {1, 1, 1},
                .low = {1, 1, 1},
                .high = {1, 1, 1},
                .tile = 2};
  Check(c);
  c.channels_last = false;
  Check(c);
  c.kernel = {2, 3, 3};
  c.dilations = {2, 1, 1};
  c.low = {0, 2, 0};
  c.high = {3, 0, 1};
  Check(c);
  c.channels_last = true;
  Check(c);
  c.kernel = {1, 3, 3};
  c.low = {1, 1, 1};  // no batch of pictures
  c.high = {0, 1, 1};
  Check(c);
  c.low = {0, 1, 1};
  Check(c);
}

// Taps of other planes are gathered for themselves, taps of one plane share pixels.
TEST(ScheduleConvolution, PlanesFarFromOneAnother) {
  Convolution c{.data = {4, 9, 13, 9},
                .outputs = 20,
                .kernel = {3, 3, 3},
                .strides = {1, 1, 1},
                .dilations = {1, 1, 1},
                .low = {1, 1, 1},
                .high = {1, 1, 1},
                .channels_last = false};
  Check(c);
  c.dilations = {2, 1, 2};
  c.low = {1, 2, 0};
  c.high = {3, 0, 2};
  c.strides = {2, 1, 1};
  Check(c);
  c = {.data = {6, 11, 12, 8},
       .outputs = 17,
       .kernel = {3, 1, 1},
       .strides = {1, 1, 1},
       .dilations = {1, 1, 1},
       .low = {1, 0, 0},
       .high = {1, 0, 0},
       .channels_last = false};
  Check(c);
  c = {.data = {2, 300, 8},
       .outputs = 18,
       .kernel = {3, 3},
       .strides = {1, 1},
       .dilations = {1, 1},
       .low = {1, 1},
       .high = {1, 1},
       .channels_last = false};
  Check(c);
}

}  // namespace
}  // namespace tvmvm::tensor
