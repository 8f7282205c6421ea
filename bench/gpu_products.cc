// Times the kernels that gpu_products_compile made, and checks a sample of what they give:
//
//   gpu_products FOLDER DEVICE [PART-OF-NAME ...]        gpu_products made vulkan:nvidia m4096 chosen
//
// One line each: name, work-groups, milliseconds of one launch in a row of launches (best of five rows),
// TFLOP/s, largest error of the sample. Needs the runtime library alone.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tvm-vm/device_list.h"

namespace tvmvm {
namespace {

struct Listed {
  std::string name, spirv, opencl;
  int64_t m = 0, k = 0, n = 0, groups = 0;
  bool is_half = false;  // the factors
};

std::vector<Listed> ReadList(const std::string& folder) {
  std::vector<Listed> list;
  std::ifstream in(folder + "/kernels.txt");
  for (std::string line; std::getline(in, line);) {
    Listed one;
    std::istringstream words(line);
    if (words >> one.name >> one.m >> one.k >> one.n >> one.groups >> one.spirv >> one.opencl) {
      std::string factors;
      one.is_half = words >> factors && factors == "f16";
      list.push_back(std::move(one));
    }
  }
  return list;
}

std::vector<std::byte> ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto* data = reinterpret_cast<const std::byte*>(text.data());
  return std::vector<std::byte>(data, data + text.size());
}

// What a bench cannot go on without.
void Must(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  std::exit(1);
}

void Wait(Queue& queue) {
  Expected<std::optional<KernelFailure>> failure = queue.Wait(nullptr);
  Must(failure ? Status{} : Status(tl::unexpected(failure.error())));
}

// Of a number that is a whole count of 1024ths, at most 1.
uint16_t HalfBits(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  if (number == 0) return 0;
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | (((bits & 0x7fffffff) - 0x38000000) >> 13));
}

class Matrix {
 public:
  Matrix(Device& device, Queue& queue, int64_t count, unsigned seed, bool is_half = false)
      : numbers(static_cast<size_t>(count)) {
    std::minstd_rand random(seed);
    for (float& x : numbers) x = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1024.0f;
    span.memory = device.Allocate(bytes(), nullptr).value();
    if (!is_half) {
      Must(queue.CopyIn(span, numbers.data(), bytes(), nullptr));
      return;
    }
    std::vector<uint16_t> halves;
    for (float x : numbers) halves.push_back(HalfBits(x));
    Must(queue.CopyIn(span, halves.data(), bytes() / 2, nullptr));
  }
  int64_t bytes() const { return static_cast<int64_t>(numbers.size() * sizeof(float)); }

  std::vector<float> numbers;
  DeviceSpan span;
};

double LargestError(const Listed& one, const Matrix& x, const Matrix& y, const std::vector<float>& result) {
  std::minstd_rand random(11);
  double largest = 0;
  for (int sample = 0; sample < 200; ++sample) {
    int64_t row = static_cast<int64_t>(random()) % one.m, column = static_cast<int64_t>(random()) % one.n;
    double sum = 0;
    for (int64_t k = 0; k < one.k; ++k)
      sum += double{x.numbers[static_cast<size_t>(row * one.k + k)]} *
             double{y.numbers[static_cast<size_t>(k * one.n + column)]};
    double error = std::abs(sum - double{result[static_cast<size_t>(row * one.n + column)]});
    largest = std::isnan(error) ? INFINITY : std::max(largest, error);
  }
  return largest;
}

double MillisecondsOf(const std::function<void()>& run) {
  auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

Status Measure(Device& device, const std::string& folder, const Listed& one) {
  bool is_vulkan = device.target().device == DeviceKind::kVulkan;
  std::vector<std::byte> bytes = ReadBytes(folder + "/" + (is_vulkan ? one.spirv : one.opencl));
  KernelSpec kernel;
  kernel.name = kernel.symbol = "product";
  kernel.device = DeviceClass::kGpu;
  kernel.buffers = {Access::kRead, Access::kRead, Access::kWrite};
  KernelLibrarySpec library{device.target().device, is_vulkan ? KernelForm::kSpirV : KernelForm::kOpenClC, "",
                            bytes};
  TVMVM_TRY(std::unique_ptr<KernelSet> kernels, device.LoadKernels({&kernel, 1}, {&library, 1}));
  TVMVM_TRY(std::unique_ptr<Queue> queue, device.NewQueue());
  Matrix x(device, *queue, one.m * one.k, 1, one.is_half), y(device, *queue, one.k * one.n, 2, one.is_half),
      result(device, *queue, one.m * one.n, 3);
  DeviceSpan buffers[] = {x.span, y.span, result.span};
  LaunchRequest request;
  request.kernels = kernels.get();
  request.grid[0] = one.groups;
  request.buffers = buffers;
  auto launch = [&](int count) {
    for (int i = 0; i < count; ++i) queue->Launch(request, nullptr).value();
    Wait(*queue);
  };
  launch(1);
  double once = MillisecondsOf([&] { launch(1); });
  int count = std::clamp(static_cast<int>(40 / std::max(once, 0.001)), 1, 400);
  double best = once;
  for (int row = 0; row < 5; ++row) best = std::min(best, MillisecondsOf([&] { launch(count); }) / count);
  TVMVM_CHECK_OK(queue->CopyOut(result.numbers.data(), result.span, result.bytes(), nullptr));
  TVMVM_TRY(std::optional<KernelFailure> failure, queue->Wait(nullptr));
  double flops = 2.0 * static_cast<double>(one.m * one.k) * static_cast<double>(one.n);
  std::printf("%-44s %6lld groups %9.4f ms %7.2f TFLOP/s  error %.2g%s\n", one.name.c_str(),
              static_cast<long long>(one.groups), best, flops / best / 1e9,
              LargestError(one, x, y, result.numbers), failure ? " FAILED" : "");
  std::fflush(stdout);
  for (const DeviceSpan& span : buffers) queue->FreeAfterWork(span.memory);
  Wait(*queue);
  return {};
}

}  // namespace
}  // namespace tvmvm

int main(int argc, char** argv) {
  using namespace tvmvm;
  if (argc < 3) {
    std::fprintf(stderr, "usage: gpu_products FOLDER DEVICE [PART-OF-NAME ...]\n");
    return 2;
  }
  auto device = OpenDevice(argv[2], DeviceOptions{});
  if (!device) {
    std::fprintf(stderr, "%s\n", device.error().message.c_str());
    return 1;
  }
  std::printf("%s: %s\n", (*device)->name().c_str(), (*device)->description().hardware.c_str());
  for (const Listed& one : ReadList(argv[1])) {
    bool is_wanted = argc == 3;
    for (int i = 3; i < argc; ++i) is_wanted |= one.name.find(argv[i]) != std::string::npos;
    if (!is_wanted) continue;
    Status status = Measure(**device, argv[1], one);
    if (!status) std::printf("%-44s %s\n", one.name.c_str(), status.error().message.c_str());
  }
  return 0;
}
