#include "devices/vulkan/vulkan_operations.h"

namespace tvmvm {
namespace {

// An operation is: kind and barrier, then
//   dispatch: set, pipeline, layout, groups x and y, number of constants, constants
//   copy: from (block, buffer, offset), to (block, buffer, offset), bytes
//   fill: to (block, buffer, offset), bytes, value
// Sets and blocks are there by number, too: handles of what is gone come back for something else.
constexpr uint64_t kDispatch = 0, kCopy = 1, kFill = 2, kKinds = 3, kBarrier = 4;

template <class Handle>
uint64_t WordOf(Handle handle) {
  return reinterpret_cast<uint64_t>(handle);
}

template <class Handle>
Handle HandleOf(uint64_t word) {
  return reinterpret_cast<Handle>(word);
}

// Everything after it waits for everything before it, and sees it.
void RecordBarrier(const VulkanDeviceFunctions& f, VkCommandBuffer commands) {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  constexpr VkPipelineStageFlags kStages =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  f.CmdPipelineBarrier(commands, kStages, kStages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void RecordHostBarrier(const VulkanDeviceFunctions& f, VkCommandBuffer commands) {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT;
  f.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

// Each gives the word behind its operation. `bound` is the pipeline that was bound last.
const uint64_t* RecordDispatch(const VulkanDeviceFunctions& f, VkCommandBuffer commands, const uint64_t* word,
                               uint64_t* bound) {
  if (*bound != word[2])
    f.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, HandleOf<VkPipeline>(word[2]));
  *bound = word[2];
  f.CmdPushConstants(commands, HandleOf<VkPipelineLayout>(word[3]), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                     static_cast<uint32_t>(word[6] * sizeof(uint64_t)), word + 7);
  f.CmdDispatch(commands, static_cast<uint32_t>(word[4]), static_cast<uint32_t>(word[5]), 1);
  return word + 7 + word[6];
}

const uint64_t* RecordCopy(const VulkanDeviceFunctions& f, VkCommandBuffer commands, const uint64_t* word) {
  const VkBufferCopy region{word[3], word[6], word[7]};
  f.CmdCopyBuffer(commands, HandleOf<VkBuffer>(word[2]), HandleOf<VkBuffer>(word[5]), 1, &region);
  return word + 8;
}

const uint64_t* RecordFill(const VulkanDeviceFunctions& f, VkCommandBuffer commands, const uint64_t* word) {
  f.CmdFillBuffer(commands, HandleOf<VkBuffer>(word[2]), word[3], word[4], static_cast<uint32_t>(word[5]));
  return word + 6;
}

}  // namespace

void VulkanOperations::Clear() {
  words_.clear();
  count_ = 0;
}

void VulkanOperations::Begin(uint64_t kind, bool barrier) {
  ++count_;
  words_.push_back(kind | (barrier ? kBarrier : 0));
}

void VulkanOperations::Dispatch(bool barrier, const VulkanKernelSet& kernels, VkPipeline pipeline,
                                const GroupLayout& groups, std::span<const uint64_t> constants) {
  Begin(kDispatch, barrier);
  words_.insert(words_.end(),
                {kernels.id(), WordOf(pipeline), WordOf(kernels.layout()), static_cast<uint64_t>(groups.x),
                 static_cast<uint64_t>(groups.y), constants.size()});
  words_.insert(words_.end(), constants.begin(), constants.end());
}

void VulkanOperations::Copy(bool barrier, const VulkanPlace& from, const VulkanPlace& to, int64_t bytes) {
  Begin(kCopy, barrier);
  words_.insert(words_.end(), {from.block->id, WordOf(from.block->buffer), from.offset, to.block->id,
                               WordOf(to.block->buffer), to.offset, static_cast<uint64_t>(bytes)});
}

void VulkanOperations::Fill(bool barrier, const VulkanPlace& to, int64_t bytes, uint32_t value) {
  Begin(kFill, barrier);
  words_.insert(words_.end(), {to.block->id, WordOf(to.block->buffer), to.offset,
                               static_cast<uint64_t>(bytes), uint64_t{value}});
}

void VulkanOperations::Record(const VulkanDeviceFunctions& f, VkCommandBuffer commands) const {
  RecordBarrier(f, commands);
  uint64_t bound = 0;
  const uint64_t* end = words_.data() + words_.size();
  for (const uint64_t* word = words_.data(); word < end;) {
    if ((*word & kBarrier) != 0) RecordBarrier(f, commands);
    switch (*word & kKinds) {
      case kDispatch:
        word = RecordDispatch(f, commands, word, &bound);
        break;
      case kCopy:
        word = RecordCopy(f, commands, word);
        break;
      default:
        word = RecordFill(f, commands, word);
        break;
    }
  }
  RecordHostBarrier(f, commands);
}

}  // namespace tvmvm
