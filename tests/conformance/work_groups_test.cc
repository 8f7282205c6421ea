// What work-groups of GPUs do together - topk, scans, positions of extrema, attention - gives what the CPU's
// kernels of the same program give: those are compared with other implementations at small sizes
// (operator_cases_test.cc, onnx_backend_test.cc), these are the sizes at which groups take rows, stretches,
// shares and blocks.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cli/compare.h"
#include "cli/elements.h"
#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

enum class Content { kSpread, kEqual, kBeyond };  // all over, of three values, with NaN and infinities

struct GroupCase {
  const char* name;
  const char* symbols;
  std::vector<std::vector<int64_t>> inputs;  // dims of each
  const char* body;                          // with inputs %0, %1, ...
  Content content = Content::kSpread;
  DType dtype = DType::kF32;
  double tolerance = 0;
};

double ValueOf(Content content, DType dtype, uint64_t* state) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  const auto bits = static_cast<int64_t>(*state >> 33);
  if (content == Content::kEqual) return static_cast<double>(bits % 3);
  if (content == Content::kBeyond && bits % 50 < 3) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double values[] = {std::nan(""), kInfinity, -kInfinity};
    return values[bits % 50];
  }
  if (IsInteger(dtype)) return static_cast<double>(bits % 200 - 100);
  return static_cast<double>(bits % 2000001 - 1000000) / 1e6;
}

Tensor Filled(const GroupCase& test, const std::vector<int64_t>& dims, uint64_t* state) {
  auto tensor = Tensor::Allocate(test.dtype, Shape(dims));
  EXPECT_TRUE(tensor);
  for (int64_t i = 0; i < tensor->element_count(); ++i) {
    const double value = ValueOf(test.content, test.dtype, state);
    if (test.dtype == DType::kI32) {
      static_cast<int32_t*>(tensor->data())[i] = static_cast<int32_t>(value);
    } else if (test.dtype == DType::kI64) {
      static_cast<int64_t*>(tensor->data())[i] = static_cast<int64_t>(value);
    } else {
      cli::WriteFloat(*tensor, i, value);
    }
  }
  return *tensor;
}

class WorkGroups : public testing::TestWithParam<std::tuple<const char*, GroupCase>> {};

TEST_P(WorkGroups, GiveWhatTheCpuGives) {
  const auto& [device_name, test] = GetParam();
  auto device = OpenDevice(device_name, {});
  if (!device) TVMVM_SKIP_WITHOUT(device_name, device.error().message);
  CompileOptions options;
  options.targets = {"host"};
  options.devices = {device_name, "cpu"};
  options.prefer_gpu = true;
  const std::string text = std::string(test.symbols) + "func @main {\n" + test.body + "}\n";
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  ASSERT_TRUE(compiled) << compiled.error().message;
  std::vector<Tensor> inputs;
  uint64_t state = 7;
  for (const std::vector<int64_t>& dims : test.inputs) inputs.push_back(Filled(test, dims, &state));
  std::vector<std::vector<Tensor>> results;
  for (bool on_device : {false, true}) {
    VmOptions vm_options{.threads = 1};
    if (on_device) vm_options.devices = {*device};
    auto vm = Vm::Create(compiled->program, vm_options);
    ASSERT_TRUE(vm) << vm.error().message;
    results.emplace_back((*vm)->program().functions[0].outputs.size());
    Invocation invocation = (*vm)->NewInvocation();
    Status status = invocation.Run(inputs, results.back());
    ASSERT_TRUE(status) << status.error().message;
  }
  for (size_t i = 0; i < results[0].size(); ++i) {
    auto difference =
        cli::FindDifference(results[1][i], results[0][i], {.rtol = test.tolerance, .atol = test.tolerance});
    EXPECT_FALSE(difference) << "output " << i << ": " << *difference;
  }
}

constexpr const char* kRows = "symbol b: [0, inf] input\nsymbol n: [0, inf] input\n";
constexpr const char* kColumns =
    "symbol b: [0, inf] input\nsymbol n: [0, inf] input\nsymbol c: [0, inf] input\n";

