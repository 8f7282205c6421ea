// Random nests of branches and loops over random pure bodies: the program, with the optional passes and
// without, gives what the plain evaluator of the graph IR gives. Numbers are small integers in f32, so that
// every order of computing gives the same bits. With values that share memory and without, with an input's
// memory donated and not; no two values that are alive at once lie in the same bytes, and a run holds what
// was planned. TVMVM_NESTS sets how many nests are tried, TVMVM_FIRST_NEST from which on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <utility>

#include "bytecode/encoding.h"
#include "compiler/graph/control.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/printer.h"
#include "compiler/graph/storage.h"
#include "compiler/graph/verifier.h"
#include "compiler/lowering/lower_module.h"
#include "compiler/memory/join_in_place.h"
#include "compiler/onnx/ops/onnx_control.h"
#include "compiler/pipeline.h"
#include "tvm-vm/forecast.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using ir::Dim;
using ir::Dims;
using ir::ValueId;

constexpr int kMostDepth = 3;
constexpr int kMostJoins = 6;  // sizes stay small

class NestBuilder {
 public:
  explicit NestBuilder(uint32_t seed)
      : random_(seed),
        module_(NewModule()),
        b_(&module_, &module_.main(), module_.main().body),
        context_(b_) {
    context_.carried_types = &carried_types_;
    context_.checkpoint = [] { return [] {}; };
  }

  ir::Module Build() {
    module_.symbols[ir::SymbolId("n")] = {.range = {1, 64}, .scope = ir::SymbolScope::kInput};
    Dim n = Dim::Symbol("n");
    for (const Dims& dims : {Dims{n, 4}, Dims{4}, Dims{}}) {
      ValueId input = module_.main().AddValue(ir::Type::Tensor(DType::kF32, dims), "x");
      module_.main().region(module_.main().body).parameters.push_back(input);
      module_.main().input_names.push_back(fmt::format("x{}", module_.main().input_names.size()));
      pool_.push_back(input);
    }
    Statements(3 + Pick(3), 0);
    for (size_t i = 0; i < 3 && i < pool_.size(); ++i) {
      module_.main().region(module_.main().body).results.push_back(pool_[pool_.size() - 1 - i]);
      module_.main().output_names.push_back(fmt::format("y{}", i));
    }
    auto error = b_.TakeError();
    EXPECT_FALSE(error) << (error ? error->message : "");
    return std::move(module_);
  }

 private:
  static ir::Module NewModule() {
    ir::Module module;
    ir::Function& main = module.functions.emplace_back();
    main.name = "main";
    main.body = main.AddRegion();
    return module;
  }

  int Pick(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  ValueId Any() { return pool_[static_cast<size_t>(Pick(static_cast<int>(pool_.size())))]; }
  ValueId Number(int value) { return b_.Scalar(DType::kF32, value); }
  // Products stay small.
  ValueId Bounded(ValueId a) { return b_.Max(b_.Min(a, Number(50)), Number(-50)); }

  static bool Broadcasts(const Dims& a, const Dims& b) {
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
      const Dim &x = a[a.size() - 1 - i], &y = b[b.size() - 1 - i];
      if (!(x == y) && !x.IsConstant(1) && !y.IsConstant(1)) return false;
    }
    return true;
  }

