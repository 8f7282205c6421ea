// Contracts of kernels for GPUs: whatever launch fulfils one stays within the bytes that it names, as the
// evaluator of loops runs it and as devices do.
#include <gmock/gmock.h>

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/gpu_codegen.h"
#include "compiler/schedules/gpu/schedule_gpu_product.h"
#include "tests/compiler/schedules/contract_cases.h"
#include "tests/compiler/schedules/contracted_group.h"
#include "tests/require.h"
#include "tvm-vm/device_list.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::ValueId;
using Ints = std::vector<int64_t>;

void Product(GroupBuilder& b, DType dtype) {
  b.Output(b.Add("contract", {b.Input(dtype, {N(), K()}), b.Input(dtype, {K(), M()})},
                 {{"lhs_batch", Ints{}},
                  {"lhs_contract", Ints{1}},
                  {"rhs_batch", Ints{}},
                  {"rhs_contract", Ints{0}},
                  {"dtype", DType::kF32}}));
}

void Extremum(GroupBuilder& b, const Dims& dims) {
  b.Output(b.Add("reduce", {b.Input(DType::kF32, dims)},
                 {{"flags", Dims{0, 1}}, {"kind", std::string("argmax")}, {"select_last", int64_t{0}}}));
}

void Softmax(GroupBuilder& b, const Dims& dims) {
  const auto reduced = [&](ValueId x, const char* kind) {
    return b.Add("reduce", {x}, {{"flags", Dims{0, 1}}, {"kind", std::string(kind)}});
  };
  const ValueId x = b.Input(DType::kF32, dims);
  const ValueId shifted = b.Add("exp", {b.Add("sub", {x, reduced(x, "max")})});
  b.Output(b.Add("div", {shifted, reduced(shifted, "sum")}));
}

void Attention(GroupBuilder& b) {
  const ValueId q = b.Input(DType::kF32, {1, N(), 8}), k = b.Input(DType::kF32, {1, M(), 8}),
                v = b.Input(DType::kF32, {1, M(), 8});
  const auto product = [&](ValueId x, ValueId y, int64_t along) {
    return b.Add("contract", {x, y},
                 {{"lhs_batch", Ints{0}},
                  {"lhs_contract", Ints{2}},
                  {"rhs_batch", Ints{0}},
                  {"rhs_contract", Ints{along}},
                  {"dtype", DType::kF32}});
  };
  const auto reduced = [&](ValueId x, const char* kind) {
    return b.Add("reduce", {x}, {{"flags", Dims{0, 0, 1}}, {"kind", std::string(kind)}});
  };
  const ValueId scores = product(q, k, 2);
  const ValueId shifted = b.Add("exp", {b.Add("sub", {scores, reduced(scores, "max")})});
  b.Output(product(b.Add("div", {shifted, reduced(shifted, "sum")}), v, 1));
}

void Sort(GroupBuilder& b, DType dtype, const Dims& dims, const Dim& k) {
  b.Add("topk", {b.Input(dtype, dims)}, {{"axis", int64_t{1}}, {"k", k}, {"largest", int64_t{1}}});
}

void Regions(GroupBuilder& b, const char* pool) {
  const bool is_pool = std::string_view(pool) == "roi_pool";
  std::vector<ValueId> inputs{b.Input(DType::kF32, {1, N(), M(), 40}),
                              b.Input(DType::kF32, {K(), is_pool ? 5 : 4})};
  if (!is_pool) inputs.push_back(b.Input(DType::kI64, {K()}));
  std::map<std::string, ir::Attribute> attributes{
      {"height", int64_t{2}}, {"width", int64_t{1}}, {"scale", 1.0}};
  if (!is_pool) {
    attributes["samples"] = int64_t{0};
    attributes["mode"] = std::string("avg");
    attributes["half_pixel"] = int64_t{1};
  }
  b.Output(b.Add(pool, inputs, attributes));
}

