// What is behind the opaque objects of c_api.h, and what all of its functions share.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tvm-vm/c_api.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/memory_pool.h"
#include "tvm-vm/vm.h"
#include "vm/c/run_space.h"

struct tvmvm_status {
  tvmvm::Error error;
  bool is_lasting = false;  // nobody frees it
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
  tvmvm::c::RunSpace space;
};
struct tvmvm_run_cancel {
  std::stop_source source;
};
struct tvmvm_tensor {
  tvmvm::Tensor tensor;
};
struct tvmvm_value {
  tvmvm::Value value;
};

namespace tvmvm::c {

// Runs `body`, which gives a Status; no exception passes. Where there is no memory for a status it is a
// lasting one, of which each library has its own.
tvmvm_status* Guarded(Body body) noexcept;

inline tl::unexpected<Error> NullArgument(const char* name) {
  return MakeError(Code::kInvalidArgument, std::string(name) + " is null");
}

}  // namespace tvmvm::c