  ValueId Operation() {
    ValueId a = Any(), b = Any();
    const Dims dims = b_.dims(a);
    switch (Pick(7)) {
      case 0:
        return b_.Unary(tensor::ExprOp::kNegate, a);
      case 1:
        return b_.Max(a, Number(Pick(9) - 4));
      case 2:
        if (!dims.empty())
          return Bounded(b_.Reduce(Pick(2) ? tensor::ReduceKind::kSum : tensor::ReduceKind::kMax, a, {0}));
        break;
      case 3:
        if (dims.size() == 2 && dims[0] == Dim::Symbol("n")) {  // never empty
          Dim last = dims[0] - 1;
          Dim row = index_.empty() ? Dim(0) : Min(Dim::Symbol(index_.back()), last);
          return b_.SliceAxis(a, 0, Max(row, 0), 1);
        }
        break;
      case 4:
        if (dims.size() == 2 && dims[1].IsConstant(4)) {
          std::vector<float> weights(16);
          for (float& weight : weights) weight = static_cast<float>(Pick(3) - 1);
          return Bounded(b_.MatMul(a, b_.Constant(ir::TensorData::FromVector(DType::kF32, {4, 4}, weights))));
        }
        break;
      case 5:
        if (const Dims other = b_.dims(b);
            dims.size() == 2 && other.size() == 2 && dims[1] == other[1] && joins_ < kMostJoins)
          return Joined(a, b);
        break;
      default:
        break;
    }
    if (!Broadcasts(dims, b_.dims(b))) return b_.Add(a, Number(1));
    return Pick(2) ? Bounded(b_.Add(a, b)) : Bounded(b_.Mul(a, b));
  }

  // Rows made by kernels of their own one behind the other, or some of these.
  ValueId Joined(ValueId a, ValueId b) {
    ++joins_;
    const Dim rows = b_.dims(a)[0], others = b_.dims(b)[0];
    ValueId first = b_.Add(a, Number(Pick(3))), second = b_.Max(b, Number(Pick(3)));
    if (Pick(3) == 0) pool_.push_back(first);
    ValueId joined = b_.Concat({first, second}, 0);
    return Pick(2) ? joined : b_.SliceAxis(joined, 0, others, rows);
  }

  // A number in [0, most) that depends on data, on a loop's index, or on a size.
  Dim Integer(int most) {
    int choice = Pick(4);
    if (choice == 0) return Pick(most);
    if (choice == 1 && !index_.empty()) return FloorMod(Dim::Symbol(index_.back()), most);
    if (choice == 2) return FloorMod(Dim::Symbol("n"), most);
    ValueId value = Any();
    std::vector<int64_t> axes;
    for (int axis = 0; axis < b_.rank(value); ++axis) axes.push_back(axis);
    if (!axes.empty()) value = b_.Reshape(b_.Reduce(tensor::ReduceKind::kMax, value, axes), {});
    ValueId bounded = b_.Max(b_.Min(value, Number(most - 1)), Number(0));
    return b_.ReadDims(b_.Cast(bounded, DType::kI64))[0];
  }

  void Statements(int count, int depth) {
    for (int i = 0; i < count && !b_.failed(); ++i) {
      int choice = depth < kMostDepth ? Pick(6) : 5;
      if (choice == 0)
        Branch(depth);
      else if (choice == 1)
        Loop(depth);
      else
        pool_.push_back(Operation());
    }
  }

  // Values of the pool from before stay usable after.
  std::vector<ValueId> Scoped(int count, int depth, const std::function<std::vector<ValueId>()>& results) {
    std::vector<ValueId> before = pool_;
    Statements(count, depth + 1);
    std::vector<ValueId> values = results();
    pool_ = std::move(before);
    return values;
  }

  void Branch(int depth) {
    ValueId like = Any();
    ValueId other = Any();
    Dim condition = Integer(2);
    auto branch = [&]() -> Expected<std::vector<ValueId>> {
      return Scoped(1 + Pick(3), depth, [&] {
        return std::vector{Like(b_.type(like)), Like(b_.type(other))};
      });
    };
    for (ValueId result : ir::BuildIf(b_, condition, branch, branch)) pool_.push_back(result);
  }

  // A value of this type from the pool, the newest that fits.
  ValueId Like(const ir::Type& type) {
    for (size_t i = pool_.size(); i-- > 0;)
      if (b_.type(pool_[i]) == type && Pick(4) != 0) return pool_[i];
    for (ValueId value : pool_)
      if (b_.type(value) == type) return value;
    return pool_[0];
  }