std::vector<ContractCase> Cases() {
  std::vector<ContractCase> cases(std::begin(kContractCases), std::end(kContractCases));
  cases.push_back({"extremum", [](GroupBuilder& b) { Extremum(b, {N(), M()}); }});
  cases.push_back({"extremum_of_shares", [](GroupBuilder& b) { Extremum(b, {2, 17000}); }});
  cases.push_back({"softmax_of_shares", [](GroupBuilder& b) { Softmax(b, {1, 66000}); }});
  cases.push_back({"attention", Attention});
  cases.push_back({"sort", [](GroupBuilder& b) { Sort(b, DType::kF32, {N(), M(), 2}, M()); }});
  cases.push_back({"sort_of_stretches", [](GroupBuilder& b) { Sort(b, DType::kI64, {2, 700}, 600); }});
  cases.push_back({"sort_of_shares", [](GroupBuilder& b) { Sort(b, DType::kI16, {1, 9000}, 30); }});
  cases.push_back({"sort_of_runs", [](GroupBuilder& b) { Sort(b, DType::kF32, {1, 9000}, 600); }});
  cases.push_back({"regions", [](GroupBuilder& b) { Regions(b, "roi_align"); }});
  cases.push_back({"pooled_regions", [](GroupBuilder& b) { Regions(b, "roi_pool"); }});
  cases.push_back({"product_of_halves", [](GroupBuilder& b) { Product(b, DType::kF16); }});
  return cases;
}

std::string NameOf(const testing::TestParamInfo<ContractCase>& info) { return info.param.name; }

class GpuContract : public testing::TestWithParam<ContractCase> {
 protected:
  // As scheduled for GPUs.
  ContractedGroup Group(const TargetInfo& target) {
    GetParam().build(b_);
    const ir::NodeId group = b_.Finish();
    return ContractedGroup(b_, group, ScheduleGroup(b_.function(), group, target));
  }
  GroupBuilder b_;
};
INSTANTIATE_TEST_SUITE_P(Groups, GpuContract, testing::ValuesIn(Cases()), NameOf);

// Launches each kernel until enough launches ran; how many of them were honest: kernels for large sizes have
// none here.
template <class AttackerOf>
int AttackAll(const ContractedGroup& group, int launches, const AttackerOf& attacker_of) {
  int honest = 0;
  for (const ContractedKernel& kernel : group.kernels()) {
    EXPECT_NE(kernel.contract, "") << ToString(kernel.call->kernel);
    if (kernel.contract.empty()) continue;
    auto attacker = attacker_of(kernel);
    for (int i = 0; i < 2000 && !testing::Test::HasFailure(); ++i) {
      if (attacker->ran >= launches && (attacker->honest > 0 || i > 100)) break;
      attacker->Attack(8);
    }
    honest += attacker->honest;
  }
  return honest;
}

int Evaluate(const ContractedGroup& group, int launches) {
  return AttackAll(group, launches, [&](const ContractedKernel& kernel) {
    return std::make_unique<Attacker>(kernel, group.facts(), AnyRanges());
  });
}

TEST_P(GpuContract, KeepsKernelsWithinTheirBuffers) {
  EXPECT_GT(Evaluate(Group(GpuTargetInfo(DeviceKind::kVulkan)), 12), 0);
}

// Tiles that only large products get, with factors read one by one and by fours, and by matrices.
TEST(GpuContractOfTiles, KeepsKernelsWithinTheirBuffers) {
  for (const bool has_matrices : {false, true}) {
    const TargetInfo target =
        has_matrices ? GpuTargetWithMatrices(DeviceKind::kVulkan) : GpuTargetInfo(DeviceKind::kVulkan);
    for (const ProductTile& tile : has_matrices ? HalfProductTiles() : ProductTiles()) {
      SCOPED_TRACE(testing::Message() << tile.rows << " x " << tile.columns);
      GroupBuilder b;
      Product(b, has_matrices ? DType::kF16 : DType::kF32);
      const ir::NodeId node = b.Finish();
      const GroupView view(b.function(), node);
      EXPECT_GT(Evaluate(ContractedGroup(b, node, ScheduleProductByTile(view, tile, target)), 4), 0);
    }
  }
}

// ---- indices of 32 bits ----

// Launches kernels of small_sizes for sizes of all magnitudes, but only looks at the numbers.
class SizesChecker : public Attacker {
 public:
  using Attacker::Attacker;

