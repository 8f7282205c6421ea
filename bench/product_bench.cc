// Matrix products and convolutions, one thread, by CPU level: GFLOP/s of the scheduled and compiled kernels
// next to the machine's own peak (the benchmark `Peak`). Layer shapes are those of a transformer, ResNet-50
// and MobileNet v2.
//
//   product_bench --benchmark_filter='Gemm/.*v4'
#include <benchmark/benchmark.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "bytecode/kernel_abi.h"
#include "compiler/codegen/codegen.h"
#include "compiler/graph/core_op.h"
#include "compiler/schedules/group.h"
#include "devices/cpu/kernel_loader.h"

namespace tvmvm {
namespace {

using Ints = std::vector<int64_t>;
using Symbols = std::map<std::string, int64_t>;

int64_t ValueOf(const ir::Dim& dim, const Symbols& symbols) {
  return ir::Evaluate(
             dim,
             [&](const ir::SymbolId& symbol) -> std::optional<int64_t> { return symbols.at(symbol.name()); })
      .value_or(0);
}

std::vector<float> Random(int64_t count) {
  std::mt19937 random(7);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = std::uniform_real_distribution<float>(-1, 1)(random);
  return numbers;
}

// op(data, constant weights) followed by a clamp at zero, as one group.
struct Layer {
  ir::Function function;
  ir::NodeId group;
  ir::Type data, result;

  Layer(const char* op, ir::Dims data_dims, const Ints& weight_dims,
        std::map<std::string, ir::Attribute> attributes) {
    data = ir::Type::Tensor(DType::kF32, std::move(data_dims));
    int64_t count = 1;
    for (int64_t dim : weight_dims) count *= dim;
    ir::ValueId weights = Constant(ir::TensorData::FromVector(DType::kF32, weight_dims, Random(count)));
    ir::ValueId zero = Constant(ir::TensorData::FromVector<float>(DType::kF32, {}, {0}));
    ir::ValueId x = function.AddValue(data), w = function.AddValue(function.type(weights)),
                z = function.AddValue(function.type(zero));
    ir::NodeId product = Add(op, {x, w}, std::move(attributes));
    ir::NodeId clamp = Add("max", {function.node(product).outputs[0], z}, {});
    ir::RegionId region = function.AddRegion();
    function.region(region) = {{x, w, z}, {product, clamp}, function.node(clamp).outputs};
    result = function.type(function.node(clamp).outputs[0]);
    ir::Node fused;
    fused.op = &ir::GetCoreOp("fused");
    fused.inputs = {function.AddValue(data), weights, zero};
    fused.outputs = {function.AddValue(result)};
    fused.regions = {region};
    group = function.AddNode(std::move(fused));
  }

 private:
  ir::ValueId Constant(ir::TensorData tensor) {
    ir::Node node;
    node.op = &ir::GetCoreOp("constant");
    node.outputs = {
        function.AddValue(ir::Type::Tensor(tensor.dtype, ir::Dims(tensor.dims.begin(), tensor.dims.end())))};
    node.attributes["data"] = std::make_shared<const ir::TensorData>(std::move(tensor));
    return function.node(function.AddNode(node)).outputs[0];
  }
  ir::NodeId Add(std::string_view op, std::vector<ir::ValueId> inputs,
                 std::map<std::string, ir::Attribute> attributes) {
    ir::Node node;
    node.op = &ir::GetCoreOp(op);
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    ir::InferContext context{node, {}};
    for (ir::ValueId input : node.inputs) context.inputs.push_back(function.type(input));
    node.outputs = {function.AddValue(node.op->infer(context).value()[0])};
    return function.AddNode(std::move(node));
  }
};

// The layer's kernels, loaded and bound to memory of their own.
class BoundLayer {
 public:
  BoundLayer(const Layer& layer, CpuLevel level, const Symbols& symbols)
      : program_(tensor::ScheduleGroup(layer.function, layer.group, TargetInfoFor(level)).value()) {
    std::vector<codegen::KernelSource> sources;
    for (const tensor::KernelCall& call : program_.calls)
      sources.push_back(
          {"k" + std::to_string(sources.size()), &call.kernel, tensor::LaunchScalars(call.kernel)});
    library_ = codegen::GenerateCpuLibrary(sources, {.target = TargetInfoFor(level)}).value();
    loaded_ = std::move(LoadedKernels::Load(library_).value());
    const tensor::GroupConstants constants = tensor::ConstantsOf(layer.function, layer.group);
    for (const auto& pack : program_.packed) packed_.push_back(pack(constants));
    input_ = Random(ValueOf(ir::Product(layer.data.dims), symbols));
    output_.resize(static_cast<size_t>(ValueOf(ir::Product(layer.result.dims), symbols)));
    for (size_t i = 0; i < sources.size(); ++i) Bind(program_.calls[i], sources[i], symbols);
  }

