#include "devices/vulkan/vulkan_memory.h"

#include <algorithm>
#include <atomic>

namespace tvmvm {
namespace {

// What 2^20 bytes may take until they were measured. GPUs clear what they give: 26 to 30 us on an H200.
// Memory of the host is cleared by a CPU, and pinned page by page. Where the device is a CPU nothing is done
// until the memory is touched.
int64_t MegabyteNanoseconds(const VulkanHardware& hardware, VulkanMemoryUse use) {
  constexpr int64_t kOfGpu = 40'000, kOfHost = 250'000;
  if (hardware.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU) return 0;
  return use == VulkanMemoryUse::kDevice && !hardware.shares_memory ? kOfGpu : kOfHost;
}

SuballocatorOptions OptionsOf(const VulkanContext& context, VulkanMemoryUse use, int64_t max_bytes) {
  SuballocatorOptions options;
  options.owner = context.name();
  options.most_block_bytes = context.hardware().largest_allocation;
  options.max_bytes = max_bytes;
  options.megabyte_ns = MegabyteNanoseconds(context.hardware(), use);
  if (use != VulkanMemoryUse::kDevice) {
    options.owner += " (memory for copies)";
    options.first_block_bytes = 1 << 20;
    options.largest_block_bytes = 64 << 20;
  }
  return options;
}

// The memory type for a use among those that a buffer can have; -1: none.
int TypeFor(const VulkanHardware& hardware, VulkanMemoryUse use, uint32_t allowed) {
  VkPhysicalDeviceMemoryProperties memory = hardware.memory;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i)
    if ((allowed >> i & 1) == 0) memory.memoryTypes[i].propertyFlags = VK_MEMORY_PROPERTY_PROTECTED_BIT;
  constexpr VkMemoryPropertyFlags kHost =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  switch (use) {
    case VulkanMemoryUse::kUpload:
      return FindMemoryType(memory, kHost, 0);
    case VulkanMemoryUse::kReadback:
      return FindMemoryType(memory, kHost, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    case VulkanMemoryUse::kDevice:
      break;
  }
  if (hardware.shares_memory)
    return FindMemoryType(memory, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kHost,
                          VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  // All of the device's memory may lie in the host's address space, too: then small inputs need no copy.
  const int open = FindMemoryType(memory, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kHost, 0);
  const bool is_whole =
      open >= 0 && static_cast<int64_t>(memory.memoryHeaps[memory.memoryTypes[open].heapIndex].size) ==
                       hardware.memory_bytes();
  return is_whole ? open : FindMemoryType(memory, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0);
}

}  // namespace

VulkanMemory::VulkanMemory(std::shared_ptr<VulkanContext> context, VulkanMemoryUse use, int64_t max_bytes)
    : context_(std::move(context)), use_(use), pieces_(this, OptionsOf(*context_, use, max_bytes)) {}

VulkanMemory::~VulkanMemory() { pieces_.Trim(); }

Expected<Block> VulkanMemory::AllocateBlock(int64_t bytes) {
  static std::atomic<uint64_t> last_id{0};
  auto block = std::make_unique<VulkanBlock>();
  block->id = ++last_id;
  if (Status status = Create(bytes, block.get()); !status) {
    Destroy(block.get());
    return tl::unexpected(std::move(status).error());
  }
  void* host = block->host;
  return Block{host, reinterpret_cast<uint64_t>(block.release()), bytes};
}

void VulkanMemory::FreeBlock(const Block& block) {
  std::unique_ptr<VulkanBlock> owned(reinterpret_cast<VulkanBlock*>(block.handle));
  Destroy(owned.get());
}

Status VulkanMemory::Create(int64_t bytes, VulkanBlock* block) const {
  const VulkanDeviceFunctions& f = context_->f();
  VkBufferCreateInfo buffer{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  buffer.size = static_cast<VkDeviceSize>(bytes);
  buffer.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  TVMVM_CHECK_OK(context_->Check(f.CreateBuffer(context_->device(), &buffer, nullptr, &block->buffer),
                                 "vkCreateBuffer"));
  VkMemoryRequirements needs{};
  f.GetBufferMemoryRequirements(context_->device(), block->buffer, &needs);
  const int type = TypeFor(context_->hardware(), use_, needs.memoryTypeBits);
  if (type < 0) return MakeError(Code::kUnsupported, context_->name() + ": no memory type for buffers");

  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo memory{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  memory.pNext = &flags;
  memory.allocationSize = needs.size;
  memory.memoryTypeIndex = static_cast<uint32_t>(type);
  TVMVM_CHECK_OK(context_->Check(f.AllocateMemory(context_->device(), &memory, nullptr, &block->memory),
                                 "vkAllocateMemory"));
  TVMVM_CHECK_OK(context_->Check(f.BindBufferMemory(context_->device(), block->buffer, block->memory, 0),
                                 "vkBindBufferMemory"));
  VkBufferDeviceAddressInfo address{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
  address.buffer = block->buffer;
  block->address = f.GetBufferDeviceAddress(context_->device(), &address);
  const VkMemoryPropertyFlags has = context_->hardware().memory.memoryTypes[type].propertyFlags;
  if ((has & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) == 0) return {};
  return context_->Check(f.MapMemory(context_->device(), block->memory, 0, VK_WHOLE_SIZE, 0, &block->host),
                         "vkMapMemory");
}

void VulkanMemory::Destroy(VulkanBlock* block) const {
  context_->f().DestroyBuffer(context_->device(), block->buffer, nullptr);
  context_->f().FreeMemory(context_->device(), block->memory, nullptr);
}

}  // namespace tvmvm
