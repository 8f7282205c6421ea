#include "tvm-vm/vm.h"

#include <algorithm>

#include "bytecode/guarded.h"
#include "tvm-vm/cpu_device.h"
#include "tvm-vm/forecast.h"
#include "tvm-vm/memory_pool.h"
#include "vm/binding/donations.h"
#include "vm/interpreter/vm_impl.h"

namespace tvmvm {
namespace {

std::shared_ptr<Device> CpuFrom(const VmOptions& options) {
  CpuDeviceOptions cpu;
  cpu.threads = options.threads;
  cpu.pool = options.pool;
  cpu.jit = options.jit;
  cpu.force_level = options.force_cpu_level;
  return CreateCpuDevice(cpu);
}

}  // namespace

Vm::Vm() : impl_(std::make_unique<Impl>()) {}
Vm::~Vm() = default;

Expected<std::shared_ptr<Vm>> Vm::Create(std::shared_ptr<const Program> program, const VmOptions& options) {
  return Guarded([&]() -> Expected<std::shared_ptr<Vm>> {
    std::vector<std::shared_ptr<Device>> devices = options.devices;
    const bool has_cpu =
        std::any_of(devices.begin(), devices.end(), [](const std::shared_ptr<Device>& device) {
          return ClassOf(device->target().device) == DeviceClass::kCpu;
        });
    if (!has_cpu) devices.push_back(CpuFrom(options));
    std::shared_ptr<Vm> vm(new Vm);
    vm->impl_->account = std::make_shared<MemoryAccount>("the program's VM",
                                                         options.memory ? options.memory->account_ : nullptr);
    TVMVM_TRY(vm->impl_->binding, Bind(std::move(program), std::move(devices), options.allow_native,
                                       {options.trust, options.trusted_keys, options.signed_constants}));
    vm->impl_->plans = std::make_shared<SharedPlans>(vm->program().plans.size(), vm->impl_->account);
    return vm;
  });
}

const Program& Vm::program() const { return *impl_->binding->program; }

Invocation Vm::NewInvocation() {
  auto made = Guarded([&]() -> Expected<std::unique_ptr<Invocation::Impl>> {
    return std::make_unique<Invocation::Impl>(impl_->binding, impl_->account, impl_->plans, impl_->runs);
  });
  return Invocation(made ? std::move(*made) : nullptr);
}

RunCounters Vm::counters() const { return impl_->runs->Sum(); }

int64_t Vm::held_bytes() const { return impl_->account->held_bytes(); }

std::vector<std::string> Vm::KernelDescriptions() const {
  std::vector<std::string> descriptions;
  for (const auto& set : impl_->binding->kernel_sets)
    if (set) descriptions.push_back(set->description());
  return descriptions;
}

std::shared_ptr<Device> Vm::gpu() const { return impl_->binding->first_other(); }

Expected<MemoryForecast> Vm::Plan(const DimRanges& dims) const {
  const Binding& binding = *impl_->binding;
  const auto gpus = std::count_if(binding.devices.begin() + 1, binding.devices.end(),
                                  [](const std::shared_ptr<Device>& device) { return device != nullptr; });
  return ForecastMemory(*binding.program, dims, static_cast<size_t>(gpus));
}

std::vector<Donation> Vm::Donations() const {
  return DonationsOf(impl_->binding->program->function(impl_->binding->entry));
}

std::vector<DeviceUse> Vm::Devices() const {
  std::vector<DeviceUse> devices;
  const Binding& binding = *impl_->binding;
  for (size_t number = 0; number < binding.devices.size(); ++number) {
    if (binding.devices[number] == nullptr) continue;
    const KernelSet* set = binding.kernel_sets[number].get();
    DeviceUse use{static_cast<uint32_t>(number), binding.devices[number]->name(), 0,
                  set ? set->description() : ""};
    if (set != nullptr)
      use.kernels = static_cast<size_t>(
          std::count_if(binding.kernels.begin(), binding.kernels.end(),
                        [&](const KernelBinding& kernel) { return kernel.kernels == set; }));
    devices.push_back(std::move(use));
  }
  return devices;
}

}  // namespace tvmvm