  void Run() {
    for (Launch& launch : launches_) {
      KernelPoll poll{INT64_MAX, nullptr, nullptr};
      KernelArgs arguments{launch.buffers.data(), launch.scalars.data(), launch.scratch.data(), &poll};
      benchmark::DoNotOptimize(launch.function(&arguments, 0, launch.points));
    }
  }

 private:
  struct Launch {
    KernelFunction function = nullptr;
    std::vector<void*> buffers;
    std::vector<int64_t> scalars;
    struct alignas(64) Line {
      std::byte bytes[64];
    };
    std::vector<Line> scratch;
    int64_t points = 1;
  };

  void Bind(const tensor::KernelCall& call, const codegen::KernelSource& source, const Symbols& symbols) {
    if (ValueOf(call.when, symbols) == 0) return;
    Launch launch;
    launch.function = loaded_->Find(source.symbol);
    for (const tensor::KernelArgument& argument : call.arguments) {
      bool is_packed = argument.kind == tensor::ArgumentKind::kPacked,
           is_output = argument.kind == tensor::ArgumentKind::kOutput;
      const void* buffer = is_packed   ? static_cast<const void*>(packed_[argument.index].bytes.data())
                           : is_output ? output_.data()
                                       : input_.data();
      launch.buffers.push_back(const_cast<void*>(buffer));
    }
    for (const ir::Dim& dim : source.scalars) launch.scalars.push_back(ValueOf(dim, symbols));
    for (const ir::Dim& size : call.kernel.grid_size) launch.points *= ValueOf(size, symbols);
    launch.scratch.resize(static_cast<size_t>(ValueOf(call.kernel.scratch_bytes, symbols)) / 64 + 1);
    launches_.push_back(std::move(launch));
  }

