// Times of runs: made by one client or several at once, and what is said of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/json.h"
#include "cli/options.h"
#include "tvm-vm/vm.h"

namespace tvmvm::cli {

struct RunTimes {
  std::vector<std::vector<double>> of_client;  // milliseconds of the timed runs, in the order of time
  std::vector<double> sorted;                  // of all clients
  double first_ms = 0;                         // the first run, which makes the outputs and the plan
  double wall_ms = 0;                          // of all timed runs together
  int64_t warm_up = 0;                         // runs between the first and the timed ones
  int64_t peak_bytes = 0, held_bytes = 0;      // of one client; 0: not known

  double Mean() const;
  double Deviation() const;  // of the sample: with the number of runs less one; 0 for one run
  // The least time that at least so many of the runs take.
  double Percentile(double fraction) const;
  double RunsASecond() const;
};

// How runs are repeated.
struct Repetition {
  double seconds = 1;
  int64_t repeat = 0;  // > 0: so many timed runs of each client, whatever they take
  int64_t warm_up = 1;
};

// As Invocation::Run.
using Run = std::function<Status(std::span<const Value> inputs, std::span<Value> outputs)>;

// Each client runs with one of `clients`, of which there is at least one. Those beside the first have outputs
// of their own; the first one's are those given. What is held is the caller's to say.
Expected<RunTimes> TimeRuns(std::span<const Run> clients, std::span<const Value> inputs,
                            std::span<Value> outputs, const Repetition& repetition);

// Two lines. Percentiles for which there are too few runs are marked: they are the slowest run.
std::string FormatTimes(const RunTimes& times);
Json ToJson(const RunTimes& times);

// A line of a table, as wide as its head.
std::string TimesHead();
std::string TimesRow(const RunTimes& times);

}  // namespace tvmvm::cli
