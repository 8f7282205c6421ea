#include "cli/machine_probe.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tvmvm::cli {
namespace {

#if defined(__x86_64__)

using Clock = std::chrono::steady_clock;

constexpr int64_t kRounds = 4096;  // of one call of an arithmetic probe
constexpr int kChains = 12;        // that depend on themselves alone: latency times issue of every known CPU
constexpr int kTries = 6;          // at least, and for as long as the following says
constexpr auto kTry = std::chrono::microseconds(500);
constexpr auto kArithmetic = std::chrono::milliseconds(100), kMemory = std::chrono::milliseconds(20);
constexpr int64_t kLeast = int64_t{512} << 10;  // bytes between two looks at the clock
constexpr int64_t kSmallest = int64_t{8} << 10, kLargest = int64_t{256} << 20;

// Keeps a value in a register and the compiler from knowing it. No function: the register is one of the
// caller's target.
#define TVMVM_HIDE(value) asm volatile("" : "+v"(value))  // NOLINT

// A loop of kChains chains in registers of their own, hence names and no array: a step of each in every
// round.
// clang-format off
#define TVMVM_CHAINS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define TVMVM_DEFINE(i) auto x##i = a;
#define TVMVM_ADVANCE(i) { auto& x = x##i; x = TVMVM_STEP; TVMVM_HIDE(x); }
#define TVMVM_ARITHMETIC_PROBE(name, features, zero)           \
  __attribute__((target(features), noinline)) void name() {    \
    auto a = zero;                                             \
    TVMVM_HIDE(a);                                             \
    TVMVM_CHAINS(TVMVM_DEFINE)                                 \
    for (int64_t round = 0; round < kRounds; ++round) {        \
      TVMVM_CHAINS(TVMVM_ADVANCE)                              \
    }                                                          \
  }

#define TVMVM_STEP _mm256_fmadd_ps(x, a, a)
TVMVM_ARITHMETIC_PROBE(F32By256, "avx2,fma", _mm256_setzero_ps())
#undef TVMVM_STEP
#define TVMVM_STEP _mm256_fmadd_pd(x, a, a)
TVMVM_ARITHMETIC_PROBE(F64By256, "avx2,fma", _mm256_setzero_pd())
#undef TVMVM_STEP
#define TVMVM_STEP _mm256_add_epi32(x, _mm256_madd_epi16(x, a))
TVMVM_ARITHMETIC_PROBE(BytesBy256, "avx2,fma", _mm256_setzero_si256())
#undef TVMVM_STEP
#define TVMVM_STEP _mm512_fmadd_ps(x, a, a)
TVMVM_ARITHMETIC_PROBE(F32By512, "avx512f", _mm512_setzero_ps())
#undef TVMVM_STEP
#define TVMVM_STEP _mm512_fmadd_pd(x, a, a)
TVMVM_ARITHMETIC_PROBE(F64By512, "avx512f", _mm512_setzero_pd())
#undef TVMVM_STEP
#define TVMVM_STEP _mm512_add_epi32(x, _mm512_madd_epi16(x, a))
TVMVM_ARITHMETIC_PROBE(BytesBy512, "avx512f,avx512bw", _mm512_setzero_si512())
#undef TVMVM_STEP
#define TVMVM_STEP _mm512_dpbusd_epi32(x, a, a)
TVMVM_ARITHMETIC_PROBE(DotsBy512, "avx512f,avx512vnni", _mm512_setzero_si512())
#undef TVMVM_STEP
#undef TVMVM_ARITHMETIC_PROBE
#undef TVMVM_ADVANCE
#undef TVMVM_DEFINE
#undef TVMVM_CHAINS
// clang-format on

struct ArithmeticProbe {
  void (*run)();
  int64_t operations;  // of one step of a chain
};

struct Probes {
  ArithmeticProbe f32, f64, bytes;
  void (*read)(const char* memory, int64_t bytes);
  void (*copy)(char* to, const char* from, int64_t bytes);
};

// Eight vectors at a time: the sizes are multiples of that.
#define TVMVM_MEMORY_PROBES(suffix, features, vector, load, store)                                           \
  __attribute__((target(features), noinline)) void Read##suffix(const char* memory, int64_t bytes) {         \
    for (const char* at = memory; at < memory + bytes; at += 8 * sizeof(vector)) {                           \
      _Pragma("GCC unroll 8") for (int i = 0; i < 8; ++i) {                                                  \
        vector value = load(reinterpret_cast<const vector*>(at) + i);                                        \
        TVMVM_HIDE(value);                                                                                   \
      }                                                                                                      \
    }                                                                                                        \
  }                                                                                                          \
  __attribute__((target(features), noinline)) void Copy##suffix(char* to, const char* from, int64_t bytes) { \
    for (int64_t at = 0; at < bytes; at += 8 * static_cast<int64_t>(sizeof(vector))) {                       \
      _Pragma("GCC unroll 8") for (int i = 0; i < 8; ++i) {                                                  \
        vector value = load(reinterpret_cast<const vector*>(from + at) + i);                                 \
        TVMVM_HIDE(value);                                                                                   \
        store(reinterpret_cast<vector*>(to + at) + i, value);                                                \
      }                                                                                                      \
    }                                                                                                        \
  }
