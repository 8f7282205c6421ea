#include "tests/fuzz/run_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <string>

#include "bytecode/kernel_abi.h"
#include "devices/null/null_device.h"
#include "tvm-vm/forecast.h"
#include "tvm-vm/vm.h"

namespace tvmvm::fuzz {
namespace {

// Kernels that touch nothing: what strangers' code hands to real ones is nobody's promise (docs/trust.md).
class IdleJit final : public KernelJit {
 public:
  Expected<Compiled> Compile(std::span<const std::byte>, std::span<const std::string> symbols) override {
    KernelFunction idle = [](const KernelArgs*, int64_t, int64_t) -> int32_t { return 0; };
    KernelFunction failing = [](const KernelArgs*, int64_t begin, int64_t) -> int32_t {
      return begin == 0 ? 0 : 1 + static_cast<int32_t>(begin % 4);
    };
    Compiled compiled;
    for (const std::string& symbol : symbols) compiled.functions.push_back(symbol == "k2" ? failing : idle);
    return compiled;
  }
};

// Values for a signature, whose symbols stand for one number each.
class InputMaker {
 public:
  explicit InputMaker(Choices& choices) : choices_(choices) {}

  Value Make(const TypeSpec& type, int depth = 0) {
    if (choices_.OneIn(40)) return {};
    std::vector<Value> elements;
    switch (type.kind) {
      case ValueKind::kTensor:
        return MakeTensor(type);
      case ValueKind::kOptional:
        return type.elements.empty() || depth > 4 || choices_.OneIn(2) ? Value()
                                                                       : Make(type.elements[0], depth + 1);
      case ValueKind::kSequence:
        for (uint32_t left = depth > 4 || type.elements.empty() ? 0 : choices_.Below(4); left > 0; --left)
          elements.push_back(Make(type.elements[0], depth + 1));
        return Value::Sequence(std::move(elements));
      case ValueKind::kTuple:
        for (size_t i = 0; i < std::min<size_t>(type.elements.size(), depth > 4 ? 0 : 4); ++i)
          elements.push_back(Make(type.elements[i], depth + 1));
        return Value::Tuple(choices_.Below(3), std::move(elements));
    }
    return {};
  }

 private:
  int64_t Size(const DimSpec& dim) {
    if (dim.value >= 0) return dim.value > 64 ? 3 : dim.value;  // what is that large is refused
    if (dim.symbol.empty()) return choices_.Below(5);
    if (dim.symbol == "n*2+m") return 2 * SizeOf("n") + SizeOf("m");
    return SizeOf(dim.symbol);
  }
  int64_t SizeOf(const std::string& symbol) {
    return sizes_.try_emplace(symbol, 1 + choices_.Below(4)).first->second;
  }

  Value MakeTensor(const TypeSpec& type) {
    std::vector<int64_t> dims(type.has_rank ? type.dims.size() : choices_.Below(3));
    int64_t count = 1;
    for (size_t i = 0; i < dims.size(); ++i) {
      dims[i] = type.has_rank ? Size(type.dims[i]) : choices_.Below(4);
      if (count * dims[i] > 4096) dims[i] = 1;
      count *= dims[i];
    }
    if (type.dtype == DType::kString) {
      std::vector<std::string> texts(static_cast<size_t>(count));
      for (std::string& text : texts) text.assign(choices_.Below(4), choices_.OneIn(2) ? 'a' : '7');
      return Tensor::FromStrings(Shape(dims), std::move(texts));
    }
    auto tensor = Tensor::Allocate(type.dtype, Shape(dims));
    if (!tensor) return {};
    auto* bytes = static_cast<uint8_t*>(tensor->data());
    const uint32_t step = choices_.Below(3);
    for (int64_t i = 0; i < tensor->byte_count(); ++i)
      bytes[i] = i % 8 == 0 ? static_cast<uint8_t>(i / 8 * step) : 0;
    return *tensor;
  }

