// The compiler, opened when it is first needed.
#include "tvm-vm/compiler.h"

#include <dlfcn.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler_library.h"
#include "errors.h"
#include "programs.h"
#include "tvm-vm/isolated_compiler.h"
#include "tvm-vm/version.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tvmvm::python {
namespace {

const Compiler* g_compiler = nullptr;  // set and read by who holds the interpreter's lock
const IsolatedCompiler* g_isolated = nullptr;

// `entry` of the library at `path`, which stays open until the process ends.
template <class Entry>
const Entry* Open(const std::string& path, const std::string& name) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    Raise(
        {Code::kNotFound, std::string("the compiler is not installed (") + dlerror() +
                              "): pip install tvm-vm[compiler]; programs that are compiled run without it"});
  const auto entry = reinterpret_cast<const Entry* (*)()>(dlsym(library, name.c_str()));
  const auto version = reinterpret_cast<uint32_t (*)()>(dlsym(library, (name + "_version").c_str()));
  if (!entry || !version) Raise({Code::kUnsupported, path + " is not the compiler's library"});
  if (version() / 1000 != TVMVM_VERSION / 1000)
    Raise({Code::kUnsupported, path + " is version " + VersionText(version()) +
                                   " of the compiler, this is version " + VersionText(TVMVM_VERSION) +
                                   ": they do not go together"});
  return entry();
}

const Compiler& OpenCompiler(const std::string& path) {
  if (!g_compiler) g_compiler = Open<Compiler>(path, "tvmvm_compiler");
  return *g_compiler;
}

const IsolatedCompiler& OpenIsolatedCompiler(const std::string& path) {
  if (!g_isolated) g_isolated = Open<IsolatedCompiler>(path, "tvmvm_isolated_compiler");
  return *g_isolated;
}

// Takes an option by its name in Python, where it is given.
template <class T>
void Take(nb::dict& given, const char* name, T& option) {
  nb::object value = given.attr("pop")(name, nb::none());
  if (!value.is_none()) option = nb::cast<T>(value);
}

WeightStorage WeightStorageOf(const std::string& name) {
  if (name == "as given") return WeightStorage::kAsGiven;
  if (name == "int8") return WeightStorage::kInt8;
  if (name == "int4") return WeightStorage::kInt4;
  RaiseInvalid("weights='" + name + "': there are 'int8' and 'int4'");
}

Precision PrecisionOf(const std::string& name) {
  if (name == "fp32") return Precision::kF32;
  if (name == "fp16") return Precision::kF16;
  RaiseInvalid("precision='" + name + "': there are 'fp32' and 'fp16'");
}

CompileOptions OptionsOf(nb::dict given) {
  CompileOptions options;
  std::string weights = "as given", precision = "fp32";
  std::map<std::string, std::pair<int64_t, int64_t>> dims;
  bool exact_convolutions = false;
  nb::object progress = given.attr("pop")("progress", nb::none());
  Take(given, "devices", options.devices);
  Take(given, "strict", options.strict);
  Take(given, "prefer_gpu", options.prefer_gpu);
  Take(given, "targets", options.targets);
  Take(given, "bitcode", options.bitcode);
  Take(given, "keep_all_values", options.keep_all_values);
  Take(given, "keep_values", options.keep_values);
  Take(given, "distinct_dims", options.distinct_dims);
  Take(given, "strict_onnx", options.strict_onnx);
  Take(given, "threads", options.threads);
  Take(given, "model_name", options.model_name);
  Take(given, "weights", weights);
  Take(given, "precision", precision);
  Take(given, "dims", dims);
  Take(given, "donate", options.donate);
  Take(given, "memory_budget", options.memory_budget);
  if (options.memory_budget < 0) RaiseInvalid("memory_budget: a number of bytes is wanted");
  Take(given, "schedule", options.schedules);
  Take(given, "schedule_name", options.schedules_name);
  Take(given, "exact_convolutions", exact_convolutions);
  if (exact_convolutions) options.disabled_passes.emplace_back("choose-winograd");
  options.weights = WeightStorageOf(weights);
  options.precision = PrecisionOf(precision);
  for (const auto& [name, bound] : dims) options.dims[name] = {bound.first, bound.second};
  if (!progress.is_none())
    options.progress = [call = progress.ptr()](const std::string& stage, double fraction) {
      nb::gil_scoped_acquire lock;
      try {
        nb::borrow<nb::callable>(call)(stage, fraction);
      } catch (nb::python_error& error) {
        error.discard_as_unraisable("tvm_vm.compile: progress");
      }
    };
  return options;
}

