// Options that several commands have, and how option values are read.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"

namespace tvmvm::cli {

// Makes a CLI11 callback of a parser that returns Expected<T>: its message becomes a usage error.
template <class T>
std::function<void(const std::vector<std::string>&)> ParseEach(Expected<T> (*parse)(std::string_view),
                                                               std::function<void(T)> take) {
  return [parse, take](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      Expected<T> value = parse(text);
      if (!value) throw CLI::ValidationError(value.error().message);
      take(std::move(*value));
    }
  };
}

// An option that may be given several times, each with one value.
template <class T>
CLI::Option* AddParsed(CLI::App* app, const std::string& flags, Expected<T> (*parse)(std::string_view),
                       std::function<void(T)> take, const std::string& help) {
  auto callback = ParseEach<T>(parse, std::move(take));
  return app->add_option_function<std::vector<std::string>>(flags, callback, help)->allow_extra_args(false);
}

// With `fixed`, only NAME=N makes sense.
CLI::Option* AddDims(CLI::App* app, DimBounds* dims, bool fixed,
                     const std::string& help = "What is known of a symbolic dimension, for every call");
void AddInputs(CLI::App* app, InputArguments* inputs);
// What a clock of nanoseconds can add up; NaN is no time.
CLI::Validator Seconds();
// A number from `low` to `high`, of which the help says nothing.
CLI::Validator Within(int64_t low, int64_t high);
// A number of bytes. K, KB, M, ... are powers of 1000, as in what is printed; Ki, KiB, Mi, ... of 1024.
CLI::Option* AddSize(CLI::App* app, const std::string& flag, int64_t* bytes, const std::string& help);
void AddMaxBytes(CLI::App* app, int64_t* bytes);
void AddLimits(CLI::App* app, LimitArguments* limits);
CLI::Option* AddDevices(CLI::App* app, std::vector<std::string>* devices);
void AddTargets(CLI::App* app, std::vector<std::string>* targets, const std::string& otherwise);
void AddPrecision(CLI::App* app, Precision* precision);
void AddWeights(CLI::App* app, WeightStorage* weights, bool* prints);
void AddMemoryBudget(CLI::App* app, int64_t* bytes);
void AddDonations(CLI::App* app, std::vector<std::pair<std::string, std::string>>* donate);
void AddImport(CLI::App* app, bool* strict_onnx, bool* distinct_dims);
void AddThreads(CLI::App* app, int* threads);
// Whether a run is in a process of its own.
void AddSandbox(CLI::App* app, bool* sandbox);
// What has to hold for a file's kernels to run.
void AddTrust(CLI::App* app, TrustArguments* trust);
// The model and how it is loaded.
void AddModel(CLI::App* app, ModelArguments* model);
// `examples`: a line each, then what else is to be said.
CLI::App* AddCommand(CLI::App& app, const char* name, const char* purpose, const std::string& examples);

}  // namespace tvmvm::cli