  Choices& choices_;
  std::map<std::string, int64_t> sizes_;
};

Status Breach(std::string what) { return MakeError(Code::kInternal, std::move(what)); }

bool HasType(const Value& value, const TypeSpec& type) {
  const auto all = [&](auto type_of) {
    for (size_t i = 0; i < value.elements().size(); ++i)
      if (const TypeSpec* wanted = type_of(i); wanted != nullptr && !HasType(value.elements()[i], *wanted))
        return false;
    return true;
  };
  const TypeSpec* first = type.elements.empty() ? nullptr : type.elements.data();
  switch (type.kind) {
    case ValueKind::kTensor:
      return value.is_tensor() && value.tensor().dtype() == type.dtype;
    case ValueKind::kOptional:
      return value.is_none() || first == nullptr || HasType(value, *first);
    case ValueKind::kSequence:
      return value.is_sequence() && all([&](size_t) { return first; });
    case ValueKind::kTuple:
      return value.is_tuple() && (first == nullptr || (value.elements().size() == type.elements.size() &&
                                                       all([&](size_t i) { return &type.elements[i]; })));
  }
  return false;
}

// What holds after every run.
Status CheckRun(const Program& program, const Invocation& invocation, const Status& status,
                std::span<const Value> outputs) {
  if (invocation.held_bytes() > kMostBytes)
    return Breach(fmt::format("{} bytes held, at most {} allowed", invocation.held_bytes(), kMostBytes));
  if (!status) return status.error().message.empty() ? Breach("an error without a message") : Status();
  for (size_t k = 0; k < outputs.size(); ++k)
    if (!HasType(outputs[k], program.main().outputs[k].type))
      return Breach(fmt::format("output {} is of another type", k));
  return {};
}

// What a run will hold is told, or why it is not.
Status CheckForecast(const Vm& vm) {
  std::map<std::string, DimRange> dims;
  for (const std::string& dim : ForecastDims(vm.program())) dims[dim] = {0, 4};
  const auto forecast = vm.Plan(dims);
  if (forecast || (!forecast.error().message.empty() && forecast.error().code != Code::kInternal)) return {};
  return Breach("no proper error of a forecast: " + forecast.error().message);
}

// A new value for some outputs, an input's memory for one that may be donated, what there was for others.
void ChangeOutputs(const Vm& vm, std::span<const Value> inputs, std::span<Value> outputs, Choices& choices) {
  for (Value& output : outputs)
    if (choices.OneIn(2)) output = {};
  for (const Donation& donation : vm.Donations())
    if (choices.OneIn(2)) outputs[donation.output] = inputs[donation.input];
}

}  // namespace

Limits RunLimits() {
  Limits limits;
  limits.max_bytes = kMostBytes;
  limits.max_steps = 20'000;
  limits.timeout = std::chrono::seconds(1);  // which a launch of 10^18 points takes in full
  limits.max_call_depth = 100;
  return limits;
}

Status RunUnderLimits(std::shared_ptr<const Program> program, Choices& choices, bool with_devices) {
  VmOptions options;
  options.threads = 1;
  options.jit = std::make_shared<IdleJit>();
  if (with_devices)
    for (uint32_t i = choices.Below(3); i > 0; --i)
      options.devices.push_back(CreateNullDevice({.max_bytes = kMostBytes}));
  TVMVM_TRY(std::shared_ptr<Vm> vm, Vm::Create(program, options));
  Invocation invocation = vm->NewInvocation();
  TVMVM_CHECK_OK(invocation.SetLimits(RunLimits()));
  size_t traced = 0;
  if (choices.OneIn(2))
    TVMVM_CHECK_OK(invocation.SetTraceObserver([&](std::string_view line) { traced += line.size(); }));

  const FunctionSpec& main = program->main();
  std::vector<Value> inputs(main.inputs.size()), outputs(main.outputs.size());
  TVMVM_CHECK_OK(CheckForecast(*vm));
  Status status;
  for (uint32_t run = 0; run < 3; ++run) {
    if (run != 1) {  // the second run sees what the first one saw
      InputMaker maker(choices);
      for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = maker.Make(main.inputs[i].type);
    }
    if (run > 0) ChangeOutputs(*vm, inputs, outputs, choices);
    status = invocation.Run(inputs, outputs);
    TVMVM_CHECK_OK(CheckRun(*program, invocation, status, outputs));
  }
  return status;
}

}  // namespace tvmvm::fuzz