 protected:
  int64_t Draw() override {
    static constexpr int64_t kSizes[] = {0, 1, 4, 1 << 10, 1 << 15, 1 << 20, 1 << 30, (1 << 30) + 1};
    return Random() % 3 == 0 ? int64_t{1} << Random() % 45 : kSizes[Random() % std::size(kSizes)];
  }
  void Run(const std::vector<int64_t>& numbers) override {
    const LoopKernel& loops = kernel().call->kernel;
    int64_t points = 1;
    for (size_t axis = 0; axis < 3; ++axis)
      ASSERT_FALSE(__builtin_mul_overflow(points, numbers[axis], &points)) << TextOf(numbers);
    EXPECT_LE(points, kSmallSize) << TextOf(numbers);
    // A kernel that has nothing to do may be told of any sizes, and what is told for the contract alone may
    // be any.
    for (size_t k = 0; points > 0 && k < LaunchScalars(loops).size(); ++k)
      EXPECT_LE(std::abs(numbers[LaunchContract::kFirstScalar + k]), kSmallSize) << TextOf(numbers);
    for (size_t i = 0; i < wanted().size(); ++i)
      EXPECT_LE(wanted()[i] * 8 / DTypeBits(loops.buffers[i].dtype), kSmallSize) << TextOf(numbers);
    ++ran;
  }
};

// What counts in 32 bits is launched only where that is enough, whatever launches it.
TEST_P(GpuContract, KeepsSmallKernelsToSmallSizes) {
  const ContractedGroup group = Group(GpuTargetInfo(DeviceKind::kVulkan));
  int small = 0, ran = 0;
  for (const ContractedKernel& kernel : group.kernels()) {
    if (!kernel.call->kernel.small_sizes || kernel.contract.empty()) continue;
    SizesChecker checker(kernel, group.facts(), AnyRanges());
    for (int i = 0; i < 3000 && !HasFailure(); ++i) checker.Attack(8);
    ran += checker.ran;
    ++small;
  }
  EXPECT_EQ(ran > 0, small > 0);
}

// ---- on devices ----

// The kernels of a group made ready on a device, and a queue.
class DeviceGroup {
 public:
  explicit DeviceGroup(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  void Load(const ContractedGroup& group) {
    std::vector<codegen::KernelSource> sources;
    std::vector<KernelSpec> specs;
    for (const ContractedKernel& kernel : group.kernels()) {
      KernelSpec spec;
      spec.name = spec.symbol = "k" + std::to_string(specs.size());
      spec.device = DeviceClass::kGpu;
      spec.scalar_count = static_cast<uint32_t>(kernel.scalars.size());
      const LoopKernel& loops = kernel.call->kernel;
      for (uint32_t i = 0; i < loops.argument_count; ++i) spec.buffers.push_back(loops.buffers[i].access);
      sources.push_back({spec.symbol, &loops, kernel.scalars});
      specs.push_back(std::move(spec));
    }
    const DeviceKind kind = device_->target().device;
    codegen::CodegenOptions options;
    options.target = GpuTargetInfo(kind);
    options.form = kind == DeviceKind::kVulkan ? KernelForm::kSpirV : KernelForm::kOpenClC;
    auto bytes = codegen::GenerateGpuLibrary(sources, options);
    ASSERT_TRUE(bytes) << bytes.error().message;
    code_ = std::move(*bytes);
    const KernelLibrarySpec library{kind, options.form, "generic", code_};
    auto set = device_->LoadKernels(specs, {&library, 1});
    ASSERT_TRUE(set) << set.error().message;
    kernels_ = std::move(*set);
    auto queue = device_->NewQueue();
    ASSERT_TRUE(queue) << queue.error().message;
    queue_ = std::move(*queue);
  }
  Device& device() { return *device_; }
  const KernelSet& kernels() const { return *kernels_; }
  Queue& queue() { return *queue_; }

 private:
  std::shared_ptr<Device> device_;
  std::vector<std::byte> code_;
  std::unique_ptr<KernelSet> kernels_;
  std::unique_ptr<Queue> queue_;
};

// Launches a kernel between guards: nothing but what it may write is another one afterwards, and, where it
// compares that, what it wrote is the same whatever the guards hold.
class DeviceAttacker : public Attacker {
 public:
  DeviceAttacker(DeviceGroup* group, uint32_t number, const ContractedKernel& kernel, const Dims& facts,
                 bool compares)
      : Attacker(kernel, facts, AnyRanges()), group_(group), number_(number), compares_(compares) {}

 protected:
  static constexpr size_t kGuard = 4096;

