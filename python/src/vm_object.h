// tvm_vm.Vm: a Vm with a pool of runners, so that any number of threads call it.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "arrays.h"
#include "devices.h"
#include "memory.h"
#include "programs.h"
#include "runner.h"
#include "tvm-vm/vm.h"

namespace tvmvm::python {

struct VmObjectOptions {
  std::vector<std::shared_ptr<Device>> devices;  // GPUs; empty: the CPU
  int threads = 0;
  bool allow_native = true;
  Trust trust = Trust::kAny;
  std::vector<PublicKey> trusted_keys;
  bool signed_constants = false;
  Limits limits;
  std::shared_ptr<MemoryPool> memory;
  ResultKind results = ResultKind::kAuto;
};

// Names of inputs or of outputs.
class Names {
 public:
  explicit Names(const std::vector<ParameterSpec>& parameters);
  size_t size() const { return names_.size(); }
  nanobind::handle operator[](size_t index) const { return names_[index]; }
  std::optional<size_t> Find(nanobind::handle name) const;
  std::string Listing() const;  // "'a', 'b'"

 private:
  std::vector<nanobind::object> names_;  // interned
  std::unordered_map<std::string, size_t> index_;
};

class VmObject {
 public:
  VmObject(ProgramPointer program, const VmObjectOptions& options);

  nanobind::object Call(const nanobind::args& positional, const nanobind::kwargs& named);
  nanobind::dict Run(nanobind::handle inputs, nanobind::handle outputs, nanobind::handle memory,
                     std::optional<double> timeout, const CancelToken* cancel);
  nanobind::dict Plan(const GivenDims& dims) const;
  nanobind::dict Profile(nanobind::handle inputs, int64_t runs, bool trace);
  void Cancel();  // all runs in progress
  void Trim();

  const ProgramPointer& program() const { return program_; }
  nanobind::list Devices() const;
  nanobind::object gpu() const;
  nanobind::dict Donations() const;
  int64_t held_bytes() const { return vm_->held_bytes(); }
  int64_t peak_bytes() const { return peak_bytes_; }

 private:
  class Lease;

  std::unique_ptr<Runner> NewRunner();
  void TakeArguments(Runner& runner, nanobind::handle inputs) const;
  void TakeMemory(Runner& runner, nanobind::handle memory) const;
  void Convert(Runner& runner) const;
  void Execute(Runner& runner, std::optional<double> timeout, const CancelToken* cancel = nullptr);
  nanobind::object Result(Runner& runner, size_t index) const;
  [[noreturn]] void RaiseUnknown(const char* what, nanobind::handle name, const Names& names) const;

  const ProgramPointer program_;
  const VmObjectOptions options_;
  const std::shared_ptr<Vm> vm_;
  const Names inputs_, outputs_;
  bool has_values_ = false;  // more than tensors and optional tensors
  int64_t peak_bytes_ = 0;   // changed under the interpreter's lock

  std::mutex mutex_;
  std::vector<std::unique_ptr<Runner>> idle_;
  std::vector<Runner*> busy_;
};

void AddVm(nanobind::module_& module);

}  // namespace tvmvm::python
