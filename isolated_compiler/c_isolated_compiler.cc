#include "tvm-vm/c_isolated_compiler.h"

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tvm-vm/isolated_compiler.h"
#include "vm/c/objects.h"
#include "vm/c/sized.h"

using tvmvm::CompileOptions;
using tvmvm::CompileResult;
using tvmvm::Expected;
using tvmvm::IsolationOptions;
using tvmvm::Status;
using tvmvm::c::Guarded;
using tvmvm::c::NullArgument;

struct tvmvm_compile_cancel {
  std::stop_source source;
};

namespace {

Status TakeNames(const char* const* names, size_t count, const char* what, std::vector<std::string>* taken) {
  if (names == nullptr && count > 0) return NullArgument(what);
  if (count > 0) taken->clear();
  for (size_t i = 0; i < count; ++i) {
    if (names[i] == nullptr) return NullArgument(what);
    taken->emplace_back(names[i]);
  }
  return {};
}

Status TakeDims(const tvmvm_isolated_compile_options& given, CompileOptions* options) {
  if (given.dims == nullptr && given.dim_count > 0) return NullArgument("options.dims");
  for (size_t i = 0; i < given.dim_count; ++i) {
    const tvmvm_dim_bound& bound = given.dims[i];
    if (bound.name == nullptr) return NullArgument("options.dims");
    options->dims[bound.name] = {bound.low, bound.high};
  }
  return {};
}

Expected<CompileOptions> CompileOptionsFrom(const tvmvm_isolated_compile_options& given) {
  CompileOptions options;
  TVMVM_CHECK_OK(TakeNames(given.devices, given.device_count, "options.devices", &options.devices));
  TVMVM_CHECK_OK(TakeNames(given.targets, given.target_count, "options.targets", &options.targets));
  TVMVM_CHECK_OK(TakeDims(given, &options));
  if (given.weights < TVMVM_WEIGHTS_AS_GIVEN || given.weights > TVMVM_WEIGHTS_INT4)
    return tvmvm::MakeError(tvmvm::Code::kInvalidArgument,
                            "options.weights is " + std::to_string(given.weights) + ", 0 to 2 is wanted");
  options.weights = static_cast<tvmvm::WeightStorage>(given.weights);
  options.memory_budget = given.memory_budget;
  if (given.half_precision != 0) options.precision = tvmvm::Precision::kF16;
  options.strict_onnx = given.strict_onnx != 0;
  options.distinct_dims = given.distinct_dims != 0;
  options.threads = given.threads;
  if (given.model_name != nullptr) options.model_name = given.model_name;
  if (given.schedules != nullptr) options.schedules = given.schedules;
  if (given.progress != nullptr)
    options.progress = [call = given.progress, data = given.user_data](const std::string& stage,
                                                                       double fraction) {
      call(data, stage.c_str(), fraction);
    };
  return options;
}

IsolationOptions IsolationFrom(const tvmvm_isolated_compile_options& given) {
  IsolationOptions isolation;
  isolation.max_bytes = given.max_bytes;
  isolation.timeout = std::chrono::nanoseconds(given.timeout_ns);
  if (given.cancel != nullptr) isolation.cancel = given.cancel->source.get_token();
  if (given.runner != nullptr) isolation.runner = given.runner;
  return isolation;
}

// `compile` takes the options of both kinds.
template <class Compile>
Status CompileWith(const tvmvm_isolated_compile_options* options, tvmvm_program** program, Compile compile) {
  tvmvm_isolated_compile_options given = {};
  if (options != nullptr) {
    TVMVM_TRY(given, tvmvm::c::ReadSized(*options, sizeof *options, "options"));
  }
  TVMVM_CHECK_OK(tvmvm::c::CheckNotNegative({{given.max_bytes, "options.max_bytes"},
                                             {given.timeout_ns, "options.timeout_ns"},
                                             {given.memory_budget, "options.memory_budget"},
                                             {given.threads, "options.threads"}}));
  TVMVM_TRY(const CompileOptions chosen, CompileOptionsFrom(given));
  TVMVM_TRY(CompileResult result, compile(chosen, IsolationFrom(given)));
  if (given.warning != nullptr)
    for (const std::string& warning : result.warnings) given.warning(given.user_data, warning.c_str());
  *program = new tvmvm_program{std::move(result.program)};
  return {};
}

}  // namespace

extern "C" {

tvmvm_status* tvmvm_compile_cancel_create(tvmvm_compile_cancel** cancel) {
  return Guarded([&]() -> Status {
    if (cancel == nullptr) return NullArgument("cancel");
    *cancel = new tvmvm_compile_cancel;
    return {};
  });
}
void tvmvm_compile_cancel_request(tvmvm_compile_cancel* cancel) {
  if (cancel != nullptr) cancel->source.request_stop();
}
void tvmvm_compile_cancel_free(tvmvm_compile_cancel* cancel) { delete cancel; }

tvmvm_status* tvmvm_compile_file_isolated(const char* path, const tvmvm_isolated_compile_options* options,
                                          tvmvm_program** program) {
  return Guarded([&]() -> Status {
    if (path == nullptr || program == nullptr) return NullArgument("path or program");
    return CompileWith(options, program,
                       [&](const CompileOptions& chosen, const IsolationOptions& isolation) {
                         return tvmvm::CompileFileIsolated(path, chosen, isolation);
                       });
  });
}
tvmvm_status* tvmvm_compile_bytes_isolated(const void* model, size_t model_bytes,
                                           const tvmvm_isolated_compile_options* options,
                                           tvmvm_program** program) {
  return Guarded([&]() -> Status {
    if (model == nullptr || program == nullptr) return NullArgument("model or program");
    const std::span bytes(static_cast<const std::byte*>(model), model_bytes);
    return CompileWith(options, program,
                       [&](const CompileOptions& chosen, const IsolationOptions& isolation) {
                         return tvmvm::CompileBytesIsolated(bytes, chosen, isolation);
                       });
  });
}

}  // extern "C"
