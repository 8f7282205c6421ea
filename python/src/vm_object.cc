#include "vm_object.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <utility>

#include "compiler_library.h"
#include "element_types.h"
#include "errors.h"
#include "tvm-vm/profiler.h"
#include "values.h"

namespace nb = nanobind;

namespace tvmvm::python {
namespace {

std::string TextOf(nb::handle name) { return nb::cast<std::string>(nb::str(nb::handle(name))); }

std::shared_ptr<Vm> CreateVm(const ProgramPointer& program, const VmObjectOptions& given) {
  VmOptions options;
  options.threads = given.threads;
  options.allow_native = given.allow_native;
  options.trust = given.trust;
  options.trusted_keys = given.trusted_keys;
  options.signed_constants = given.signed_constants;
  options.devices = given.devices;
  options.memory = given.memory;
  if (const Compiler* compiler = OpenedCompiler()) options.jit = compiler->CreateJit();
  nb::gil_scoped_release unlocked;
  auto vm = Vm::Create(program.program, options);
  nb::gil_scoped_acquire lock;
  return OrRaise(std::move(vm));
}

bool IsTensor(const ParameterSpec& parameter) {
  return WithoutOptional(parameter.type).kind == ValueKind::kTensor;
}

// Errors of one argument say which it was.
template <class Body>
auto Naming(const char* what, nb::handle name, const Body& body) {
  try {
    return body();
  } catch (nb::python_error& error) {
    static const nb::handle ours = nb::object(nb::module_::import_("tvm_vm.errors").attr("Error")).release();
    const bool is_plain = error.type().ptr() == PyExc_TypeError || error.type().ptr() == PyExc_ValueError;
    if (!is_plain && PyErr_GivenExceptionMatches(error.type().ptr(), ours.ptr()) == 0) throw;
    const std::string message = std::string(what) + " '" + TextOf(name) + "': " + TextOf(error.value());
    nb::object type = nb::borrow(error.type());
    PyErr_SetString(type.ptr(), message.c_str());
    throw nb::python_error();
  }
}

}  // namespace

Names::Names(const std::vector<ParameterSpec>& parameters) {
  for (const ParameterSpec& parameter : parameters) {
    PyObject* name =
        PyUnicode_FromStringAndSize(parameter.name.data(), static_cast<Py_ssize_t>(parameter.name.size()));
    if (name == nullptr) throw nb::python_error();
    PyUnicode_InternInPlace(&name);
    index_.emplace(parameter.name, names_.size());
    names_.push_back(nb::steal(name));
  }
}

std::optional<size_t> Names::Find(nb::handle name) const {
  for (size_t i = 0; i < names_.size(); ++i)
    if (names_[i].is(name)) return i;
  if (!PyUnicode_Check(name.ptr())) return std::nullopt;
  const auto found = index_.find(nb::cast<std::string>(name));
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

std::string Names::Listing() const {
  std::string text;
  for (const nb::object& name : names_) text += (text.empty() ? "'" : ", '") + TextOf(name) + "'";
  return text.empty() ? "none" : text;
}

// A runner for one call; it goes back to the pool unless it was cancelled.
class VmObject::Lease {
 public:
  explicit Lease(VmObject& vm) : vm_(vm) {
    {
      std::lock_guard lock(vm.mutex_);
      if (!vm.idle_.empty()) {
        runner_ = std::move(vm.idle_.back());
        vm.idle_.pop_back();
        vm.busy_.push_back(runner_.get());
      }
    }
    if (!runner_) {
      runner_ = vm.NewRunner();
      std::lock_guard lock(vm.mutex_);
      vm.busy_.push_back(runner_.get());
    }
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    runner_->borrowings.Release();
    for (Tensor& tensor : runner_->inputs)
      if (tensor.owner() || tensor.shared_strings() || tensor.device()) tensor = Tensor();
    for (Tensor& tensor : runner_->outputs) tensor = Tensor();
    runner_->input_values.clear();
    runner_->output_values.clear();
    vm_.peak_bytes_ = std::max(vm_.peak_bytes_, runner_->invocation.peak_bytes());
    std::unique_ptr<Runner> dropped;
    std::lock_guard lock(vm_.mutex_);
    std::erase(vm_.busy_, runner_.get());
    if (runner_->was_cancelled())
      dropped = std::move(runner_);
    else
      vm_.idle_.push_back(std::move(runner_));
  }
  Runner& runner() { return *runner_; }

 private:
  VmObject& vm_;
  std::unique_ptr<Runner> runner_;
};

VmObject::VmObject(ProgramPointer program, const VmObjectOptions& options)
    : program_(std::move(program)),
      options_(options),
      vm_(CreateVm(program_, options)),
      inputs_(program_.program->main().inputs),
      outputs_(program_.program->main().outputs) {
  const FunctionSpec& main = program_.program->main();
  has_values_ = !std::ranges::all_of(main.inputs, IsTensor) || !std::ranges::all_of(main.outputs, IsTensor);
}

std::unique_ptr<Runner> VmObject::NewRunner() {
  auto runner = std::make_unique<Runner>(vm_->NewInvocation());
  OrRaise(runner->invocation.SetLimits(options_.limits));
  return runner;
}

void VmObject::RaiseUnknown(const char* what, nb::handle name, const Names& names) const {
  RaiseInvalid(std::string("the program has no ") + what + " '" + TextOf(name) +
               "'; there are: " + names.Listing());
}

void VmObject::TakeArguments(Runner& runner, nb::handle inputs) const {
  runner.arguments.assign(inputs_.size(), nullptr);
  if (inputs.is_none()) return;
  if (!PyDict_Check(inputs.ptr())) RaiseType("the inputs are a dict of names and arrays");
  for (auto [name, value] : nb::borrow<nb::dict>(inputs)) {
    const std::optional<size_t> index = inputs_.Find(name);
    if (!index) RaiseUnknown("input", name, inputs_);
    runner.arguments[*index] = value.ptr();
  }
}

void VmObject::TakeMemory(Runner& runner, nb::handle memory) const {
  runner.memory.assign(outputs_.size(), nullptr);
  if (memory.is_none()) return;
  if (!PyDict_Check(memory.ptr())) RaiseType("`out` is a dict of names and arrays");
  for (auto [name, value] : nb::borrow<nb::dict>(memory)) {
    const std::optional<size_t> index = outputs_.Find(name);
    if (!index) RaiseUnknown("output", name, outputs_);
    runner.memory[*index] = value.ptr();
  }
}

void VmObject::Convert(Runner& runner) const {
  const FunctionSpec& main = program_.program->main();
  runner.inputs.resize(inputs_.size());
  runner.outputs.resize(outputs_.size());
  if (has_values_) {
    runner.input_values.assign(inputs_.size(), {});
    runner.output_values.assign(outputs_.size(), {});
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const TypeSpec& type = main.inputs[i].type;
    const nb::handle object = runner.arguments[i];
    if (!object || object.is_none()) {
      if (type.kind != ValueKind::kOptional)
        RaiseInvalid("input '" + main.inputs[i].name +
                     (object ? "': None is no value of it" : "' is missing"));
      runner.inputs[i] = Tensor();
      continue;
    }
    Naming("input", inputs_[i], [&] {
      if (has_values_)
        runner.input_values[i] = InputValue(object, type, runner.borrowings);
      else
        runner.inputs[i] = InputTensor(object, WithoutOptional(type).dtype, runner.borrowings);
    });
  }
  for (size_t i = 0; i < runner.memory.size(); ++i)
    if (const nb::handle object = runner.memory[i])
      Naming("output", outputs_[i], [&] {
        Tensor tensor = OutputTensor(object, runner.borrowings);
        if (has_values_)
          runner.output_values[i] = std::move(tensor);
        else
          runner.outputs[i] = std::move(tensor);
      });
}

void VmObject::Execute(Runner& runner, std::optional<double> timeout, const CancelToken* cancel) {
  RunOptions options;
  if (cancel != nullptr) options.cancel = cancel->source.get_token();
  if (timeout) {
    const auto now = std::chrono::steady_clock::now();
    const double most = std::chrono::duration<double>(options.deadline - now).count();
    if (*timeout < most / 2)
      options.deadline = now + std::chrono::nanoseconds(static_cast<int64_t>(*timeout * 1e9));
  }
  const Status status = [&] {
    InterruptScope interrupt(runner);
    nb::gil_scoped_release unlocked;
    return has_values_ ? runner.invocation.Run(runner.input_values, runner.output_values, options)
                       : runner.invocation.Run(runner.inputs, runner.outputs, options);
  }();
  if (status) [[likely]]
    return;
  if (status.error().code == Code::kCancelled && PyErr_CheckSignals() != 0) throw nb::python_error();
  Raise(status.error());
}

nb::object VmObject::Result(Runner& runner, size_t index) const {
  if (index < runner.memory.size() && runner.memory[index]) return nb::borrow(runner.memory[index]);
  ResultKind kind = options_.results;
  if (kind == ResultKind::kAuto)
    kind = runner.borrowings.saw_torch ? ResultKind::kTorch
           : NumPy()                   ? ResultKind::kNumPy
                                       : ResultKind::kTensor;
  if (has_values_) return ObjectOf(std::move(runner.output_values[index]), kind);
  Tensor& tensor = runner.outputs[index];
  return tensor.empty_handle() ? nb::none() : ArrayOf(std::move(tensor), kind);
}

nb::object VmObject::Call(const nb::args& positional, const nb::kwargs& named) {
  Lease lease(*this);
  Runner& runner = lease.runner();
  TakeArguments(runner, nb::none());
  runner.memory.clear();
  const size_t given = positional.size();
  if (given > inputs_.size())
    RaiseInvalid(std::to_string(given) + " inputs given, the program has " + std::to_string(inputs_.size()));
  for (size_t i = 0; i < given; ++i) runner.arguments[i] = nb::handle(positional[i]).ptr();
  for (auto [name, value] : named) {
    const std::optional<size_t> index = inputs_.Find(name);
    if (!index) RaiseUnknown("input", name, inputs_);
    if (runner.arguments[*index]) RaiseInvalid("input '" + TextOf(name) + "' is given twice");
    runner.arguments[*index] = value.ptr();
  }
  Convert(runner);
  Execute(runner, std::nullopt);
  if (outputs_.size() == 1) return Result(runner, 0);
  nb::list results;
  for (size_t i = 0; i < outputs_.size(); ++i) results.append(Result(runner, i));
  return nb::tuple(results);
}

nb::dict VmObject::Run(nb::handle inputs, nb::handle outputs, nb::handle memory,
                       std::optional<double> timeout, const CancelToken* cancel) {
  std::vector<size_t> wanted;
  if (outputs.is_none())
    for (size_t i = 0; i < outputs_.size(); ++i) wanted.push_back(i);
  else
    for (nb::handle name : nb::borrow<nb::iterable>(outputs)) {
      const std::optional<size_t> index = outputs_.Find(name);
      if (!index) RaiseUnknown("output", name, outputs_);
      wanted.push_back(*index);
    }
  Lease lease(*this);
  Runner& runner = lease.runner();
  TakeArguments(runner, inputs);
  TakeMemory(runner, memory);
  Convert(runner);
  Execute(runner, timeout, cancel);
  nb::dict results;
  for (size_t index : wanted) results[outputs_[index]] = Result(runner, index);
  return results;
}

nb::dict VmObject::Plan(const GivenDims& dims) const { return PlanOf(OrRaise(vm_->Plan(RangesOf(dims)))); }

nb::dict VmObject::Profile(nb::handle inputs, int64_t runs, bool trace) {
  Profiler profiler(program_.program, trace, vm_->Devices());
  std::unique_ptr<Runner> runner = NewRunner();
  TakeArguments(*runner, inputs);
  Convert(*runner);
  Execute(*runner, std::nullopt);  // the first one alone allocates and loads
  OrRaise(runner->invocation.SetLaunchObserver(profiler.observer()));
  OrRaise(runner->invocation.SetCopyObserver(profiler.copy_observer()));
  for (int64_t run = 0; run < runs; ++run) {
    runner->outputs.assign(outputs_.size(), {});
    if (has_values_) runner->output_values.assign(outputs_.size(), {});
    Execute(*runner, std::nullopt);
  }
  nb::list kernels;
  for (const KernelProfile& profile : profiler.Kernels()) {
    const KernelSpec& spec = program_.program->kernels[profile.kernel.index];
    nb::dict row;
    row["name"] = spec.name.c_str();
    row["node"] = spec.source_node.c_str();
    row["device"] = profiler.DeviceName(profile.device).c_str();
    row["launches"] = profile.launches;
    row["nanoseconds"] = profile.nanoseconds;
    row["flops"] = profile.flops;
    row["bytes"] = profile.bytes;
    kernels.append(row);
  }
  nb::dict result;
  result["runs"] = runs;
  result["nanoseconds"] = profiler.total_nanoseconds();
  result["kernels"] = kernels;
  result["table"] = profiler.Table().c_str();
  result["chrome_trace"] = trace ? nb::object(nb::str(profiler.ChromeTrace().c_str())) : nb::none();
  return result;
}

void VmObject::Cancel() {
  std::lock_guard lock(mutex_);
  for (Runner* runner : busy_) runner->Cancel();
}

void VmObject::Trim() {
  std::lock_guard lock(mutex_);
  idle_.clear();
}

nb::list VmObject::Devices() const {
  nb::list devices;
  for (const DeviceUse& use : vm_->Devices()) {
    nb::dict row;
    row["name"] = use.name.c_str();
    row["kernels"] = use.kernels;
    row["form"] = use.form.c_str();
    devices.append(row);
  }
  return devices;
}

nb::dict VmObject::Donations() const {
  nb::dict donations;
  for (const Donation& donation : vm_->Donations())
    donations[inputs_[donation.input]] = outputs_[donation.output];
  return donations;
}

nb::object VmObject::gpu() const {
  std::shared_ptr<Device> device = vm_->gpu();
  return device ? nb::cast(DevicePointer{std::move(device)}) : nb::none();
}

}  // namespace tvmvm::python
