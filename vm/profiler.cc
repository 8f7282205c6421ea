#include "vm/profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tvmvm {
namespace {

// Text as the inside of a JSON string.
std::string JsonEscaped(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '"' || c == '\\') {
      escaped += '\\';
      escaped += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(escaped), "\\u{:04x}", static_cast<int>(c));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// Operations or bytes a nanosecond are 10^9 a second.
double PerNanosecond(int64_t amount, int64_t nanoseconds) {
  return nanoseconds > 0 ? static_cast<double>(amount) / static_cast<double>(nanoseconds) : 0.0;
}

void AppendLine(std::string* text, const KernelProfile& row, int64_t total_ns, std::string_view device,
                std::string_view name, std::string_view node) {
  const double share =
      total_ns > 0 ? 100.0 * static_cast<double>(row.nanoseconds) / static_cast<double>(total_ns) : 0.0;
  const double each =
      row.launches > 0 ? static_cast<double>(row.nanoseconds) / static_cast<double>(row.launches) : 0.0;
  fmt::format_to(std::back_inserter(*text), "{:6.1f} {:10.3f} {:9} {:10.2f} {:9.2f} {:8.2f}  {:<10} {}",
                 share, static_cast<double>(row.nanoseconds) / 1e6, row.launches, each / 1e3,
                 PerNanosecond(row.flops, row.nanoseconds), PerNanosecond(row.bytes, row.nanoseconds), device,
                 name);
  if (!node.empty()) fmt::format_to(std::back_inserter(*text), "  {}", node);
  *text += '\n';
}

}  // namespace

Profiler::Profiler(std::shared_ptr<const Program> program, bool keep_launches, std::vector<DeviceUse> devices)
    : program_(std::move(program)), keep_launches_(keep_launches), devices_(std::move(devices)) {
  Clear();
}

void Profiler::Clear() {
  kernels_.assign(program_->kernels.size(), {});
  for (uint32_t id = 0; id < kernels_.size(); ++id) kernels_[id].kernel = KernelId{id};
  launches_.clear();
}

LaunchObserver Profiler::observer() {
  return [this](const LaunchRecord& record) {
    KernelProfile& row = kernels_[record.kernel.index];
    ++row.launches;
    row.nanoseconds += record.end_ns - record.begin_ns;
    row.flops += record.flops;
    row.bytes += record.bytes;
    if (keep_launches_) launches_.push_back(record);
  };
}

std::vector<KernelProfile> Profiler::Kernels() const {
  std::vector<KernelProfile> rows;
  std::copy_if(kernels_.begin(), kernels_.end(), std::back_inserter(rows),
               [](const KernelProfile& row) { return row.launches > 0; });
  std::stable_sort(rows.begin(), rows.end(), [](const KernelProfile& a, const KernelProfile& b) {
    return a.nanoseconds > b.nanoseconds;
  });
  return rows;
}

std::string Profiler::DeviceOf(KernelId kernel) const {
  const DeviceClass wanted = program_->kernels[kernel.index].device;
  const auto queue = static_cast<size_t>(wanted);
  return queue < devices_.size() ? devices_[queue].name : DeviceClassName(wanted);
}

std::string Profiler::Table() const {
  std::string text = "     %         ms  launches    us each   GFLOP/s     GB/s  device     kernel\n";
  const std::vector<KernelProfile> rows = Kernels();
  KernelProfile total;
  for (const KernelProfile& row : rows) {
    total.launches += row.launches;
    total.nanoseconds += row.nanoseconds;
    total.flops += row.flops;
    total.bytes += row.bytes;
  }
  for (const KernelProfile& row : rows) {
    const KernelSpec& kernel = program_->kernels[row.kernel.index];
    AppendLine(&text, row, total.nanoseconds, DeviceOf(row.kernel), kernel.name, kernel.source_node);
  }
  AppendLine(&text, total, total.nanoseconds, "", "total", "");
  return text;
}

std::string Profiler::ChromeTrace() const {
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  const int64_t origin = launches_.empty() ? 0 : launches_.front().begin_ns;
  for (size_t i = 0; i < launches_.size(); ++i) {
    const LaunchRecord& launch = launches_[i];
    const FunctionSpec& function = program_->functions[launch.function.index];
    const int64_t duration = launch.end_ns - launch.begin_ns;
    fmt::format_to(std::back_inserter(text),
                   "{}\n{{\"name\": \"{}\", \"cat\": \"kernel\", \"ph\": \"X\", \"pid\": 1, \"tid\": {}, "
                   "\"ts\": {:.3f}, "
                   "\"dur\": {:.3f}, \"args\": {{\"device\": \"{}\", \"function\": \"{}\", \"node\": \"{}\", "
                   "\"grid\": {}, "
                   "\"gflops\": {:.3f}, \"gbytes\": {:.3f}}}}}",
                   i == 0 ? "" : ",", JsonEscaped(program_->kernels[launch.kernel.index].name),
                   1 + static_cast<int>(program_->kernels[launch.kernel.index].device),
                   static_cast<double>(launch.begin_ns - origin) / 1e3, static_cast<double>(duration) / 1e3,
                   DeviceOf(launch.kernel), JsonEscaped(function.name),
                   JsonEscaped(program_->SourceNode(function, launch.word)), launch.grid,
                   PerNanosecond(launch.flops, duration), PerNanosecond(launch.bytes, duration));
  }
  return text + "\n]}\n";
}

}  // namespace tvmvm