  void Loop(int depth) {
    ir::LoopSpec spec;
    spec.trip = Integer(5);
    spec.start = Pick(4) == 0 ? Integer(2) : Dim(1);
    spec.tests = Pick(2) == 0;
    int carried_count = Pick(3), collected_count = Pick(2);
    for (int i = 0; i < carried_count; ++i) spec.initial.push_back(Any());
    bool counts = Pick(3) == 0;
    if (counts) spec.initial.push_back(b_.ScalarInt(DType::kI64, Pick(3)));
    ValueId collected_like = pool_[static_cast<size_t>(Pick(3))];  // an input: its dims are known outside
    uint64_t body_seed = random_();
    auto key = std::make_shared<int>();
    keys_.push_back(key);
    spec.key = key.get();
    spec.body = [&](const Dim& index, const std::vector<ValueId>& carried) -> Expected<std::vector<ValueId>> {
      // The body may be built more than once: each time the same.
      std::mt19937 outer = random_;
      random_.seed(static_cast<uint32_t>(body_seed));
      std::vector<ValueId> before = pool_;
      index_.push_back(index.symbol());
      for (int i = 0; i < carried_count; ++i) pool_.push_back(carried[static_cast<size_t>(i)]);
      Statements(1 + Pick(3), depth + 1);
      std::vector<ValueId> results;
      if (spec.tests) results.push_back(b_.Reshape(b_.DimScalar(Integer(2), DType::kBool), {}));
      for (int i = 0; i < carried_count; ++i)
        results.push_back(Like(b_.type(spec.initial[static_cast<size_t>(i)])));
      if (counts) {
        ValueId counter = carried[static_cast<size_t>(carried_count)];
        results.push_back(b_.Add(counter, b_.ScalarInt(DType::kI64, 2)));
      }
      for (int i = 0; i < collected_count; ++i) results.push_back(Like(b_.type(collected_like)));
      index_.pop_back();
      pool_ = std::move(before);
      random_ = outer;
      return results;
    };
    std::vector<ValueId> results = ir::BuildLoop(context_, spec);
    for (size_t i = 0; i < results.size() && !b_.failed(); ++i) {
      if (b_.dtype(results[i]) == DType::kI64)
        pool_.push_back(Bounded(b_.Cast(results[i], DType::kF32)));
      else
        pool_.push_back(results[i]);
    }
  }

  std::mt19937 random_;
  ir::Module module_;
  ir::OpBuilder b_;
  ir::OnnxContext context_;
  std::map<const void*, std::vector<ir::Type>> carried_types_;
  std::vector<std::shared_ptr<int>> keys_;
  std::vector<ValueId> pool_;
  std::vector<ir::SymbolId> index_;  // of the loops around
  int joins_ = 0;
};

// How a nest is compiled.
struct Form {
  bool optimise = true;
  bool shares = true;   // memory
  int donated_to = -1;  // the output in the memory of input 0
  std::string ToString() const {
    return fmt::format("optimise {}, share {}, donate to {}", optimise, shares, donated_to);
  }
};

Expected<std::shared_ptr<const Program>> Lower(ir::Module module, const Form& form, int* joins) {
  lowering::LoweringOptions options;
  options.targets = {TargetInfoFor(CpuLevel::kX86_64_V3)};
  options.share_memory = form.shares;
  if (form.donated_to >= 0)
    options.donate = {
        {module.main().input_names[0], module.main().output_names[static_cast<size_t>(form.donated_to)]}};
  bool is_donated = options.donate.empty();
  for (const passes::Pass& pass : PassPipeline()) {
    if (pass.stage != passes::PassStage::kModel && !std::exchange(is_donated, true))
      TVMVM_CHECK_OK(passes::DonateInputs(module, {.targets = options.targets, .donate = options.donate}));
    if (pass.optional && !form.optimise) continue;
    TVMVM_CHECK_OK(pass.run(module, {.targets = options.targets, .donate = options.donate}));
    if (Status status = ir::VerifyModule(module); !status)
      return MakeError(Code::kInternal, fmt::format("after {}: {}", pass.name, status.error().message));
  }
  ir::CompileCounters counters;
  tensor::ScheduleCache schedules(&counters);
  if (form.optimise) memory::JoinInPlace(options, &schedules, &module);
  if (Status status = ir::VerifyModule(module); !status)
    return MakeError(Code::kInternal, fmt::format("after joins: {}", status.error().message));
  for (ir::RegionId region : ir::RunningRegions(module.main()))
    for (ir::NodeId node : module.main().region(region).nodes)
      *joins += lowering::IsJoin(module.main().node(node)) ? 1 : 0;
  return lowering::LowerModule(module, options, &schedules);
}

