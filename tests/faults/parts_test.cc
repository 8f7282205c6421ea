// Parts of the library without memory of the host: what others hand them to keep is not lost.
#include <atomic>
#include <stdexcept>

#include "allocator/account.h"
#include "allocator/suballocator.h"
#include "devices/null/null_device.h"
#include "tests/faults/fail_each.h"
#include "tvm-vm/cpu_device.h"
#include "tvm-vm/tensor.h"

namespace tvmvm::testing {
namespace {

// Blocks that are numbers alone.
class Numbers : public BlockSource {
 public:
  Expected<Block> AllocateBlock(int64_t bytes) override {
    ++live;
    return Block{nullptr, ++last_, bytes};
  }
  void FreeBlock(const Block&) override { --live; }
  int live = 0;

 private:
  uint64_t last_ = 0;
};

template <class T>
Status StatusOf(const Expected<T>& result) {
  return result ? Status() : Status(tl::unexpected(result.error()));
}

// `body`, whose exceptions are the error that a public function makes of them.
template <class Body>
Status OrOutOfMemory(const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return tl::unexpected(Error{Code::kOutOfMemory, ""});
  }
}

TEST(PartsWithoutMemory, SuballocatorLosesNoHole) {
  SuballocatorOptions options;
  options.owner = "it";
  options.alignment = 64;
  options.first_block_bytes = options.largest_block_bytes = 4096;
  for (const Fault& fault : MemoryFaults()) {
    Numbers blocks;
    Suballocator memory(&blocks, options);
    // Holes on both sides, so that the piece's own joins them.
    const Suballocator::Piece* pieces[3] = {};
    FailEach(
        "suballocator, " + fault.name, fault,
        [&] {
          return OrOutOfMemory([&]() -> Status {
            for (auto& piece : pieces) {
              TVMVM_TRY(piece, memory.Allocate(1000));
            }
            for (int k : {0, 2, 1}) memory.Free(std::exchange(pieces[k], nullptr));
            return {};
          });
        },
        [](const Error& error) { return IsOutOfMemory(error); },
        [&] {
          for (auto& piece : pieces) memory.Free(std::exchange(piece, nullptr));
          EXPECT_EQ(memory.statistics().live_bytes, 0);
          memory.Trim();
          EXPECT_EQ(blocks.live, 0);
        });
  }
}

TEST(PartsWithoutMemory, AccountsTakeInTheWholeChainOrNowhere) {
  for (const Fault& fault : MemoryFaults()) {
    auto parent = std::make_shared<MemoryAccount>("a parent with a name of some length", nullptr, 10);
    MemoryAccount account("a child with a name of some length", parent);
    bool has_failed = true;
    for (int64_t number = 0; has_failed; ++number) {
      Status status;
      {
        const Failing failing(fault.kinds, number, fault.then, 0);
        status = account.Reserve(100, "something with a name of some length");
        has_failed = failing.has_failed();
      }
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code, Code::kOutOfMemory);
      EXPECT_EQ(account.held_bytes(), 0) << "call " << number;
      EXPECT_EQ(parent->held_bytes(), 0) << "call " << number;
    }
  }
}

TEST(PartsWithoutMemory, TensorsOnADeviceGiveItsMemoryBack) {
  for (const Fault& fault : MemoryFaults()) {
    const std::shared_ptr<Device> device = CreateNullDevice({});
    const Tensor host = Ints({1, 2, 3});
    FailEach(
        "tensor, " + fault.name, fault,
        [&]() -> Status {
          TVMVM_TRY(const Tensor there, host.CopyTo(device));
          TVMVM_TRY(const Tensor back, there.CopyTo(nullptr));
          return StatusOf(Tensor::Allocate(DType::kString, {7}));
        },
        IsOutOfMemory, [&] { EXPECT_EQ(device->statistics().live_bytes, 0); });
  }
}

// A pool that gets no threads works alone.
TEST(PartsWithoutMemory, PoolsWorkWithTheThreadsThatThereAre) {
  for (const Fault& fault : MemoryFaults())
    for (int64_t number = 0; number < 12; ++number) {
      const auto pool = CreateWorkerPool(4);
      std::atomic<int64_t> sum{0};
      auto task = [](void* context, int, int64_t begin, int64_t end) {
        static_cast<std::atomic<int64_t>*>(context)->fetch_add(end - begin);
      };
      {
        const Failing failing(fault.kinds, number, fault.then, 0);
        pool->Run(1000, 1, task, &sum);
      }
      pool->Run(1000, 1, task, &sum);
      EXPECT_EQ(sum.load(), 2000) << fault.name << ", call " << number;
    }
}

// Whoever is told of launches may throw: the run ends, and the next one is as if nothing had been.
TEST(Exceptions, OfAnObserverEndTheRunAlone) {
  Builder builder;
  BuildAddTwo(builder);
  auto vm = MakeVm(builder);
  ASSERT_TRUE(vm) << vm.error().message;
  Invocation invocation = (*vm)->NewInvocation();
  std::array inputs{Floats({1, 2})};
  std::array outputs{Tensor()};
  (void)invocation.SetLaunchObserver([](const LaunchRecord&) { throw std::runtime_error("seen enough"); });
  EXPECT_EQ(TextOf(invocation.Run(inputs, outputs)), "internal: an exception came up: seen enough");
  (void)invocation.SetLaunchObserver({});
  EXPECT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
  EXPECT_EQ(ToFloats(outputs[0]), (std::vector<float>{3, 4}));
}

TEST(Exceptions, AnInvocationThatWasMovedFromSaysSo) {
  Builder builder;
  BuildAddTwo(builder);
  auto vm = MakeVm(builder);
  ASSERT_TRUE(vm) << vm.error().message;
  Invocation first = (*vm)->NewInvocation();
  const Invocation second = std::move(first);
  EXPECT_TRUE(second);
  EXPECT_FALSE(first);  // NOLINT: it may be asked
  std::array<Tensor, 1> inputs, outputs;
  EXPECT_EQ(TextOf(first.Run(inputs, outputs)), "out_of_memory: there was no memory for the invocation");
  first.Cancel();
  EXPECT_EQ(first.held_bytes() + first.peak_bytes() + first.arena_bytes(), 0);
  EXPECT_FALSE(first.Trim());
}

TEST(Exceptions, NoProgramIsAnError) { EXPECT_FALSE(Vm::Create(nullptr)); }

}  // namespace
}  // namespace tvmvm::testing
