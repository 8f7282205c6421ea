// Failures on demand: what this test program asks of the host's memory, of the system and of drivers, the
// library included, passes here.
#pragma once

#include <array>
#include <cstdint>
#include <ostream>

namespace tvmvm::testing {

enum FaultKind : uint32_t {
  kMalloc = 1,    // malloc and all that is like it, the C library's own calls included; operator new alone
                  // where a sanitizer brings its own malloc
  kHostHeap = 2,  // mimalloc, as the allocator opens it
  kMap = 4,       // mmap of files, and memory files
  kWrites = 8,    // write, pwrite
  kFiles = 16,    // these, open, fsync, linkat, rename
  // Of GPUs' drivers, on all threads: `error` is what the call gives. What gives things back does not fail.
  kOpenCl = 32,
  kVulkan = 64,
  kLookups = 128,  // by name in loaders and drivers, which find nothing
};
// Whether this build can make calls of these kinds fail.
bool CanFail(uint32_t kinds);

enum class Then { kOnce, kOnwards };  // whether only that call fails, or all that follow as well

// While it lives, call number `number` (from 0 on) of the chosen kinds on this thread fails; `error` is what
// the system says.
class Failing {
 public:
  Failing(uint32_t kinds, int64_t number, Then then, int error);
  ~Failing();
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
  bool has_failed() const;
};

// What drivers make, as its type is called.
#define TVMVM_DRIVER_OBJECTS(X) \
  X(cl_context)                 \
  X(cl_command_queue)           \
  X(cl_mem)                     \
  X(cl_program)                 \
  X(cl_kernel)                  \
  X(cl_event)                   \
  X(VkInstance)                 \
  X(VkDevice)                   \
  X(VkDeviceMemory)             \
  X(VkBuffer)                   \
  X(VkShaderModule)             \
  X(VkPipelineLayout)           \
  X(VkPipelineCache)            \
  X(VkPipeline)                 \
  X(VkCommandPool)              \
  X(VkFence)
enum class DriverObject {
#define TVMVM_DRIVER_OBJECT(type) type,
  TVMVM_DRIVER_OBJECTS(TVMVM_DRIVER_OBJECT)
#undef TVMVM_DRIVER_OBJECT
      kCount
};
using DriverObjects = std::array<int64_t, static_cast<size_t>(DriverObject::kCount)>;

// What the process holds.
struct Held {
  int64_t blocks = 0;       // of malloc
  int64_t heap_blocks = 0;  // of mimalloc
  int64_t mappings = 0;     // of files
  int64_t files = 0;        // that are open
  DriverObjects driver_objects{};
  friend bool operator==(const Held&, const Held&) = default;
};
std::ostream& operator<<(std::ostream& out, const Held& held);
Held HeldNow();

}  // namespace tvmvm::testing
