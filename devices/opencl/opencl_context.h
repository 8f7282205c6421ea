// An OpenCL context of one device, and its memory: large buffers and pieces of them.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "allocator/suballocator.h"
#include "devices/opencl/opencl_hardware.h"
#include "tvm-vm/device.h"

namespace tvmvm {

// Thread-safe.
class OpenClContext final : private BlockSource {
 public:
  static Expected<std::shared_ptr<OpenClContext>> Create(const OpenClFunctions& f,
                                                         const OpenClHardware& hardware, std::string name,
                                                         int64_t max_bytes);
  ~OpenClContext() override;

  const OpenClFunctions& f() const { return f_; }
  cl_context context() const { return context_; }
  cl_device_id device() const { return hardware_.device; }
  const OpenClHardware& hardware() const { return hardware_; }
  const std::string& name() const { return name_; }  // for messages
  // Host and device see one memory without mapping it: found out when the context was made.
  bool shares_memory() const { return shares_memory_; }

  Expected<cl_command_queue> NewQueue();
  // The result as a Status; a lost device is remembered.
  Status Check(cl_int result, const char* what);
  // The same of a kernel, which may need more than there is: kUnsupported.
  Status CheckKernel(cl_int result, const char* what);
  // The same of waiting for work: where that lacks resources, a kernel before has faulted and the device is
  // lost.
  Status CheckWork(cl_int result, const char* what);
  Status CheckHealth() const;  // kDeviceLost once it was

  using Piece = Suballocator::Piece;
  Expected<const Piece*> Allocate(int64_t bytes) { return memory_->Allocate(bytes); }
  void Free(const Piece* piece) { memory_->Free(piece); }
  SuballocatorStatistics statistics() const { return memory_->statistics(); }

  static cl_mem BufferOf(const Piece& piece) { return MemoryOf(piece.block).buffer; }
  // Tells the block that a piece lies in from all others, those that are gone included: a driver may give a
  // new one an old one's address.
  static uint64_t BlockIdOf(const Piece& piece) { return MemoryOf(piece.block).id; }
  // Null where the host cannot reach it.
  static char* HostOf(const Piece& piece) {
    char* host = static_cast<char*>(piece.block.host);
    return host != nullptr ? host + piece.offset : nullptr;
  }

 private:
  // What a block's handle points to.
  struct Memory {
    cl_mem buffer = nullptr;
    uint64_t id = 0;  // from 1 on
  };
  static const Memory& MemoryOf(const Block& block) { return *reinterpret_cast<const Memory*>(block.handle); }

  OpenClContext(const OpenClFunctions& f, const OpenClHardware& hardware, std::string name)
      : f_(f), hardware_(hardware), name_(std::move(name)) {}
  Expected<Block> AllocateBlock(int64_t bytes) override;
  void FreeBlock(const Block& block) override;
  Expected<bool> ProbeSharing();
  Expected<bool> SeesEachOther(cl_command_queue queue, const Block& block, size_t bytes);

  const OpenClFunctions& f_;  // the process's
  const OpenClHardware hardware_;
  const std::string name_;
  cl_context context_ = nullptr;
  bool shares_memory_ = false;
  std::atomic<bool> lost_{false};
  std::atomic<uint64_t> blocks_{0};  // ever made
  std::unique_ptr<Suballocator> memory_;
};

// The piece that a DeviceMemory of an OpenCL device stands for.
inline const OpenClContext::Piece& OpenClPieceOf(const DeviceMemory& memory) {
  return *reinterpret_cast<const OpenClContext::Piece*>(memory.handle);
}

}  // namespace tvmvm
