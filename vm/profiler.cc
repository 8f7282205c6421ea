#include "tvm-vm/profiler.h"

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

constexpr const char* kHeader = "     %         ms  launches    us each   GFLOP/s     GB/s";
constexpr const char* kLimitsHeader = "  %flops  %bytes  %limit";

// Shares of the limits; nothing where nobody compared.
std::string LimitColumns(const KernelProfile& row) {
  if (row.limit_ns <= 0) return fmt::format("{:>8}{:>8}{:>8}", "-", "-", "-");
  const double percent = 100.0 / static_cast<double>(std::max<int64_t>(1, row.nanoseconds));
  return fmt::format("{:8.1f}{:8.1f}{:8.1f}", row.flops_ns * percent, row.bytes_ns * percent,
                     row.limit_ns * percent);
}

void AppendLine(std::string* text, const KernelProfile& row, int64_t total_ns, bool has_limits,
                std::string_view device, std::string_view name, std::string_view node) {
  const double share =
      total_ns > 0 ? 100.0 * static_cast<double>(row.nanoseconds) / static_cast<double>(total_ns) : 0.0;
  const double each =
      row.launches > 0 ? static_cast<double>(row.nanoseconds) / static_cast<double>(row.launches) : 0.0;
  fmt::format_to(std::back_inserter(*text), "{:6.1f} {:10.3f} {:9} {:10.2f} {:9.2f} {:8.2f}{}  {:<10} {}",
                 share, static_cast<double>(row.nanoseconds) / 1e6, row.launches, each / 1e3,
                 PerNanosecond(row.flops, row.nanoseconds), PerNanosecond(row.bytes, row.nanoseconds),
                 has_limits ? LimitColumns(row) : "", device, name);
  if (!node.empty()) fmt::format_to(std::back_inserter(*text), "  {}", node);
  *text += '\n';
}

double Time(int64_t amount, double speed) { return speed > 0 ? static_cast<double>(amount) / speed : 0.0; }

void AddLimits(const MachineLimits& limits, const KernelSpec& kernel, const LaunchRecord& record,
               KernelProfile* row) {
  const double flops_ns = Time(record.flops, limits.OperationsOf(kernel));
  const double bytes_ns = Time(record.bytes, limits.BandwidthOf(record.bytes));
  row->flops_ns += flops_ns;
  row->bytes_ns += bytes_ns;
  row->limit_ns += std::max(flops_ns, bytes_ns);
}

}  // namespace

double MachineLimits::BandwidthOf(int64_t bytes) const {
  double speed = bandwidths.empty() ? 0.0 : bandwidths.front().bytes;
  for (const Bandwidth& bandwidth : bandwidths)
    if (bandwidth.size <= bytes) speed = bandwidth.bytes;
  return speed;
}

double MachineLimits::OperationsOf(const KernelSpec& kernel) const {
  if (kernel.alignments.empty()) return f32;  // nobody says what it touches
  const auto [least, most] = std::minmax_element(kernel.alignments.begin(), kernel.alignments.end());
  if (*least == 1) return std::max(bytes, f32);
  return *least >= 8 && *most >= 8 ? f64 : f32;
}

Profiler::Profiler(std::shared_ptr<const Program> program, bool keep_launches, std::vector<DeviceUse> devices)
    : program_(std::move(program)), keep_launches_(keep_launches), devices_(std::move(devices)) {
  Clear();
}

void Profiler::Clear() {
  const auto devices = static_cast<uint32_t>(program_->devices.size());
  kernels_.clear();
  for (uint32_t device = 0; device < devices; ++device)
    for (uint32_t id = 0; id < program_->kernels.size(); ++id) kernels_.push_back({KernelId{id}, device});
  launches_.clear();
  copy_records_.clear();
  copies_.clear();
  for (uint32_t from = 0; from < devices; ++from)
    for (uint32_t to = 0; to < devices; ++to) copies_.push_back({from, to});
}

LaunchObserver Profiler::observer() {
  return [this](const LaunchRecord& record) {
    KernelProfile& row = kernels_[record.device * program_->kernels.size() + record.kernel.index];
    ++row.launches;
    row.nanoseconds += record.end_ns - record.begin_ns;
    row.flops += record.flops;
    row.bytes += record.bytes;
    if (limits_ && record.device == kHostDevice)
      AddLimits(*limits_, program_->kernels[record.kernel.index], record, &row);
    if (keep_launches_) launches_.push_back(record);
  };
}

CopyObserver Profiler::copy_observer() {
  return [this](const CopyRecord& record) {
    CopyProfile& row = copies_[record.from * program_->devices.size() + record.to];
    ++row.copies;
    row.nanoseconds += record.end_ns - record.begin_ns;
    row.bytes += record.bytes;
    if (keep_launches_) copy_records_.push_back(record);
  };
}

