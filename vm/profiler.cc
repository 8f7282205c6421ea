#include "tvm-vm/profiler.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "bytecode/format_text.h"

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
      AppendText(&escaped, "\\u{:04x}", static_cast<int>(c));
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
  if (row.limit_ns <= 0) return FormatText("{:>8}{:>8}{:>8}", "-", "-", "-");
  const double percent = 100.0 / static_cast<double>(std::max<int64_t>(1, row.nanoseconds));
  return FormatText("{:8.1f}{:8.1f}{:8.1f}", row.flops_ns * percent, row.bytes_ns * percent,
                    row.limit_ns * percent);
}

void AppendLine(std::string* text, const KernelProfile& row, int64_t total_ns, bool has_limits,
                std::string_view device, std::string_view name, std::string_view node) {
  const double share =
      total_ns > 0 ? 100.0 * static_cast<double>(row.nanoseconds) / static_cast<double>(total_ns) : 0.0;
  const double each =
      row.launches > 0 ? static_cast<double>(row.nanoseconds) / static_cast<double>(row.launches) : 0.0;
  AppendText(text, "{:6.1f} {:10.3f} {:9} {:10.2f} {:9.2f} {:8.2f}{}  {:<10} {}", share,
             static_cast<double>(row.nanoseconds) / 1e6, row.launches, each / 1e3,
             PerNanosecond(row.flops, row.nanoseconds), PerNanosecond(row.bytes, row.nanoseconds),
             has_limits ? LimitColumns(row) : "", device, name);
  if (!node.empty()) AppendText(text, "  {}", node);
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

// Writes events of the Chrome trace format, whose times are microseconds from the first of them.
class TraceWriter {
 public:
  explicit TraceWriter(int64_t origin_ns) : origin_ns_(origin_ns) {}

  // `what`: "process_name" or "thread_name".
  void Name(std::string_view what, uint32_t row, std::string_view name) {
    Separate();
    AppendText(&text_,
               "{{\"name\": \"{}\", \"ph\": \"M\", \"pid\": 1, \"tid\": {}, \"args\": {{\"name\": \"{}\"}}}}",
               what, row, JsonEscaped(name));
  }
  void Counter(std::string_view name, int64_t at_ns, int64_t value) {
    Separate();
    AppendText(&text_,
               "{{\"name\": \"{}\", \"ph\": \"C\", \"pid\": 1, \"ts\": {:.3f}, \"args\": {{\"bytes\": {}}}}}",
               name, Microseconds(at_ns), value);
  }
  // Arguments follow, then Close.
  void Begin(std::string_view name, std::string_view category, uint32_t row, int64_t begin_ns,
             int64_t end_ns) {
    Separate();
    AppendText(&text_,
               "{{\"name\": \"{}\", \"cat\": \"{}\", \"ph\": \"X\", \"pid\": 1, \"tid\": {}, \"ts\": "
               "{:.3f}, \"dur\": {:.3f}, "
               "\"args\": {{",
               JsonEscaped(name), category, row, Microseconds(begin_ns),
               static_cast<double>(end_ns - begin_ns) / 1e3);
    first_argument_ = true;
  }
  void Argument(std::string_view name, std::string_view text) {
    AppendText(&text_, "{}\"{}\": \"{}\"", Comma(), JsonEscaped(name), JsonEscaped(text));
  }
  void Argument(std::string_view name, double number) {
    AppendText(&text_, "{}\"{}\": {:.3f}", Comma(), name, number);
  }
  void Argument(std::string_view name, int64_t number) {
    AppendText(&text_, "{}\"{}\": {}", Comma(), name, number);
  }
  void Close() { text_ += "}}"; }
  std::string Take() { return std::move(text_) + "\n]}\n"; }

 private:
  void Separate() { text_ += std::exchange(first_event_, false) ? "\n" : ",\n"; }
  const char* Comma() { return std::exchange(first_argument_, false) ? "" : ", "; }
  double Microseconds(int64_t at_ns) const { return static_cast<double>(at_ns - origin_ns_) / 1e3; }

  int64_t origin_ns_;
  std::string text_ = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  bool first_event_ = true, first_argument_ = true;
};

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
  int64_t origin = INT64_MAX;
  for (const TraceSlice& slice : slices_) origin = std::min(origin, slice.begin_ns);
  if (!launches_.empty()) origin = std::min(origin, launches_.front().begin_ns);
  if (!copy_records_.empty()) origin = std::min(origin, copy_records_.front().begin_ns);
  constexpr uint32_t kSliceRow = 0;
  const auto row_of = [](uint32_t device) { return 1 + device; };
  TraceWriter writer(origin);
  writer.Name("process_name", 0, "tvm-vm " + program_->provenance.source);
  if (!slices_.empty()) writer.Name("thread_name", kSliceRow, "runs");
  for (uint32_t device = 0; device < program_->devices.size(); ++device) {
    const bool is_used =
        devices_.empty() || std::any_of(devices_.begin(), devices_.end(),
                                        [device](const DeviceUse& use) { return use.device == device; });
    if (is_used) writer.Name("thread_name", row_of(device), DeviceName(device));
  }
  for (const TraceSlice& slice : slices_) {
    writer.Begin(slice.name, "run", kSliceRow, slice.begin_ns, slice.end_ns);
    for (const auto& [name, text] : slice.facts) writer.Argument(name, text);
    writer.Close();
    if (slice.held_bytes >= 0) writer.Counter("memory held", slice.end_ns, slice.held_bytes);
  }
  auto place = [&](uint32_t device, FunctionId function_id, uint32_t word) {
    const FunctionSpec& function = program_->functions[function_id.index];
    writer.Argument("device", DeviceName(device));
    writer.Argument("function", function.name);
    writer.Argument("node", program_->SourceNode(function, word));
  };
  for (const LaunchRecord& launch : launches_) {
    const int64_t duration = launch.end_ns - launch.begin_ns;
    writer.Begin(program_->kernels[launch.kernel.index].name, "kernel", row_of(launch.device),
                 launch.begin_ns, launch.end_ns);
    place(launch.device, launch.function, launch.word);
    writer.Argument("grid", launch.grid);
    writer.Argument("gflops", PerNanosecond(launch.flops, duration));
    writer.Argument("gbytes", PerNanosecond(launch.bytes, duration));
    writer.Close();
  }
  for (const CopyRecord& copy : copy_records_) {
    writer.Begin("copy from " + DeviceName(copy.from), "copy", row_of(copy.to), copy.begin_ns, copy.end_ns);
    place(copy.to, copy.function, copy.word);
    writer.Argument("bytes", copy.bytes);
    writer.Argument("gbytes", PerNanosecond(copy.bytes, copy.end_ns - copy.begin_ns));
    writer.Close();
  }
  return writer.Take();
}

}  // namespace tvmvm