IsolationOptions IsolationOf(nb::dict limits) {
  IsolationOptions isolation;
  double timeout = 0;
  Take(limits, "max_bytes", isolation.max_bytes);
  Take(limits, "timeout", timeout);
  if (isolation.max_bytes < 0) RaiseInvalid("max_bytes: a number of bytes is wanted");
  if (!(timeout >= 0 && timeout < 1e9)) RaiseInvalid("timeout: a number of seconds is wanted");
  isolation.timeout = std::chrono::nanoseconds(static_cast<int64_t>(timeout * 1e9));
  return isolation;
}

// The program, the warnings, what became of the weights, and the schedules that were chosen.
nb::tuple ResultOf(CompileResult result) {
  nb::list weights;
  for (const WeightReport& weight : result.weights) {
    nb::dict row;
    row["node"] = weight.node;
    row["name"] = weight.name;
    row["dims"] = weight.dims;
    row["bits"] = weight.bits;
    row["bytes_before"] = weight.bytes_before;
    row["bytes"] = weight.bytes;
    row["relative_error"] = weight.relative_error;
    row["largest_error"] = weight.largest_error;
    weights.append(row);
  }
  return nb::make_tuple(ProgramPointer{std::move(result.program)}, result.warnings, weights,
                        result.schedules);
}

// Calls `compile` without the interpreter's lock.
template <class Compile>
nb::tuple Unlocked(Compile compile) {
  Expected<CompileResult> result = [&] {
    nb::gil_scoped_release unlocked;
    return compile();
  }();
  return ResultOf(OrRaise(std::move(result)));
}

// The bytes of an object, as long as this lives.
class Bytes {
 public:
  explicit Bytes(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  std::span<const std::byte> get() const {
    return {static_cast<const std::byte*>(view_.buf), static_cast<size_t>(view_.len)};
  }

 private:
  Py_buffer view_;
};

nb::tuple CompileFile(const std::string& library, const std::string& path, nb::dict given) {
  const Compiler& compiler = OpenCompiler(library);
  const CompileOptions options = OptionsOf(given);
  return Unlocked([&] { return compiler.CompileFile(path, options); });
}

nb::tuple CompileBytes(const std::string& library, nb::handle model, nb::dict given) {
  const Compiler& compiler = OpenCompiler(library);
  const CompileOptions options = OptionsOf(given);
  const Bytes bytes(model);
  return Unlocked([&] { return compiler.CompileBytes(bytes.get(), options); });
}

nb::tuple CompileFileIsolated(const std::string& library, const std::string& path, nb::dict given,
                              nb::dict limits) {
  const IsolatedCompiler& compiler = OpenIsolatedCompiler(library);
  const CompileOptions options = OptionsOf(given);
  const IsolationOptions isolation = IsolationOf(limits);
  return Unlocked([&] { return compiler.compile_file(path, options, isolation); });
}

nb::tuple CompileBytesIsolated(const std::string& library, nb::handle model, nb::dict given,
                               nb::dict limits) {
  const IsolatedCompiler& compiler = OpenIsolatedCompiler(library);
  const CompileOptions options = OptionsOf(given);
  const IsolationOptions isolation = IsolationOf(limits);
  const Bytes bytes(model);
  return Unlocked([&] { return compiler.compile_bytes(bytes.get(), options, isolation); });
}

}  // namespace

const Compiler* OpenedCompiler() { return g_compiler; }

void AddCompiler(nb::module_& module) {
  module.def("compile_file", &CompileFile, "library"_a, "path"_a, "options"_a);
  module.def("compile_bytes", &CompileBytes, "library"_a, "model"_a, "options"_a);
  module.def("compile_file_isolated", &CompileFileIsolated, "library"_a, "path"_a, "options"_a, "limits"_a);
  module.def("compile_bytes_isolated", &CompileBytesIsolated, "library"_a, "model"_a, "options"_a,
             "limits"_a);
  module.def("open_compiler", [](const std::string& library) { OpenCompiler(library); });
}

}  // namespace tvmvm::python
