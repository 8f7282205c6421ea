// The Queue of an OpenCL device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/driver/queue_counts.h"
#include "devices/driver/status_words.h"
#include "devices/opencl/opencl_kernels.h"
#include "tvm-vm/device.h"

namespace tvmvm {

class OpenClQueue final : public Queue {
 public:
  // `counts` outlives the queue.
  static Expected<std::unique_ptr<OpenClQueue>> Create(std::shared_ptr<OpenClContext> context,
                                                       QueueCounts* counts);
  ~OpenClQueue() override;

  Status CopyIn(const DeviceSpan& to, const void* from, int64_t bytes, const CancelToken* cancel) override;
  Status CopyOut(void* to, const DeviceSpan& from, int64_t bytes, const CancelToken* cancel) override;
  Status Copy(const DeviceSpan& to, const DeviceSpan& from, int64_t bytes,
              const CancelToken* cancel) override;
  Status Fill(const DeviceSpan& to, uint8_t value, int64_t bytes, const CancelToken* cancel) override;
  Expected<int32_t> Launch(const LaunchRequest& request, const CancelToken* cancel) override;
  Status Flush() override;
  Expected<std::optional<KernelFailure>> Wait(const CancelToken* cancel) override;
  void FreeAfterWork(const DeviceMemory& memory) override;

 private:
  // A kernel with the arguments that it had last.
  struct KernelObject {
    cl_kernel kernel = nullptr;
    std::vector<uint64_t> arguments;  // their identities; empty: none are set
  };
  // The objects of one kernel: after each wait they are used in turn, so that a call that launches what an
  // earlier one did, as calls with the same dims do, finds its arguments set.
  struct Turns {
    std::vector<KernelObject> objects;
    size_t next = 0;
    uint64_t round = 0;  // of the queue, when `next` was last set back
  };
  struct KernelObjects {
    uint64_t set = 0;
    std::vector<Turns> kernels;
  };
  static constexpr size_t kMostObjects = 64;                       // of one kernel
  static constexpr uint32_t kFirstFlush = 8, kLargestFlush = 256;  // launches
  // What goes when the work before the event is done.
  struct Epoch {
    cl_event done = nullptr;
    std::vector<const OpenClContext::Piece*> pieces;
    std::vector<std::unique_ptr<char[]>> staging;
    int64_t bytes = 0;
  };

  OpenClQueue(std::shared_ptr<OpenClContext> context, QueueCounts* counts)
      : context_(std::move(context)), counts_(counts) {}
  Expected<KernelObject*> ObjectOf(const OpenClKernelSet& set, uint32_t index);
  Status SetArguments(const OpenClKernel& kernel, const LaunchRequest& request, int64_t points,
                      KernelObject* object);
  Status CheckWorkBefore(cl_int result, const char* what);
  Status Submitted(cl_int result, const char* what);
  Expected<cl_event> Finished();
  Status Drain(const CancelToken* cancel);
  Status Await(cl_event event, const CancelToken* cancel);
  void SealEpoch();
  void Release(Epoch* epoch);

  const std::shared_ptr<OpenClContext> context_;
  QueueCounts* const counts_;
  cl_command_queue queue_ = nullptr;
  const OpenClContext::Piece* status_ = nullptr;
  std::vector<int32_t> status_copy_;  // where the host cannot reach the words themselves
  StatusWords status_words_;
  std::vector<KernelObjects> objects_;
  uint64_t round_ = 0;                                  // counts waits
  uint32_t unflushed_ = 0, flush_after_ = kFirstFlush;  // launches
  std::vector<uint64_t> arguments_, identities_;  // of a launch: words as the driver takes them, and as they
                                                  // are compared
  Epoch open_;
  std::vector<Epoch> sealed_;  // in order
  bool idle_ = true;           // nothing was submitted since the last wait
};

}  // namespace tvmvm