std::vector<CopyProfile> Profiler::Copies() const {
  std::vector<CopyProfile> rows;
  std::copy_if(copies_.begin(), copies_.end(), std::back_inserter(rows),
               [](const CopyProfile& row) { return row.copies > 0; });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const CopyProfile& a, const CopyProfile& b) { return a.nanoseconds > b.nanoseconds; });
  return rows;
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

int64_t Profiler::total_nanoseconds() const {
  int64_t total = 0;
  for (const KernelProfile& row : kernels_) total += row.nanoseconds;
  for (const CopyProfile& row : copies_) total += row.nanoseconds;
  return total;
}

std::string Profiler::DeviceName(uint32_t device) const {
  for (const DeviceUse& use : devices_)
    if (use.device == device) return use.name;
  return DeviceSpecName(program_->devices[device]);
}

std::string Profiler::Table() const {
  std::string text = std::string(kHeader) + (limits_ ? kLimitsHeader : "") + "  device     kernel\n";
  const std::vector<KernelProfile> rows = Kernels();
  KernelProfile total;
  for (const KernelProfile& row : rows) {
    total.launches += row.launches;
    total.nanoseconds += row.nanoseconds;
    total.flops += row.flops;
    total.bytes += row.bytes;
    total.flops_ns += row.flops_ns;
    total.bytes_ns += row.bytes_ns;
    total.limit_ns += row.limit_ns;
  }
  const std::vector<CopyProfile> copies = Copies();
  for (const CopyProfile& row : copies) {
    total.launches += row.copies;
    total.nanoseconds += row.nanoseconds;
    total.bytes += row.bytes;
  }
  for (const KernelProfile& row : rows) {
    const KernelSpec& kernel = program_->kernels[row.kernel.index];
    AppendLine(&text, row, total.nanoseconds, limits_.has_value(), DeviceName(row.device), kernel.name,
               kernel.source_node);
  }
  for (const CopyProfile& row : copies)
    AppendLine(&text, {{}, row.to, row.copies, row.nanoseconds, 0, row.bytes}, total.nanoseconds,
               limits_.has_value(), DeviceName(row.to), "copy from " + DeviceName(row.from), "");
  AppendLine(&text, total, total.nanoseconds, limits_.has_value(), "", "total", "");
  return text;
}

std::string Profiler::ChromeTrace() const {
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  int64_t origin = launches_.empty() ? INT64_MAX : launches_.front().begin_ns;
  if (!copy_records_.empty()) origin = std::min(origin, copy_records_.front().begin_ns);
  const char* separator = "";
  // Names and times, up to the arguments.
  auto begin = [&](std::string_view name, std::string_view category, uint32_t device, int64_t begin_ns,
                   int64_t end_ns) {
    fmt::format_to(std::back_inserter(text),
                   "{}\n{{\"name\": \"{}\", \"cat\": \"{}\", \"ph\": \"X\", \"pid\": 1, \"tid\": {}, "
                   "\"ts\": {:.3f}, \"dur\": {:.3f}, \"args\": {{\"device\": \"{}\", ",
                   separator, JsonEscaped(name), category, 1 + device,
                   static_cast<double>(begin_ns - origin) / 1e3, static_cast<double>(end_ns - begin_ns) / 1e3,
                   DeviceName(device));
    separator = ",";
  };
  auto place = [&](FunctionId function_id, uint32_t word) {
    const FunctionSpec& function = program_->functions[function_id.index];
    fmt::format_to(std::back_inserter(text), "\"function\": \"{}\", \"node\": \"{}\", ",
                   JsonEscaped(function.name), JsonEscaped(program_->SourceNode(function, word)));
  };
  for (const LaunchRecord& launch : launches_) {
    const KernelSpec& kernel = program_->kernels[launch.kernel.index];
    const int64_t duration = launch.end_ns - launch.begin_ns;
    begin(kernel.name, "kernel", launch.device, launch.begin_ns, launch.end_ns);
    place(launch.function, launch.word);
    fmt::format_to(std::back_inserter(text), "\"grid\": {}, \"gflops\": {:.3f}, \"gbytes\": {:.3f}}}}}",
                   launch.grid, PerNanosecond(launch.flops, duration), PerNanosecond(launch.bytes, duration));
  }
  for (const CopyRecord& copy : copy_records_) {
    begin("copy from " + DeviceName(copy.from), "copy", copy.to, copy.begin_ns, copy.end_ns);
    place(copy.function, copy.word);
    fmt::format_to(std::back_inserter(text), "\"bytes\": {}, \"gbytes\": {:.3f}}}}}", copy.bytes,
                   PerNanosecond(copy.bytes, copy.end_ns - copy.begin_ns));
  }
  return text + "\n]}\n";
}

}  // namespace tvmvm