  void Launch(const std::vector<int64_t>& numbers, Memory* memory) override {
    std::vector<std::byte> results[2];
    for (const int round : {0, 1}) {
      std::vector<size_t> places;
      std::vector<std::byte> block(kGuard, kGuards[round]);
      for (const std::vector<std::byte>& buffer : *memory) {
        places.push_back(block.size());
        block.insert(block.end(), buffer.begin(), buffer.end());
        block.resize((block.size() + 2 * kGuard) / kGuard * kGuard, kGuards[round]);
      }
      std::vector<std::byte> after;
      Run(numbers, places, block, &after);
      if (testing::Test::HasFatalFailure()) return;
      const LoopKernel& loops = kernel().call->kernel;
      for (size_t i = 0; i < places.size(); ++i) {
        if (!IsWritten(loops.buffers[i].access)) continue;
        const auto written = after.begin() + static_cast<std::ptrdiff_t>(places[i]);
        const auto size = static_cast<std::ptrdiff_t>((*memory)[i].size());
        results[round].insert(results[round].end(), written, written + size);
        std::copy(block.begin() + (written - after.begin()), block.begin() + (written - after.begin()) + size,
                  written);
      }
      ASSERT_EQ(block == after, true) << "writes elsewhere: " << TextOf(numbers) << ToString(loops);
    }
    ASSERT_EQ(!compares_ || results[0] == results[1], true) << "reads elsewhere: " << TextOf(numbers);
  }

 private:
  static constexpr std::byte kGuards[] = {std::byte{0x5b}, std::byte{0xa7}};

  void Run(const std::vector<int64_t>& numbers, const std::vector<size_t>& places,
           const std::vector<std::byte>& before, std::vector<std::byte>* after) {
    const auto size = static_cast<int64_t>(before.size());
    auto memory = group_->device().Allocate(size, nullptr);
    ASSERT_TRUE(memory) << memory.error().message;
    ASSERT_TRUE(group_->queue().CopyIn({*memory, 0}, before.data(), size, nullptr));
    std::vector<DeviceSpan> spans;
    for (const size_t place : places) spans.push_back({*memory, static_cast<int64_t>(place)});
    LaunchRequest request;
    request.kernels = &group_->kernels();
    request.kernel = number_;
    std::copy_n(numbers.begin(), 3, request.grid);
    request.scalars = std::span(numbers).subspan(LaunchContract::kFirstScalar);
    request.buffers = spans;
    const auto code = group_->queue().Launch(request, nullptr);
    ASSERT_TRUE(code) << code.error().message << TextOf(numbers);
    after->resize(before.size());
    ASSERT_TRUE(group_->queue().CopyOut(after->data(), {*memory, 0}, size, nullptr));
    const auto done = group_->queue().Wait(nullptr);
    ASSERT_TRUE(done) << done.error().message << TextOf(numbers);
    group_->queue().FreeAfterWork(*memory);
  }

  DeviceGroup* group_;
  uint32_t number_;
  bool compares_;
};

void AttackOn(const char* name, const ContractedGroup& group, bool compares) {
  auto device = OpenDevice(name, {});
  if (!device) TVMVM_SKIP_WITHOUT(name, device.error().message);
  DeviceGroup on_device(*device);
  on_device.Load(group);
  if (testing::Test::HasFatalFailure()) return;
  uint32_t number = 0;
  EXPECT_GT(AttackAll(group, 12,
                      [&](const ContractedKernel& kernel) {
                        return std::make_unique<DeviceAttacker>(&on_device, number++, kernel, group.facts(),
                                                                compares);
                      }),
            0);
}

// Where runs are not in order, several elements find one place in the longer run: which one stands there is
// anybody's guess.
bool WritesInOneOrder(const ContractCase& group) { return std::string_view(group.name) != "sort_of_runs"; }

TEST_P(GpuContract, KeepsKernelsOfOpenClWithinTheirBuffers) {
  AttackOn("opencl", Group(GpuTargetInfo(DeviceKind::kOpenCl)), WritesInOneOrder(GetParam()));
}

TEST_P(GpuContract, KeepsKernelsOfVulkanWithinTheirBuffers) {
  AttackOn("vulkan", Group(GpuTargetInfo(DeviceKind::kVulkan)), WritesInOneOrder(GetParam()));
}

}  // namespace
}  // namespace tvmvm::tensor
