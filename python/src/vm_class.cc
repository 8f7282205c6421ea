// The classes of vm_object.h and runner.h in Python.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "errors.h"
#include "vm_object.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tvmvm::python {
namespace {

ResultKind ResultKindOf(const std::string& name) {
  if (name == "auto") return ResultKind::kAuto;
  if (name == "numpy") return ResultKind::kNumPy;
  if (name == "torch") return ResultKind::kTorch;
  if (name == "tensor") return ResultKind::kTensor;
  RaiseInvalid("results='" + name + "': there are 'auto', 'numpy', 'torch' and 'tensor'");
}

Trust TrustOf(const std::string& name) {
  if (name == "any") return Trust::kAny;
  if (name == "signed") return Trust::kSigned;
  if (name == "signed-kernels") return Trust::kSignedKernels;
  if (name == "none") return Trust::kNone;
  RaiseInvalid("trust='" + name + "': there are 'any', 'signed', 'signed-kernels' and 'none'");
}

void Construct(VmObject* self, const ProgramPointer& program, const std::vector<DevicePointer>& devices,
               int threads, double timeout, int64_t max_bytes, int64_t max_steps, bool allow_native,
               const std::string& trust, const std::vector<std::string>& keys, bool signed_constants,
               const std::string& results, const PoolPointer* memory) {
  if (threads < 0 || max_bytes < 0 || max_steps < 0 || !(timeout >= 0 && timeout < 1e9))
    RaiseInvalid("threads, timeout, max_bytes and max_steps are 0 or more, and timeout is below 1e9 seconds");
  VmObjectOptions options;
  for (const DevicePointer& device : devices) options.devices.push_back(device.device);
  options.threads = threads;
  options.allow_native = allow_native;
  options.trust = TrustOf(trust);
  const bool needs_keys = options.trust == Trust::kSigned || options.trust == Trust::kSignedKernels;
  if (needs_keys && keys.empty()) RaiseInvalid("trust='" + trust + "': keys names no public key to trust");
  for (const std::string& path : keys) options.trusted_keys.push_back(OrRaise(ReadPublicKey(path)));
  options.signed_constants = signed_constants;
  options.limits.max_bytes = max_bytes;
  options.limits.max_steps = max_steps;
  options.limits.timeout = std::chrono::nanoseconds(static_cast<int64_t>(timeout * 1e9));
  options.results = ResultKindOf(results);
  if (memory) options.memory = memory->pool;
  new (self) VmObject(program, options);
}

}  // namespace

void AddVm(nb::module_& module) {
  nb::class_<CancelToken>(module, "CancelToken", "Ends the runs that it is given to, from any thread.")
      .def(nb::init<>())
      .def(
          "cancel", [](CancelToken& self) { self.source.request_stop(); },
          "Ends them with Cancelled, and those that begin later.")
      .def_prop_ro("cancelled", [](const CancelToken& self) { return self.source.stop_requested(); });

  nb::class_<VmObject>(module, "Vm")
      .def("__init__", &Construct, "program"_a, "devices"_a, "threads"_a, "timeout"_a, "max_bytes"_a,
           "max_steps"_a, "allow_native"_a, "trust"_a, "keys"_a, "signed_constants"_a, "results"_a,
           "memory"_a.none())
      .def("__call__", &VmObject::Call,
           "Runs with inputs by position or by name. Gives the output, or a tuple where there are several.")
      .def("run", &VmObject::Run, "inputs"_a.none() = nb::none(), "outputs"_a.none() = nb::none(),
           nb::kw_only(), "out"_a.none() = nb::none(), "timeout"_a.none() = nb::none(),
           "cancel"_a.none() = nb::none(),
           "Runs with a dict of inputs; gives a dict of outputs.\n\n"
           "outputs: names of those that are wanted, all without it.\n"
           "out: arrays that outputs are written to, by name.\n"
           "timeout: seconds after which the run ends with DeadlineExceeded.\n"
           "cancel: a CancelToken that ends it from another thread.")
      .def("_plan", &VmObject::Plan, "dims"_a)
      .def("_profile", &VmObject::Profile, "inputs"_a, "runs"_a, "trace"_a)
      .def("cancel", &VmObject::Cancel, "Ends all runs in progress with Cancelled.")
      .def("trim", &VmObject::Trim, "Gives memory back that only makes the next calls warm.")
      .def_prop_ro("program", [](const VmObject& self) { return self.program(); })
      .def_prop_ro("devices", &VmObject::Devices,
                   "The devices of a run, with how many kernels and in which form.")
      .def_prop_ro("gpu", &VmObject::gpu,
                   "The device where tensors save the way across the bus; None: there is none.")
      .def_prop_ro("donations", &VmObject::Donations,
                   "Inputs whose memory an output may be given in, by names: compile(donate=).")
      .def_prop_ro("held_bytes", &VmObject::held_bytes, "What all calls' memory is now.")
      .def_prop_ro("peak_bytes", &VmObject::peak_bytes, "What the largest run needed so far.");
}

}  // namespace tvmvm::python