constexpr const char* kImages =
    "symbol c: [0, inf] input\nsymbol h: [0, inf] input\nsymbol w: [0, inf] input\nsymbol r: [0, inf] "
    "input\n";

#define TOPK(TYPE, DIMS, VALUES, AXIS, K, LARGEST)                                                        \
  "  input \"x\" = %0: tensor<" TYPE ",[" DIMS                                                            \
  "]>\n"                                                                                                  \
  "  %1: tensor<" TYPE ",[" VALUES "]>, %2: tensor<i64,[" VALUES "]> = topk(%0) {axis = " AXIS ", k = " K \
  ", largest = " LARGEST                                                                                  \
  "}\n"                                                                                                   \
  "  output \"v\" = %1\n  output \"i\" = %2\n"
#define SCAN(TYPE, DIMS, AXIS, EXCLUSIVE, KIND, REVERSE)                                       \
  "  input \"x\" = %0: tensor<" TYPE ",[" DIMS                                                 \
  "]>\n"                                                                                       \
  "  %1: tensor<" TYPE ",[" DIMS "]> = scan(%0) {axis = dim(" AXIS "), exclusive = " EXCLUSIVE \
  ", kind = \"" KIND "\", reverse = " REVERSE                                                  \
  "}\n"                                                                                        \
  "  output \"y\" = %1\n"
// Regions of all sizes, of which some have bins of many samples.
#define REGIONS(FIELDS, POOL)                                                                          \
  "  input \"x\" = %0: tensor<f32,[1,c,h,w]>\n  input \"r\" = %1: tensor<f32,[r," FIELDS               \
  "]>\n"                                                                                               \
  "  %2: tensor<f32,[r,1]> = slice(%1) {dims = dims[r, 1], starts = dims[0, 0], steps = dims[1, 1]}\n" \
  "  %3: tensor<f32,[r]> = reshape(%2) {dims = dims[r]}\n"                                             \
  "  %4: tensor<f32,[r]> = sub(%3, %3)\n"                                                              \
  "  %5: tensor<i64,[r]> = cast(%4) {to = i64}\n"                                                      \
  "  %6: tensor<f32,[r,c,2,3]> = " POOL ", height = 2, width = 3}\n  output \"y\" = %6\n"
#define ALIGN(MODE, SAMPLES, HALF)                                                                     \
  REGIONS("4", "roi_align(%0, %1, %5) {mode = \"" MODE "\", samples = " SAMPLES ", half_pixel = " HALF \
               ", scale = float(300)")
#define EXTREMUM(KIND, LAST)                                                                           \
  "  input \"x\" = %0: tensor<f32,[b,n]>\n"                                                            \
  "  %1: tensor<i64,[b,1]> = reduce(%0) {flags = dims[0, 1], kind = \"" KIND "\", select_last = " LAST \
  "}\n  output \"y\" = %1\n"