Expected<std::vector<Tensor>> RunProgram(const std::shared_ptr<const Program>& program,
                                         const std::vector<ir::TensorData>& data, const Form& form,
                                         int64_t* peak) {
  TVMVM_TRY(std::shared_ptr<Vm> vm, Vm::Create(program, {.threads = 1}));
  Invocation invocation = vm->NewInvocation();
  std::vector<Tensor> inputs, outputs(program->main().outputs.size());
  for (const ir::TensorData& tensor : data) {
    TVMVM_TRY(Tensor input, Tensor::Allocate(tensor.dtype, Shape(tensor.dims)));
    std::memcpy(input.data(), tensor.bytes.data(), tensor.bytes.size());
    inputs.push_back(std::move(input));
  }
  if (form.donated_to >= 0) outputs[static_cast<size_t>(form.donated_to)] = inputs[0];
  TVMVM_CHECK_OK(invocation.Run(inputs, outputs));
  *peak = invocation.peak_bytes();
  return outputs;
}

// Values of one arena, of whatever stages, that are alive at one time and lie in the same bytes.
std::string OverlapsIn(const MemoryForecast& forecast) {
  const std::vector<ForecastValue>& values = forecast.values;
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t k = i + 1; k < values.size(); ++k) {
      const ForecastValue &a = values[i], &b = values[k];
      if (a.stage < 0 || a.stage != b.stage || a.offset < 0 || b.offset < 0) continue;
      const bool together = a.first <= b.last && b.first <= a.last;
      const bool overlap = a.offset < b.offset + b.bytes.high && b.offset < a.offset + a.bytes.high;
      if (together && overlap && a.bytes.high > 0 && b.bytes.high > 0)
        return fmt::format("{} and {} lie at {} and {}", a.node, b.node, a.offset, b.offset);
    }
  return "";
}

bool UsesEarlierMemory(const Program& program) {
  bool uses = false;
  for (const FunctionSpec& function : program.functions)
    ForEachInstruction(function.code, [&](const DecodedInstruction& instruction) {
      uses |= instruction.info->opcode == Opcode::kSlotsAmong;
    });
  return uses;
}

std::vector<ir::TensorData> MakeInputs(std::mt19937* random, int64_t n) {
  std::vector<ir::TensorData> inputs;
  for (std::vector<int64_t> dims : {std::vector<int64_t>{n, 4}, {4}, {}}) {
    int64_t count = 1;
    for (int64_t dim : dims) count *= dim;
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = static_cast<float>(static_cast<int>((*random)() % 9) - 4);
    inputs.push_back(ir::TensorData::FromVector(DType::kF32, dims, values));
  }
  return inputs;
}

// The forms in which a nest is tried: the slower ones of some.
std::vector<Form> FormsOf(const ir::Module& module, uint32_t seed) {
  std::vector<Form> forms{{.optimise = false}, {.optimise = true}};
  if (seed % 4 == 0) forms.push_back({.optimise = true, .shares = false});
  const ir::Function& main = module.main();
  const ir::Region& body = main.region(main.body);
  for (size_t i = 0; i < body.results.size() && seed % 2 == 1; ++i) {
    if (!(main.type(body.results[i]) == main.type(body.parameters[0]))) continue;
    forms.push_back({.optimise = true, .donated_to = static_cast<int>(i)});
    break;
  }
  return forms;
}

