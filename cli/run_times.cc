#include "cli/run_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <thread>

namespace tvmvm::cli {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// One client's timed runs, until all have run long enough.
Status RunOften(const Run& run, std::span<const Value> inputs, std::span<Value> outputs,
                const Repetition& repetition, Clock::time_point begin, std::vector<double>* times) {
  const bool by_count = repetition.repeat > 0;
  while (by_count ? static_cast<int64_t>(times->size()) < repetition.repeat
                  : times->empty() || MillisecondsSince(begin) < repetition.seconds * 1e3) {
    const Clock::time_point run_begin = Clock::now();
    TVMVM_CHECK_OK(run(inputs, outputs));
    times->push_back(MillisecondsSince(run_begin));
  }
  return {};
}

Status WarmUp(const Run& run, std::span<const Value> inputs, std::span<Value> outputs, int64_t runs) {
  for (int64_t i = 0; i < runs; ++i) TVMVM_CHECK_OK(run(inputs, outputs));
  return {};
}

// A client of a thread of its own. It is warm when `start` is told; an error ends it.
struct Client {
  const Run& run;
  std::vector<Value> outputs;
  std::vector<double> times;
  std::optional<Error> error;
  std::thread thread;
};

}  // namespace

double RunTimes::Mean() const {
  return std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
}

double RunTimes::Deviation() const {
  if (sorted.size() < 2) return 0;
  const double mean = Mean();
  double sum = 0;
  for (double time : sorted) sum += (time - mean) * (time - mean);
  return std::sqrt(sum / static_cast<double>(sorted.size() - 1));
}

double RunTimes::Percentile(double fraction) const {
  const auto count = static_cast<double>(sorted.size());
  const auto rank = static_cast<size_t>(std::ceil(fraction * count));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

double RunTimes::RunsASecond() const {
  return wall_ms > 0 ? static_cast<double>(sorted.size()) / wall_ms * 1e3 : 0;
}

Expected<RunTimes> TimeRuns(std::span<const Run> clients, std::span<const Value> inputs,
                            std::span<Value> outputs, const Repetition& repetition) {
  RunTimes times;
  times.warm_up = repetition.warm_up;
  Clock::time_point begin = Clock::now();
  TVMVM_CHECK_OK(clients[0](inputs, outputs));  // makes the outputs; later runs write into them
  times.first_ms = MillisecondsSince(begin);
  TVMVM_CHECK_OK(WarmUp(clients[0], inputs, outputs, repetition.warm_up));

  std::atomic<size_t> warming = clients.size() - 1;
  std::atomic<bool> started = false;
  std::vector<Client> others;
  others.reserve(clients.size());
  for (const Run& run : clients.subspan(1)) {
    Client& client = others.emplace_back(Client{run, std::vector<Value>(outputs.size()), {}, {}, {}});
    client.thread = std::thread([&] {
      Status status = WarmUp(client.run, inputs, client.outputs, 1 + repetition.warm_up);
      --warming;
      started.wait(false);
      if (status)
        status = RunOften(client.run, inputs, client.outputs, repetition, Clock::now(), &client.times);
      if (!status) client.error = status.error();
    });
  }
  while (warming > 0) std::this_thread::yield();
  begin = Clock::now();
  started = true;
  started.notify_all();
  times.of_client.emplace_back();
  Status status = RunOften(clients[0], inputs, outputs, repetition, begin, &times.of_client[0]);
  for (Client& client : others) {
    client.thread.join();
    if (client.error && status) status = tl::unexpected<Error>(*client.error);
    times.of_client.push_back(std::move(client.times));
  }
  times.wall_ms = MillisecondsSince(begin);
  TVMVM_CHECK_OK(status);
  for (const std::vector<double>& client : times.of_client)
    times.sorted.insert(times.sorted.end(), client.begin(), client.end());
  std::ranges::sort(times.sorted);
  return times;
}

std::string FormatTimes(const RunTimes& times) {
  std::string text = fmt::format("{} runs: mean {:.4f} ms, deviation {:.4f} ms, {:.1f} runs/s\n",
                                 times.sorted.size(), times.Mean(), times.Deviation(), times.RunsASecond());
  text += fmt::format("best {:.4f} ms, median {:.4f} ms", times.sorted.front(), times.Percentile(0.5));
  bool few = false;
  for (int percent : {90, 95, 99}) {
    // Less than one run lies behind it.
    const bool is_last = times.sorted.size() * static_cast<size_t>(100 - percent) < 100;
    few = few || is_last;
    text += fmt::format(", p{} {:.4f} ms{}", percent, times.Percentile(percent / 100.0), is_last ? "*" : "");
  }
  text += fmt::format(", max {:.4f} ms", times.sorted.back());
  return text + (few ? "  (* of too few runs: the slowest)" : "");
}

Json ToJson(const RunTimes& times) {
  return {{"runs", times.sorted.size()},
          {"warm_up", times.warm_up},
          {"first_ms", times.first_ms},
          {"best_ms", times.sorted.front()},
          {"mean_ms", times.Mean()},
          {"deviation_ms", times.Deviation()},
          {"median_ms", times.Percentile(0.5)},
          {"p90_ms", times.Percentile(0.9)},
          {"p95_ms", times.Percentile(0.95)},
          {"p99_ms", times.Percentile(0.99)},
          {"max_ms", times.sorted.back()},
          {"runs_per_second", times.RunsASecond()},
          {"peak_bytes", times.peak_bytes},
          {"held_bytes", times.held_bytes}};
}

std::string TimesHead() {
  return fmt::format("{:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}", "runs",
                     "mean ms", "deviation", "best", "median", "p90", "p99", "max", "runs/s", "first ms");
}

std::string TimesRow(const RunTimes& times) {
  return fmt::format(
      "{:>8} {:>10.4f} {:>10.4f} {:>10.4f} {:>10.4f} {:>10.4f} {:>10.4f} {:>10.4f} {:>10.1f} {:>10.4f}",
      times.sorted.size(), times.Mean(), times.Deviation(), times.sorted.front(), times.Percentile(0.5),
      times.Percentile(0.9), times.Percentile(0.99), times.sorted.back(), times.RunsASecond(),
      times.first_ms);
}

}  // namespace tvmvm::cli
