// The members of all structs that go from one process to the other, each list in one place. A struct that
// gets one more does not compile here until it is listed.
#pragma once

#include <tuple>

#include "isolated_compiler/messages.h"

namespace tvmvm::isolated {

inline auto Members(DimBound& bound) {
  auto& [low, high] = bound;
  return std::tie(low, high);
}

inline auto Members(CompileOptions& options) {
  auto& [devices, strict, prefer_gpu, print_placement, precision, weights, targets, bitcode, keep_all_values,
         keep_values, trace_values, dims, distinct_dims, donate, memory_budget, strict_onnx, print_after,
         disabled_passes, stop_after, schedules, schedules_name, verify_passes, time_passes, threads,
         model_name, progress, print] = options;
  return std::tie(devices, strict, prefer_gpu, print_placement, precision, weights, targets, bitcode,
                  keep_all_values, keep_values, trace_values, dims, distinct_dims, donate, memory_budget,
                  strict_onnx, print_after, disabled_passes, stop_after, schedules, schedules_name,
                  verify_passes, time_passes, threads, model_name, progress, print);
}

inline auto Members(WeightReport& report) {
  auto& [node, name, dims, bits, block, has_zero_points, bytes_before, bytes, relative_error, largest_error] =
      report;
  return std::tie(node, name, dims, bits, block, has_zero_points, bytes_before, bytes, relative_error,
                  largest_error);
}

inline auto Members(MemoryReport& report) {
  auto& [budget_bytes, bytes_before, bytes, time, flops, traffic, changes] = report;
  return std::tie(budget_bytes, bytes_before, bytes, time, flops, traffic, changes);
}

// The program goes by itself, as a file.
inline auto Members(CompileResult& result) {
  auto& [program, warnings, weights, memory, kept_values, schedules, work] = result;
  return std::tie(warnings, weights, memory, kept_values, schedules, work);
}

inline auto Members(Request& request) {
  auto& [version, has_model_file, path, max_bytes, options] = request;
  return std::tie(version, has_model_file, path, max_bytes, options);
}

inline auto Members(Answer& answer) {
  auto& [version, kind, code, text, fraction, result] = answer;
  return std::tie(version, kind, code, text, fraction, result);
}

}  // namespace tvmvm::isolated