const GroupCase kCases[] = {
    {"TopKOfSharesOfARow", kRows, {{2, 20000}}, TOPK("f32", "b,n", "b,50", "1", "50", "1")},
    {"TopKOfEqualSharesOfARow",
     kRows,
     {{1, 20000}},
     TOPK("f32", "b,n", "b,300", "1", "300", "0"),
     Content::kEqual},
    {"TopKBeyondNumbers", kRows, {{3, 9000}}, TOPK("f32", "b,n", "b,700", "1", "700", "1"), Content::kBeyond},
    {"TopKOfStretches", kRows, {{2, 3000}}, TOPK("f32", "b,n", "b,2900", "1", "2900", "1"), Content::kBeyond},
    {"TopKOfEqualStretches",
     kRows,
     {{2, 5000}},
     TOPK("i32", "b,n", "b,2500", "1", "2500", "0"),
     Content::kEqual,
     DType::kI32},
    {"TopKOfWideKeys",
     kRows,
     {{2, 2000}},
     TOPK("i64", "b,n", "b,1900", "1", "1900", "1"),
     Content::kSpread,
     DType::kI64},
    {"TopKOfRuns", kRows, {{2, 15000}}, TOPK("f32", "b,n", "b,14000", "1", "14000", "1"), Content::kBeyond},
    {"TopKOfAllOfARow", kRows, {{1, 140001}}, TOPK("f32", "b,n", "b,n", "1", "dim(n)", "0")},
    {"TopKOfEqualRuns",
     kRows,
     {{1, 40000}},
     TOPK("i32", "b,n", "b,n", "1", "dim(n)", "1"),
     Content::kEqual,
     DType::kI32},
    {"TopKOfRunsOfWideKeys",
     kRows,
     {{3, 9001}},
     TOPK("i64", "b,n", "b,2000", "1", "2000", "0"),
     Content::kEqual,
     DType::kI64},
    {"TopKOfRunsOfManyRows",
     kRows,
     {{130, 8500}},
     TOPK("f32", "b,n", "b,1500", "1", "1500", "1"),
     Content::kBeyond},
    {"TopKOfRunsAlongAnInnerAxis",
     kColumns,
     {{2, 9000, 3}},
     TOPK("f32", "b,n,c", "b,3000,c", "1", "3000", "1")},
    {"TopKOfRunsOfKnownRows",
     "",
     {{2, 33000}},
     TOPK("f32", "2,33000", "2,33000", "1", "33000", "1"),
     Content::kEqual},
    {"TopKOfShortRows", kRows, {{5, 200}}, TOPK("f32", "b,n", "b,9", "1", "9", "1"), Content::kBeyond},
    {"TopKAlongAnInnerAxis", kColumns, {{2, 700, 3}}, TOPK("f32", "b,n,c", "b,20,c", "1", "20", "1")},
    {"ScanOfRows",
     kRows,
     {{3, 5000}},
     SCAN("i32", "b,n", "1", "0", "sum", "0"),
     Content::kSpread,
     DType::kI32},
    {"ScanOfRowsBackwards",
     kRows,
     {{3, 4097}},
     SCAN("i64", "b,n", "1", "1", "sum", "1"),
     Content::kSpread,
     DType::kI64},
    {"ScanOfBlocks",
     kRows,
     {{2, 70001}},
     SCAN("i32", "b,n", "1", "0", "sum", "1"),
     Content::kSpread,
     DType::kI32},
    {"ScanOfBlocksOfColumns",
     kColumns,
     {{2, 20000, 3}},
     SCAN("i32", "b,n,c", "1", "1", "sum", "0"),
     Content::kSpread,
     DType::kI32},
    {"ScanOfProducts",
     kRows,
     {{3, 3000}},
     SCAN("i32", "b,n", "1", "0", "product", "0"),
     Content::kSpread,
     DType::kI32},
    {"ScanOfFloats",
     kRows,
     {{1, 60000}},
     SCAN("f32", "b,n", "1", "0", "sum", "0"),
     Content::kSpread,
     DType::kF32,
     2e-3},
    {"ScanOfManyColumns",
     kColumns,
     {{1, 50, 9000}},
     SCAN("i32", "b,n,c", "1", "0", "sum", "0"),
     Content::kSpread,
     DType::kI32},
    {"SizesThatAreToldForContracts",
     "symbol n: [0, inf] input\nsymbol m: [0, inf] input\nsymbol k: [0, inf] input\n",
     {{700, 50}, {600}},
     R"(  input "x" = %0: tensor<f32,[n,m]>
  input "i" = %1: tensor<f32,[k]>
  require() {condition = dim(lt(k, n)), message = "k"}
  %2: tensor<f32,[1,m]> = slice(%0) {dims = dims[1, m], starts = dims[k, 0], steps = dims[1, 1]}
  %3: tensor<f32,[1,m]> = mul(%2, %2)
  output "y" = %3
)"},
    {"MeansOfRegions",
     kImages,
     {{1, 9, 150, 230}, {14, 4}},
     ALIGN("avg", "0", "1"),
     Content::kSpread,
     DType::kF32,
     1e-3},
    {"LargestOfRegions",
     kImages,
     {{1, 5, 150, 230}, {14, 4}},
     ALIGN("max", "0", "0"),
     Content::kSpread,
     DType::kF32,
     1e-4},
    {"RegionsOfManySamples",
     kImages,
     {{1, 6, 20, 30}, {3, 4}},
     ALIGN("avg", "90", "1"),
     Content::kSpread,
     DType::kF32,
     1e-3},
    {"RegionsOfFewSamples",
     kImages,
     {{1, 6, 20, 30}, {3, 4}},
     ALIGN("avg", "2", "1"),
     Content::kSpread,
     DType::kF32,
     1e-5},
    {"PooledRegions",
     kImages,
     {{1, 5, 250, 230}, {14, 5}},
     REGIONS("5", "roi_pool(%0, %1) {scale = float(300)")},
    {"FirstLargest", kRows, {{3, 3000}}, EXTREMUM("argmax", "0"), Content::kEqual},
    {"LastLeast", kRows, {{3, 3000}}, EXTREMUM("argmin", "1"), Content::kEqual},
    {"FirstLargestOfShares", kRows, {{2, 70001}}, EXTREMUM("argmax", "0"), Content::kEqual},
    {"LastLargestOfShares", kRows, {{1, 140000}}, EXTREMUM("argmax", "1"), Content::kEqual},
    {"LeastOfSharesBeyondNumbers", kRows, {{3, 20000}}, EXTREMUM("argmin", "0"), Content::kBeyond},
    {"LargestOfFloats", kRows, {{3, 1000}}, EXTREMUM("argmax", "0")},
    {"SoftmaxOfSharesOfRows",
     kRows,
     {{2, 80000}},
     R"(  input "x" = %0: tensor<f32,[b,n]>
  %1: tensor<f32,[b,1]> = reduce(%0) {flags = dims[0, 1], kind = "max"}
  %2: tensor<f32,[b,n]> = sub(%0, %1)
  %3: tensor<f32,[b,n]> = exp(%2)
  %4: tensor<f32,[b,1]> = reduce(%3) {flags = dims[0, 1], kind = "sum"}
  %5: tensor<f32,[b,n]> = div(%3, %4)
  output "y" = %5
)",
     Content::kSpread,
     DType::kF32,
     1e-5},
    {"StreamingAttention",
     "symbol b: [0, inf] input\nsymbol l: [0, inf] input\nsymbol s: [0, inf] input\n",
     {{1, 2, 1500, 9}, {1, 2, 1430, 9}, {1, 2, 1430, 20}, {1, 1, 1500, 1430}},
     R"(  input "q" = %0: tensor<f32,[b,2,l,9]>
  input "k" = %1: tensor<f32,[b,2,s,9]>
  input "v" = %2: tensor<f32,[b,2,s,20]>
  input "m" = %3: tensor<f32,[b,1,l,s]>
  %4: tensor<f32,[b,2,l,s]> = contract(%0, %1) {dtype = f32, lhs_batch = [0, 1], lhs_contract = [3], rhs_batch = [0, 1], rhs_contract = [3]}
  %5: tensor<f32,[b,2,l,s]> = add(%4, %3)
  %6: tensor<f32,[b,2,l,1]> = reduce(%5) {flags = dims[0, 0, 0, 1], kind = "max"}
  %7: tensor<f32,[b,2,l,s]> = sub(%5, %6)
  %8: tensor<f32,[b,2,l,s]> = exp(%7)
  %9: tensor<f32,[b,2,l,1]> = reduce(%8) {flags = dims[0, 0, 0, 1], kind = "sum"}
  %10: tensor<f32,[b,2,l,s]> = div(%8, %9)
  %11: tensor<f32,[b,2,l,20]> = contract(%10, %2) {lhs_batch = [0, 1], lhs_contract = [3], rhs_batch = [0, 1], rhs_contract = [2]}
  output "y" = %11
)",
     Content::kSpread,
     DType::kF32,
     1e-4},
};

INSTANTIATE_TEST_SUITE_P(Devices, WorkGroups,
                         testing::Combine(testing::Values("opencl", "vulkan"), testing::ValuesIn(kCases)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace tvmvm
