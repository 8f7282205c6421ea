// What a device's queue costs: an empty call, and kernels in a row.
//
//   queue_bench DEVICE KERNELS
//
// DEVICE as for tvm-vm --device; KERNELS: the folder with the conformance suite's kernels in the device's
// form (tests/devices/kernels for OpenCL, test_kernels in the build folder for Vulkan).
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "bytecode/spirv_library.h"
#include "tvm-vm/device_list.h"

namespace tvmvm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kNumbers = 64;  // of 32 bits, in each buffer: one work-group's
constexpr int kRow = 200;         // kernels in a row
constexpr std::chrono::milliseconds kLong{300};

std::vector<std::byte> ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::byte> bytes;
  for (std::istreambuf_iterator<char> at(file), end; at != end; ++at)
    bytes.push_back(static_cast<std::byte>(*at));
  return bytes;
}

Expected<std::vector<std::byte>> Library(DeviceKind kind, const std::string& folder) {
  if (kind == DeviceKind::kOpenCl) return ReadBytes(folder + "/conformance.cl");
  const std::vector<std::byte> bytes = ReadBytes(folder + "/advance.spv");
  SpirvModule module{"advance", std::vector<uint32_t>(bytes.size() / 4)};
  if (!bytes.empty()) std::memcpy(module.words.data(), bytes.data(), module.words.size() * 4);
  return PackSpirvLibrary({std::move(module)});
}

// A device, a kernel y = 3 x + 1, and memory for it.
class Bench {
 public:
  static Expected<std::unique_ptr<Bench>> Create(const std::string& name, const std::string& folder) {
    auto bench = std::make_unique<Bench>();
    TVMVM_TRY(bench->device_, OpenDevice(name, DeviceOptions::FromEnvironment()));
    const DeviceKind kind = bench->device_->target().device;
    TVMVM_TRY(bench->library_, Library(kind, folder));
    KernelSpec kernel;
    kernel.name = kernel.symbol = "advance";
    kernel.device = DeviceClass::kGpu;
    kernel.scalar_count = 1;
    kernel.buffers = {Access::kRead, Access::kWrite};
    KernelLibrarySpec library;
    library.device = kind;
    library.form = kind == DeviceKind::kOpenCl ? KernelForm::kOpenClC : KernelForm::kSpirV;
    library.bytes = bench->library_;
    TVMVM_TRY(bench->kernels_, bench->device_->LoadKernels({&kernel, 1}, {&library, 1}));
    TVMVM_TRY(bench->queue_, bench->device_->NewQueue());
    TVMVM_TRY(bench->memory_, bench->device_->Allocate(kBytes * (kRow + 1), nullptr));
    return bench;
  }

  const std::string& hardware() const { return device_->description().hardware; }

  // Upload, one kernel, read back, wait.
  Status Call() {
    TVMVM_CHECK_OK(queue_->CopyIn(Part(0), host_, kBytes, nullptr));
    TVMVM_CHECK_OK(Launch(0, 1));
    TVMVM_CHECK_OK(queue_->CopyOut(host_, Part(1), kBytes, nullptr));
    return Wait();
  }
  // Each reads what the one before it wrote.
  Status Dependent(double* submitted) {
    return Row(
        submitted, [](int i) { return i & 1; }, 0);
  }
  // All read the same and write places of their own.
  Status Independent(double* submitted) {
    return Row(
        submitted, [](int i) { return i + 1; }, 1);
  }

 private:
  static constexpr int64_t kBytes = kNumbers * 4;

  DeviceSpan Part(int64_t index) const { return {memory_, index * kBytes, kBytes}; }
  Status Launch(int from, int to) {
    const DeviceSpan buffers[] = {Part(from), Part(to)};
    LaunchRequest request;
    request.kernels = kernels_.get();
    request.buffers = buffers;
    request.scalars = {&kNumbers, 1};
    if (Expected<int32_t> code = queue_->Launch(request, nullptr); !code) return tl::unexpected(code.error());
    return {};
  }
  template <class To>
  Status Row(double* submitted, To to, int from_same) {
    const auto begin = Clock::now();
    for (int i = 0; i < kRow; ++i) TVMVM_CHECK_OK(from_same ? Launch(0, to(i)) : Launch(to(i), to(i + 1)));
    TVMVM_CHECK_OK(queue_->Flush());
    *submitted += std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    return Wait();
  }
  Status Wait() {
    if (auto done = queue_->Wait(nullptr); !done) return tl::unexpected(done.error());
    return {};
  }

  std::shared_ptr<Device> device_;
  std::vector<std::byte> library_;
  std::unique_ptr<KernelSet> kernels_;
  std::unique_ptr<Queue> queue_;
  DeviceMemory memory_;
  int32_t host_[kNumbers] = {};

 public:
  ~Bench() {
    queue_.reset();
    if (device_) device_->Free(memory_);
  }
};

// Microseconds of one turn, after a few that do not count.
template <class Turn>
Expected<double> Microseconds(Turn turn) {
  for (int i = 0; i < 5; ++i) TVMVM_CHECK_OK(turn());
  int64_t turns = 0;
  const auto begin = Clock::now();
  while (Clock::now() - begin < kLong) {
    TVMVM_CHECK_OK(turn());
    ++turns;
  }
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / static_cast<double>(turns);
}

Status Print(const char* what, Bench* bench, Status (Bench::*row)(double*)) {
  double submitted = 0;
  int64_t turns = 0;
  auto turn = [&] {
    ++turns;
    return (bench->*row)(&submitted);
  };
  TVMVM_TRY(const double each, Microseconds(turn));
  std::printf("%-38s %8.2f us a kernel, of which the host submits %.2f\n", what, each / kRow,
              submitted / static_cast<double>(turns) / kRow);
  return {};
}

Status Run(const std::string& device, const std::string& folder) {
  TVMVM_TRY(std::unique_ptr<Bench> bench, Bench::Create(device, folder));
  std::printf("%s\n", bench->hardware().c_str());
  TVMVM_TRY(const double call, Microseconds([&] { return bench->Call(); }));
  std::printf("%-38s %8.2f us\n", "upload, kernel, read back", call);
  TVMVM_CHECK_OK(Print("kernels that wait for one another", bench.get(), &Bench::Dependent));
  return Print("kernels that do not", bench.get(), &Bench::Independent);
}

}  // namespace
}  // namespace tvmvm

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s DEVICE KERNELS\n", argv[0]);
    return 2;
  }
  tvmvm::Status status = tvmvm::Run(argv[1], argv[2]);
  if (status) return 0;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return 1;
}