// "" where the program gives what is wanted of the inputs.
std::string TryRun(const std::shared_ptr<const Program>& program, const Form& form, int64_t n,
                   const std::vector<ir::TensorData>& inputs, const std::vector<ir::TensorData>& wanted) {
  const auto forecast = ForecastMemory(*program, {{"n", {n, n}}});  // where it can be foretold
  if (forecast)
    if (std::string overlap = OverlapsIn(*forecast); !overlap.empty()) return overlap;
  int64_t peak = 0;
  auto found = RunProgram(program, inputs, form, &peak);
  if (!found) return found.error().message;
  if (forecast && form.donated_to < 0 &&
      (peak < forecast->peak_bytes.low || peak > forecast->peak_bytes.high))
    return fmt::format("{} bytes are held at n = {}, {} to {} were planned", peak, n,
                       forecast->peak_bytes.low, forecast->peak_bytes.high);
  for (size_t i = 0; i < wanted.size(); ++i) {
    size_t count = wanted[i].bytes.size() / sizeof(float);
    auto floats = [count](const void* data) { return std::span(static_cast<const float*>(data), count); };
    // Zero has two signs; a NaN is the same NaN.
    auto same_number = [](float a, float b) {
      return a == b || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
    };
    bool same = (*found)[i].shape() == Shape(wanted[i].dims) &&
                std::ranges::equal(floats((*found)[i].data()), floats(wanted[i].bytes.data()), same_number);
    if (!same) return fmt::format("output {} differs at n = {}", i, n);
  }
  return "";
}

// "" where all agree. `among`: how many programs had stages in memory of earlier ones; `joins`: concats that
// were made in place.
std::string TryNest(uint32_t seed, int* among, int* joins) {
  ir::Module module = NestBuilder(seed).Build();
  std::string text = fmt::format("seed {}\n{}", seed, ir::PrintModule(module));
  if (Status status = ir::VerifyModule(module); !status) return status.error().message + "\n" + text;
  for (const Form& form : FormsOf(module, seed)) {
    auto program = Lower(module, form, joins);
    // What something keeps cannot be donated.
    if (!program && form.donated_to >= 0 && program.error().code == Code::kUnsupported) continue;
    if (!program) return fmt::format("{}: {}\n{}", form.ToString(), program.error().message, text);
    *among += UsesEarlierMemory(**program) ? 1 : 0;
    std::mt19937 random(seed);
    for (int64_t n : {int64_t{1}, int64_t{2}, int64_t{5}, 1 + static_cast<int64_t>(random() % 64)}) {
      std::vector<ir::TensorData> inputs = MakeInputs(&random, n);
      auto wanted = ir::EvaluateFunction(module.main(), inputs);
      if (!wanted) return fmt::format("evaluator: {}\n{}", wanted.error().message, text);
      if (std::string problem = TryRun(*program, form, n, inputs, *wanted); !problem.empty())
        return fmt::format("{}: {}\n{}", form.ToString(), problem, text);
    }
  }
  return "";
}

TEST(ControlProperty, RandomNestsGiveWhatTheEvaluatorGives) {
  const char* wanted = std::getenv("TVMVM_NESTS");
  const int nests = wanted != nullptr ? std::atoi(wanted) : 250;
  const char* first = std::getenv("TVMVM_FIRST_NEST");
  const int begin = first != nullptr ? std::atoi(first) : 1;
  int among = 0, joins = 0;
  for (int seed = begin; seed < begin + nests; ++seed) {
    std::string problem = TryNest(static_cast<uint32_t>(seed), &among, &joins);
    ASSERT_EQ(problem, "");
  }
  EXPECT_GE(among, nests / 50);
  EXPECT_GE(joins, nests / 50);
}

}  // namespace
}  // namespace tvmvm
