// What is behind the opaque objects of c_api.h, and what all of its functions share.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tvm-vm/c_api.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/memory_pool.h"
#include "tvm-vm/vm.h"

struct tvmvm_status {
  tvmvm::Error error;
};
struct tvmvm_program {
  std::shared_ptr<const tvmvm::Program> program;
};
struct tvmvm_vm {
  std::shared_ptr<const tvmvm::Program> program;
  std::shared_ptr<tvmvm::Vm> vm;
  std::vector<tvmvm::DeviceUse> devices;  // that it uses
  std::vector<tvmvm::Donation> donations;
};
struct tvmvm_device {
  std::shared_ptr<tvmvm::Device> device;
};
struct tvmvm_memory_pool {
  std::shared_ptr<tvmvm::MemoryPool> pool;
};
struct tvmvm_device_list {
  std::vector<tvmvm::ListedDevice> devices;
};
struct tvmvm_invocation {
  std::shared_ptr<const tvmvm::Program> program;
  tvmvm::Invocation invocation;
  // Kept, so that a warm call allocates nothing.
  std::vector<tvmvm::Tensor> inputs, outputs;
  std::vector<tvmvm::Value> value_inputs, value_outputs;
  std::atomic<bool> busy{false};
};
struct tvmvm_tensor {
  tvmvm::Tensor tensor;
};
struct tvmvm_value {
  tvmvm::Value value;
};

namespace tvmvm::c {

// What there is when there is no memory for a status. Nothing writes to it, nobody frees it.
tvmvm_status* NoMemory() noexcept;

// What a function of the interface does, wherever it stands: one copy of what goes around it serves all.
class Body {
 public:
  template <class Function>
  Body(const Function& function)  // NOLINT: a function is a body
      : call_([](const void* context) -> Status { return (*static_cast<const Function*>(context))(); }),
        function_(&function) {}
  Status operator()() const { return call_(function_); }

 private:
  Status (*call_)(const void* context);
  const void* function_;
};

// Runs `body`, which gives a Status; no exception passes.
tvmvm_status* Guarded(Body body) noexcept;

inline tl::unexpected<Error> NullArgument(const char* name) {
  return MakeError(Code::kInvalidArgument, std::string(name) + " is null");
}

}  // namespace tvmvm::c