TVMVM_MEMORY_PROBES(By256, "avx2", __m256i, _mm256_load_si256, _mm256_store_si256)
TVMVM_MEMORY_PROBES(By512, "avx512f", __m512i, _mm512_load_si512, _mm512_store_si512)
#undef TVMVM_MEMORY_PROBES

constexpr Probes kBy256 = {{F32By256, 16}, {F64By256, 8}, {BytesBy256, 32}, ReadBy256, CopyBy256};
constexpr Probes kBy512 = {{F32By512, 32}, {F64By512, 16}, {BytesBy512, 64}, ReadBy512, CopyBy512};
constexpr Probes kVnni = {{F32By512, 32}, {F64By512, 16}, {DotsBy512, 128}, ReadBy512, CopyBy512};

const Probes* ProbesFor(CpuLevel level) {
  switch (level) {
    case CpuLevel::kX86_64_V3:
      return &kBy256;
    case CpuLevel::kX86_64_V4:
      return &kBy512;
    case CpuLevel::kX86_64_V4Vnni:
      return &kVnni;
    default:
      return nullptr;
  }
}

// Runs the same on several threads at once. `work(thread)` is repeated for kTry in each of the tries that fit
// into `budget`; the result is how often all threads together did it in a nanosecond, in the best try.
double Rate(int threads, Clock::duration budget, const std::function<void(int)>& work) {
  double best = 0;
  std::atomic<bool> is_done{false};
  std::barrier meeting(threads);
  std::vector<double> rates(static_cast<size_t>(threads));
  auto run = [&](int thread) {
    work(thread);
    const Clock::time_point first = Clock::now();
    for (int tries = 0; !is_done.load(); ++tries) {
      meeting.arrive_and_wait();
      int64_t times = 0;
      const Clock::time_point begin = Clock::now();
      Clock::time_point now = begin;
      for (; now - begin < kTry; now = Clock::now(), ++times) work(thread);
      rates[static_cast<size_t>(thread)] =
          static_cast<double>(times) / std::chrono::duration<double, std::nano>(now - begin).count();
      meeting.arrive_and_wait();
      if (thread == 0) {
        best = std::max(best, std::accumulate(rates.begin(), rates.end(), 0.0));
        is_done = tries + 1 >= kTries && Clock::now() - first >= budget;
      }
      meeting.arrive_and_wait();
    }
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  for (std::thread& other : others) other.join();
  return best;
}

double OperationsPerNanosecond(const ArithmeticProbe& probe, int threads) {
  return Rate(threads, kArithmetic, [&](int) { probe.run(); }) *
         static_cast<double>(probe.operations * kRounds * kChains);
}

struct Free {
  void operator()(char* memory) const { ::operator delete (memory, std::align_val_t{4096}); }
};
using Memory = std::unique_ptr<char, Free>;

// Each thread has a part of `size` bytes, within one block.
double BandwidthAt(const Probes& probes, char* memory, int64_t size, int threads) {
  const int64_t part = size / threads / 1024 * 1024;
  if (part == 0) return 0;
  const int64_t passes = std::max<int64_t>(1, kLeast / part);
  auto own = [&](int thread) { return memory + thread * part; };
  const double read = Rate(threads, kMemory, [&](int thread) {
    for (int64_t pass = 0; pass < passes; ++pass) probes.read(own(thread), part);
  });
  const double copy = Rate(threads, kMemory, [&](int thread) {
    char* to = own(thread) + part / 2;
    for (int64_t pass = 0; pass < passes; ++pass) probes.copy(to, own(thread), part / 2);
  });
  return std::max(read, copy) * static_cast<double>(part * passes);
}

#endif

}  // namespace

MachineLimits MeasureMachine(CpuLevel level, int threads) {
  MachineLimits limits;
#if defined(__x86_64__)
  const Probes* probes = ProbesFor(level);
  if (probes == nullptr) return limits;
  limits.f32 = OperationsPerNanosecond(probes->f32, threads);
  limits.f64 = OperationsPerNanosecond(probes->f64, threads);
  limits.bytes = OperationsPerNanosecond(probes->bytes, threads);
  const Memory memory(static_cast<char*>(::operator new (kLargest, std::align_val_t{4096})));
  std::fill_n(memory.get(), kLargest, char{1});
  for (int64_t size = kSmallest; size <= kLargest; size *= 2)
    limits.bandwidths.push_back({size, BandwidthAt(*probes, memory.get(), size, threads)});
  // What fits into less fits into more: a slower try at a smaller size was disturbed.
  for (size_t i = limits.bandwidths.size() - 1; i-- > 0;)
    limits.bandwidths[i].bytes = std::max(limits.bandwidths[i].bytes, limits.bandwidths[i + 1].bytes);
#else
  (void)level, (void)threads;
#endif
  return limits;
}

}  // namespace tvmvm::cli