  tensor::GroupProgram program_;
  std::vector<std::byte> library_;
  std::unique_ptr<LoadedKernels> loaded_;
  std::vector<ir::TensorData> packed_;
  std::vector<float> input_, output_;
  std::vector<Launch> launches_;
};

void Measure(benchmark::State& state, const Layer& layer, CpuLevel level, const Symbols& symbols,
             double flops) {
  BoundLayer bound(layer, level, symbols);
  for (auto _ : state) bound.Run();
  state.counters["GFLOP/s"] = benchmark::Counter(flops / 1e9, benchmark::Counter::kIsIterationInvariantRate);
}

void Gemm(benchmark::State& state, CpuLevel level, int64_t rows, int64_t depth, int64_t columns) {
  Layer layer(
      "contract", {ir::Dim::Symbol("m"), depth}, {depth, columns},
      {{"lhs_batch", Ints{}}, {"rhs_batch", Ints{}}, {"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}});
  Measure(state, layer, level, {{"m", rows}}, 2.0 * static_cast<double>(rows * depth * columns));
}

struct ConvolutionLayer {
  int64_t size, channels, outputs, kernel, stride, groups;
};

void Convolution(benchmark::State& state, CpuLevel level, const ConvolutionLayer& c) {
  ir::Dim pad = c.kernel / 2;
  Layer layer("conv", {ir::Dim::Symbol("n"), ir::Dim::Symbol("h"), ir::Dim::Symbol("w"), c.channels},
              {c.outputs, c.channels / c.groups, c.kernel, c.kernel},
              {{"strides", Ints{c.stride, c.stride}},
               {"dilations", Ints{1, 1}},
               {"low", ir::Dims{pad, pad}},
               {"high", ir::Dims{pad, pad}},
               {"groups", c.groups},
               {"layout", std::string("channels_last")}});
  int64_t side = (c.size + 2 * (c.kernel / 2) - c.kernel) / c.stride + 1;
  int64_t products = side * side * c.outputs * (c.channels / c.groups) * c.kernel * c.kernel;
  Measure(state, layer, level, {{"n", 1}, {"h", c.size}, {"w", c.size}}, 2.0 * static_cast<double>(products));
}

// Independent multiply-adds in registers: as loop IR, so that it needs no intrinsics here.
void Peak(benchmark::State& state, CpuLevel level) {
  using namespace tensor;
  constexpr int kSums = 12;
  constexpr int64_t kSteps = 100000;
  int lanes = TargetInfoFor(level).vector_bits / 32;
  LoopKernel kernel;
  kernel.name = "peak";
  uint32_t out = kernel.AddArgument("out", DType::kF32, Access::kReadWrite);
  uint32_t sums = kernel.AddLocal("sums", DType::kF32, Memory::kRegisters, kSums * lanes);
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  auto at = [&](int i) { return Ramp(IntConstant(i * lanes), IntConstant(1), lanes); };
  Expr factor = Load(out, DType::kF32, Ramp(IntConstant(0), IntConstant(1), lanes));
  std::vector<StmtPtr> body{Allocate(sums)}, step;
  for (int i = 0; i < kSums; ++i) {
    body.push_back(Store(sums, at(i), factor));
    step.push_back(Store(sums, at(i), Fma(Load(sums, DType::kF32, at(i)), factor, factor)));
  }
  body.push_back(For(kernel.NewVariable("k"), IntConstant(0), IntConstant(kSteps), Block(std::move(step))));
  for (int i = 0; i < kSums; ++i) body.push_back(Store(out, at(i), Load(sums, DType::kF32, at(i))));
  kernel.body = Block(std::move(body));
  codegen::KernelSource source{"peak", &kernel, {}};
  std::vector<std::byte> library =
      codegen::GenerateCpuLibrary({&source, 1}, {.target = TargetInfoFor(level)}).value();
  std::unique_ptr<LoadedKernels> loaded = std::move(LoadedKernels::Load(library).value());
  std::vector<float> numbers(static_cast<size_t>(kSums * lanes), 0.5f);
  void* buffer = numbers.data();
  KernelPoll poll{INT64_MAX, nullptr, nullptr};
  KernelArgs arguments{&buffer, nullptr, nullptr, &poll};
  for (auto _ : state) benchmark::DoNotOptimize(loaded->Find("peak")(&arguments, 0, 1));
  state.counters["GFLOP/s"] =
      benchmark::Counter(2.0 * kSums * lanes * kSteps / 1e9, benchmark::Counter::kIsIterationInvariantRate);
}

void Register(CpuLevel level) {
  std::string suffix = std::string("/") + CpuLevelName(level);
  benchmark::RegisterBenchmark(("Peak" + suffix).c_str(), [=](benchmark::State& s) { Peak(s, level); });
  for (int64_t rows : {1, 2, 5, 17, 64, 100, 384}) {
    std::string name = "Gemm/m" + std::to_string(rows) + "_k768_n3072" + suffix;
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& s) { Gemm(s, level, rows, 768, 3072); });
  }
  const ConvolutionLayer kLayers[] = {
      {224, 3, 64, 7, 2, 1},     {56, 64, 64, 1, 1, 1},    {56, 64, 64, 3, 1, 1},   {56, 64, 256, 1, 1, 1},
      {56, 256, 512, 1, 2, 1},   {28, 128, 128, 3, 1, 1},  {14, 256, 256, 3, 1, 1}, {14, 1024, 256, 1, 1, 1},
      {7, 512, 512, 3, 1, 1},    {7, 512, 2048, 1, 1, 1},  {112, 32, 32, 3, 1, 32}, {112, 96, 96, 3, 2, 96},
      {14, 576, 576, 3, 1, 576}, {7, 960, 960, 3, 1, 960}, {112, 32, 16, 1, 1, 1},  {56, 24, 144, 1, 1, 1},
      {14, 384, 64, 1, 1, 1}};
  for (const ConvolutionLayer& c : kLayers) {
    std::string name = "Convolution/" + std::to_string(c.size) + "x" + std::to_string(c.size) + "_c" +
                       std::to_string(c.channels) + "_o" + std::to_string(c.outputs) + "_k" +
                       std::to_string(c.kernel) + "_s" + std::to_string(c.stride) + "_g" +
                       std::to_string(c.groups) + suffix;
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& s) { Convolution(s, level, c); });
  }
}

}  // namespace
}  // namespace tvmvm

int main(int argc, char** argv) {
  tvmvm::Register(tvmvm::CpuLevel::kX86_64_V3);
  if (tvmvm::codegen::HostTarget().vector_bits == 512) tvmvm::Register(tvmvm::CpuLevel::kX86_64_V4);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
