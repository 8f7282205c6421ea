// What is behind the opaque objects of c_api.h, and what all of its functions share.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <new>
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

// What there is when there is no memory for a status. Nothing writes to it.
inline tvmvm_status* NoMemory() noexcept {
  static tvmvm_status status{{Code::kOutOfMemory, {}}};  // the message stays empty
  return &status;
}

// For an exception that nobody expected: a defect of ours.
[[gnu::cold]] inline tvmvm_status* Unexpected(const char* what) noexcept {
  try {
    return new tvmvm_status{{Code::kInternal, std::string("an exception came up: ") + what}};
  } catch (...) {
    return NoMemory();
  }
}

// Runs `body`, which gives a Status; no exception passes.
template <class Body>
tvmvm_status* Guarded(Body body) noexcept {
  try {
    Status result = body();
    if (result) return nullptr;
    return new tvmvm_status{std::move(result.error())};
  } catch (const std::bad_alloc&) {
    return NoMemory();
  } catch (const std::exception& exception) {
    return Unexpected(exception.what());
  } catch (...) {
    return Unexpected("not one of the standard library's");
  }
}

inline tl::unexpected<Error> NullArgument(const char* name) {
  return MakeError(Code::kInvalidArgument, std::string(name) + " is null");
}

}  // namespace tvmvm::c
