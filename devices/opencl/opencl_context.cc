#include "devices/opencl/opencl_context.h"

#include <cstring>

#include "allocator/host_memory.h"

namespace tvmvm {

Expected<std::shared_ptr<OpenClContext>> OpenClContext::Create(const OpenClFunctions& f,
                                                               const OpenClHardware& hardware,
                                                               std::string name, int64_t max_bytes) {
  if (hardware.refusal != CL_SUCCESS)
    return tl::unexpected(OpenClError(hardware.refusal, name + ": asking what it is"));
  if (!hardware.unusable.empty())
    return MakeError(Code::kUnsupported,
                     name + " (" + hardware.name + ") cannot be used: " + hardware.unusable);
  std::shared_ptr<OpenClContext> context(new OpenClContext(f, hardware, std::move(name)));
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(hardware.platform), 0};
  cl_int result = CL_SUCCESS;
  context->context_ = f.CreateContext(properties, 1, &hardware.device, nullptr, nullptr, &result);
  TVMVM_CHECK_OK(context->Check(result, "clCreateContext"));
  const Expected<bool> shares = context->ProbeSharing();
  if (!shares && shares.error().code != Code::kUnsupported) return tl::unexpected(shares.error());
  context->shares_memory_ = shares.value_or(false);

  SuballocatorOptions options;
  options.owner = context->name_;
  options.most_block_bytes = hardware.largest_allocation;
  options.max_bytes = max_bytes;
  context->memory_.reset(new Suballocator(context.get(), options));
  return context;
}

OpenClContext::~OpenClContext() {
  memory_.reset();
  if (context_ != nullptr) f_.ReleaseContext(context_);
}

Expected<cl_command_queue> OpenClContext::NewQueue() {
  TVMVM_CHECK_OK(CheckHealth());
  cl_int result = CL_SUCCESS;
  cl_command_queue queue = f_.CreateCommandQueue(context_, hardware_.device, 0, &result);
  TVMVM_CHECK_OK(Check(result, "clCreateCommandQueue"));
  return queue;
}

Status OpenClContext::Check(cl_int result, const char* what) {
  if (result == CL_SUCCESS) [[likely]]
    return {};
  Error error = OpenClError(result, name_ + ": " + what);
  if (error.code == Code::kDeviceLost) lost_.store(true);
  return tl::unexpected(std::move(error));
}

Status OpenClContext::CheckKernel(cl_int result, const char* what) {
  if (result != CL_OUT_OF_RESOURCES) [[likely]]
    return Check(result, what);
  return MakeError(Code::kUnsupported, name_ + ": " + what + ": " + OpenClResultName(result));
}

Status OpenClContext::CheckWork(cl_int result, const char* what) {
  if (result != CL_OUT_OF_RESOURCES) [[likely]]
    return Check(result, what);
  lost_.store(true);
  return MakeError(Code::kDeviceLost, name_ + ": " + what + ": " + OpenClResultName(result));
}

Status OpenClContext::CheckHealth() const {
  if (!lost_.load(std::memory_order_relaxed)) [[likely]]
    return {};
  return MakeError(Code::kDeviceLost, name_ + ": the device is lost");
}

// Memory of the host's own that the device is told to use.
Expected<Block> OpenClContext::AllocateBlock(int64_t bytes) {
  auto memory = std::make_unique<Memory>();
  void* host = nullptr;
  if (shares_memory_) {
    TVMVM_TRY(host, AllocateHost(bytes));
  }
  cl_int result = CL_SUCCESS;
  const cl_mem_flags flags = CL_MEM_READ_WRITE | (host != nullptr ? CL_MEM_USE_HOST_PTR : 0);
  memory->id = ++blocks_;
  memory->buffer = f_.CreateBuffer(context_, flags, static_cast<size_t>(bytes), host, &result);
  if (Status status = Check(result, "clCreateBuffer"); !status) {
    FreeHost(host);
    return tl::unexpected(std::move(status).error());
  }
  return Block{host, reinterpret_cast<uint64_t>(memory.release()), bytes};
}

void OpenClContext::FreeBlock(const Block& block) {
  f_.ReleaseMemObject(MemoryOf(block).buffer);
  FreeHost(block.host);
  delete &MemoryOf(block);
}

// The standard lets a device keep a copy of the host's memory. What CPUs do instead is tried: each side must
// see at once what the other one writes.
Expected<bool> OpenClContext::ProbeSharing() {
  if (!hardware_.is_cpu || !hardware_.unified_memory) return false;
  constexpr size_t kBytes = 4096;
  TVMVM_TRY(const cl_command_queue queue, NewQueue());
  shares_memory_ = true;  // for AllocateBlock
  const Expected<Block> block = AllocateBlock(kBytes);
  Expected<bool> shared = false;
  if (!block) shared = tl::unexpected(block.error());
  if (block) {
    shared = SeesEachOther(queue, *block, kBytes);
    FreeBlock(*block);
  }
  f_.ReleaseCommandQueue(queue);
  return shared;
}

Expected<bool> OpenClContext::SeesEachOther(cl_command_queue queue, const Block& block, size_t bytes) {
  auto* host = static_cast<unsigned char*>(block.host);
  const cl_mem buffer = MemoryOf(block).buffer;
  unsigned char seen = 0;
  const unsigned char from_device = 0xa5;
  std::memset(host, 0x11, bytes);
  const cl_int filled =
      f_.EnqueueFillBuffer(queue, buffer, &from_device, 1, 0, bytes / 2, 0, nullptr, nullptr);
  TVMVM_CHECK_OK(CheckWork(f_.Finish(queue), "clFinish"));
  TVMVM_CHECK_OK(Check(filled, "clEnqueueFillBuffer"));
  if (host[0] != from_device || host[bytes / 2 - 1] != from_device) return false;
  host[bytes - 1] = 0x77;
  TVMVM_CHECK_OK(Check(f_.EnqueueReadBuffer(queue, buffer, CL_TRUE, bytes - 1, 1, &seen, 0, nullptr, nullptr),
                       "clEnqueueReadBuffer"));
  return seen == 0x77;
}

}  // namespace tvmvm
